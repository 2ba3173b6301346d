// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/dynamodb"
	"github.com/lakeplane/lake/metastore/faultstore"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/metastore/postgres"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/metasrv"
	"github.com/lakeplane/lake/services/metasrv/lancens"
)

// memberEnv holds the [memberConfig] of a member, in JSON.
const memberEnv = "LAKE_ROBUSTNESS_MEMBER"

// memberConfig says what a member works with. Without a DSN it is the only
// member, on an embedded metastore.
type memberConfig struct {
	Name   string
	Dir    string // holds meta/ and objects/
	DSN    string
	Schema string
	Lease  lease
	// Clock is how far the member's clock is ahead of the others'.
	Clock time.Duration
	// Faults is the share of metastore calls that go wrong, ObjectFaults that
	// of object store calls, both by FaultSeed.
	Faults, ObjectFaults float64
	FaultSeed            uint64
	// Hold is the engine's HoldBytes: how small an append is kept in memory
	// until its version is staged.
	Hold int64
	// Staged is how long after it was staged data may be committed; 0 is the
	// default. With it, the member serves other Lance clients too.
	Staged time.Duration
}

// lease are the times of the election.
type lease struct{ TTL, Renew, Poll, Margin, Skew time.Duration }

// shortLease keeps a takeover under two seconds.
var shortLease = lease{
	TTL: time.Second, Renew: 250 * time.Millisecond, Poll: 50 * time.Millisecond,
	Margin: 200 * time.Millisecond, Skew: 100 * time.Millisecond,
}

// beMember serves until it is killed, or until its parent is gone.
func beMember(config string) error {
	var cfg memberConfig
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return serve(ctx, cfg, newGate(os.Stdout))
}

func serve(ctx context.Context, cfg memberConfig, g *gate) error {
	log := slog.New(slog.NewTextHandler(logOutput(), nil)).With("member", cfg.Name)
	store, err := openStore(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer store.Close()
	objects, err := local.Open(filepath.Join(cfg.Dir, "objects"))
	if err != nil {
		return err
	}
	flaky := newFlaky(objects, cfg)
	g.cut = flaky.cut
	storage, err := enginelance.New(enginelance.Options{Store: gatedObjects{flaky, g}, HoldBytes: cfg.Hold})
	if err != nil {
		return err
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	records, clock := &gatedStore{Store: store, gate: g}, func() time.Time { return time.Now().Add(cfg.Clock) }
	var tables engine.Engine = gatedEngine{storage, g}
	if cfg.Staged > 0 {
		tables = adoptingEngine{tables, storage}
	}
	server, err := metasrv.New(metasrv.Options{
		Store: records, Engine: tables, Logger: log,
		Catalog: catalog.New(records, catalog.Options{Now: clock}),
		Election: catalog.ElectionOptions{
			Now:    clock,
			Holder: cfg.Name + "-" + holderSuffix(), Address: lis.Addr().String(), Exclusive: cfg.DSN == "",
			TTL: cfg.Lease.TTL, Renew: cfg.Lease.Renew, Poll: cfg.Lease.Poll, Margin: cfg.Lease.Margin, MaxClockSkew: cfg.Lease.Skew,
		},
		Peers:  dialPeer,
		Append: metasrv.AppendOptions{Wait: 2 * time.Second, StagedFor: cfg.Staged},
		Grace:  2 * time.Second,
	})
	if err != nil {
		return err
	}
	go func() {
		g.obey(os.Stdin)
		os.Exit(3) // the parent died
	}()
	go reportLeading(ctx, server, g)
	if cfg.Staged > 0 {
		if err := serveNamespace(cfg, server, records, storage, log, g); err != nil {
			return err
		}
	}
	g.say("listening %s", lis.Addr())
	return server.Serve(ctx, lis, metasrv.ListenOptions{
		Auth: anyone{}, Logger: log,
		Extra: []grpc.ServerOption{grpc.ChainStreamInterceptor(g.stream)},
	})
}

// serveNamespace serves other Lance clients, until the process ends.
func serveNamespace(cfg memberConfig, server *metasrv.Server, records metastore.Store, storage *enginelance.Engine, log *slog.Logger, g *gate) error {
	namespace, err := lancens.New(lancens.Options{
		Catalog: server.Catalog(), Records: records, Engine: storage, Authority: server, Auth: anyone{},
		Place: lancens.Place{Folder: filepath.Join(cfg.Dir, "objects")}, StagedFor: cfg.Staged, Logger: log,
	})
	if err != nil {
		return err
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(lis, namespace) }()
	g.say("namespace %s", lis.Addr())
	return nil
}

// dialPeer lets a follower pass writes on to the leader.
func dialPeer(address string) (metasrv.PeerConn, error) {
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// holderSuffix tells the lives of a member apart.
func holderSuffix() string { return time.Now().Format("150405.000000") }

func logOutput() io.Writer {
	if os.Getenv("LAKE_ROBUSTNESS_LOG") != "" {
		return os.Stderr
	}
	return io.Discard
}

// openRecords opens the metastore that a member's configuration names.
func openRecords(ctx context.Context, cfg memberConfig, log *slog.Logger) (metastore.Store, error) {
	switch {
	case cfg.DSN == "":
		return pebble.Open(filepath.Join(cfg.Dir, "meta"), pebble.Options{Logger: log})
	case strings.HasPrefix(cfg.DSN, dynamodb.Scheme+":"):
		opts, err := dynamodb.ParseURL(cfg.DSN)
		if err != nil {
			return nil, err
		}
		opts.Logger = log
		return dynamodb.Open(ctx, opts)
	}
	return postgres.Open(ctx, postgres.Options{DSN: cfg.DSN, Schema: cfg.Schema, MaxConns: 8, Logger: log})
}

func openStore(ctx context.Context, cfg memberConfig, log *slog.Logger) (metastore.Store, error) {
	store, err := openRecords(ctx, cfg, log)
	if err != nil || cfg.Faults == 0 {
		return store, err
	}
	return faultstore.New(store, faultstore.NewRandom(cfg.FaultSeed, cfg.Faults, 50*time.Millisecond)), nil
}

// reportLeading tells the parent whenever the member begins or ceases to take
// writes.
func reportLeading(ctx context.Context, server *metasrv.Server, g *gate) {
	led := false
	for ctx.Err() == nil {
		if leads := server.Leading(); leads != led {
			led = leads
			g.say("leading %t", leads)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// anyone lets everybody in, on loopback.
type anyone struct{}

func (anyone) LoopbackOnly() bool { return true }

func (anyone) Authenticate(context.Context, string) (access.Principal, error) {
	return access.Principal{Name: "tester", Tenant: "default", Role: access.Developer, Namespaces: []string{access.AllNamespaces}}, nil
}
