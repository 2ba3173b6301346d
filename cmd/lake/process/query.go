// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/datasets"
	"github.com/lakeplane/lake/services/query/engine/pool"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/registration"
	"github.com/lakeplane/lake/services/query/ticket"
)

// Query is a query replica with its SQL engine.
type Query struct {
	*query.Server
	config *config.Query
	tel    Telemetry

	beside       *Meta  // the authority in this process, or nil
	spill        string // a directory to remove, or empty
	sql, planner sqlEngine
	conn         *grpc.ClientConn
}

// NewQuery puts a replica together. beside is the authority where it runs in
// this process, and then takes appends without a connection; nil elsewhere. The
// caller keeps the objects, and closes them after the replica.
func NewQuery(c *config.Query, objects *Objects, beside *Meta, tel Telemetry) (*Query, error) {
	q := &Query{config: c, tel: tel, beside: beside}
	if err := q.open(objects); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return q, nil
}

func (q *Query) open(objects *Objects) (err error) {
	if err := q.openEngines(); err != nil {
		return err
	}
	c := q.config
	if q.conn, err = DialMeta(c.Meta, c.Caller, c.Insecure()); err != nil {
		return err
	}
	limits := gate.DefaultLimits()
	limits.Bytes = int(c.SQLBytes)
	opts := query.Options{
		Authority: q.conn, Storage: objects.Tables, SQL: q.sql, Planner: q.planner, Gate: gate.New(q.planner, limits),
		TicketTTL: c.TicketTTL, Admission: c.Admission, ExecutionTimeout: c.ExecutionTimeout, DiscoveryRows: c.DiscoveryRows,
		Endpoints: c.Endpoints, MaxEndpoints: c.MaxEndpoints, EndpointRows: uint64(c.EndpointRows),
		Registration: registration.Options{TTL: c.CatalogTTL}, Datasets: datasets.Options{Bytes: uint64(c.DatasetCache)},
		AnswerBytes: cmp.Or(c.AnswerCache, -1), Ingestions: c.Ingestions,
		Metrics: q.tel.Metrics, Log: q.tel.Log, Version: q.tel.Version,
	}
	if q.beside != nil {
		opts.Append = q.beside.Append
	}
	if c.TicketKeys != "" {
		keys, err := ticket.OpenFile(c.TicketKeys, q.tel.Log)
		if err != nil {
			return err
		}
		opts.Keys = keys
	}
	q.Server, err = query.New(opts)
	return err
}

// openEngines opens the engine of the queries, and a small one that parses and
// binds statements beside them: a query holds its slot for as long as its
// client reads.
func (q *Query) openEngines() error {
	c, dir := q.config, q.config.SpillDir
	var err error
	if dir == "" {
		if dir, err = os.MkdirTemp("", "lake-spill-"); err != nil {
			return lake.Errorf(lake.Unknown, "spill directory: %w", err)
		}
		q.spill = dir
	} else if err := os.MkdirAll(dir, 0o700); err != nil {
		return lake.Errorf(lake.Invalid, "spill directory: %w", err)
	}
	open := q.openEngine()
	q.sql, err = open(pool.Options{
		Name: "query", Slots: c.Slots, Memory: c.SlotMemory(), SpillDir: dir, SpillBytes: max(c.SpillBytes/int64(c.Slots), 1),
	})
	if err != nil {
		return err
	}
	q.planner, err = open(pool.Options{Name: "planner", Slots: query.DefaultPlannerPlaces, Threads: 1, Memory: 128 << 20})
	return err
}

// Serve serves until ctx ends, and then stops within the grace period.
func (q *Query) Serve(ctx context.Context, lis net.Listener) error {
	auth, err := q.config.Authenticator(q.tel.Log)
	if err != nil {
		return err
	}
	tls, err := q.config.TLS()
	if err != nil {
		return err
	}
	return q.Server.Serve(ctx, lis, query.ListenOptions{
		Name: "query", Auth: auth, TLS: tls, AllowInsecure: q.config.Insecure(),
	}, stopBudget(q.config.Grace))
}

// Close releases what the replica opened. Call it after Serve.
func (q *Query) Close() error {
	var errs []error
	if q.Server != nil {
		errs = append(errs, q.Server.Close())
	}
	if q.conn != nil {
		errs = append(errs, q.conn.Close())
	}
	for _, e := range []sqlEngine{q.planner, q.sql} {
		if e != nil {
			errs = append(errs, e.Close())
		}
	}
	if q.spill != "" {
		errs = append(errs, os.RemoveAll(q.spill))
	}
	return errors.Join(errs...)
}

// stopBudget is how much of the grace the calls under way get; the rest is for
// closing what is below them.
func stopBudget(grace time.Duration) time.Duration { return grace - min(grace/10, time.Second) }
