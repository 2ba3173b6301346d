// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/api/lakepb"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/dynamodb"
	"github.com/lakeplane/lake/metastore/dynamodb/dynamotest"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/objstore/local"
)

// backend is what a cluster keeps its records in.
type backend string

const (
	onPebble   backend = "pebble"   // one member, which holds the directory
	onPostgres backend = "postgres" // two members on one database
	onDynamoDB backend = "dynamodb" // two members on a service that speaks its protocol
)

var backends = []backend{onPebble, onPostgres, onDynamoDB}

// shared says that several members may use the records.
func (b backend) shared() bool { return b != onPebble }

// cluster is a metadata group of real processes on one metastore and one
// object store.
type cluster struct {
	t       testing.TB
	backend backend
	config  memberConfig // of every member, without its name
	objects *local.Store
	engine  *enginelance.Engine
	ledger  *ledger
	tally   *tally // may be nil
	// compacts says that there are versions that add nothing.
	compacts bool
	// inSessions says whether the next attempt of an append goes in a session;
	// nil: none does.
	inSessions func() bool
	// clocks are those of the members' lives, in turn; empty means right ones.
	clocks []time.Duration

	mu    sync.Mutex
	slots map[string]*process // by member name
	lives int
	// store is the parent's own connection to shared records.
	store metastore.Store
}

var clusters atomic.Int64

// newCluster makes an empty deployment without members.
func newCluster(t testing.TB, b backend, change ...func(*memberConfig)) *cluster {
	t.Helper()
	c := &cluster{t: t, backend: b, slots: map[string]*process{}, ledger: newLedger()}
	c.config = memberConfig{Dir: t.TempDir(), Lease: shortLease}
	switch b {
	case onPostgres:
		c.config.DSN = postgresDSN(t.(*testing.T))
		c.config.Schema = fmt.Sprintf("robustness_%d", clusters.Add(1))
	case onDynamoDB:
		service := dynamotest.Start(t, dynamotest.Options{})
		c.config.DSN = dynamodb.Scheme + "://robustness?endpoint=" + url.QueryEscape(service.URL())
	}
	for _, f := range change {
		f(&c.config)
	}
	var err error
	c.objects, err = local.Open(filepath.Join(c.config.Dir, "objects"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.objects.Close() })
	c.engine, err = enginelance.New(enginelance.Options{Store: c.objects})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.engine.Close() })
	if b.shared() {
		c.store, err = openRecords(t.Context(), c.config, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.store.Close() })
	}
	return c
}

// start starts a member and waits until it answers.
func (c *cluster) start(name string) *process {
	c.t.Helper()
	p := c.spawn(name).ready(c.t)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slots[name] = p
	return p
}

// spawn starts a member, to which no client is sent before [cluster.start].
func (c *cluster) spawn(name string) *process {
	c.t.Helper()
	cfg := c.config
	cfg.Name = name
	c.mu.Lock()
	if len(c.clocks) > 0 {
		cfg.Clock = c.clocks[c.lives%len(c.clocks)]
	}
	c.lives++
	c.mu.Unlock()
	return spawn(c.t, cfg)
}

// startAll starts all members, the first of which leads.
func (c *cluster) startAll() {
	c.t.Helper()
	c.start("a").leading(c.t)
	if c.backend.shared() {
		c.start("b")
	}
}

// running returns the members that have not been killed, in random order.
func (c *cluster) running() (list []*process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.slots {
		if p.alive() {
			list = append(list, p)
		}
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// leader waits until a member leads and returns it.
func (c *cluster) leader() *process {
	c.t.Helper()
	var found *process
	require.Eventually(c.t, func() bool {
		for _, p := range c.running() {
			if ask(p, func(r *reported) bool { return r.leads }) {
				found = p
			}
		}
		return found != nil
	}, patience, 2*time.Millisecond, "nobody leads")
	return found
}

// withStore gives access to the records. An embedded metastore has one user, so
// its member is killed for it, and must be started again by the caller.
func (c *cluster) withStore(f func(metastore.Store)) {
	c.t.Helper()
	if c.store != nil {
		f(c.store)
		return
	}
	for _, p := range c.running() {
		p.kill()
	}
	store, err := pebble.Open(filepath.Join(c.config.Dir, "meta"), pebble.Options{})
	require.NoError(c.t, err)
	defer store.Close()
	f(store)
}

// revive starts the members that are not running and waits for a leader.
func (c *cluster) revive() {
	c.t.Helper()
	names := []string{"a"}
	if c.backend.shared() {
		names = append(names, "b")
	}
	for _, name := range names {
		c.mu.Lock()
		p := c.slots[name]
		c.mu.Unlock()
		if p == nil || !p.alive() {
			c.start(name)
		}
	}
	c.leader()
}

// create makes a table, whoever leads.
func (c *cluster) create(name string) lake.TableName {
	c.t.Helper()
	table := lake.TableName{Namespace: "r", Name: name}
	require.NoError(c.t, c.patiently(func(ctx context.Context, p *process) error {
		_, err := createTable(ctx, p, table)
		if lake.Is(err, lake.AlreadyExists) {
			return nil // by an attempt whose answer was lost
		}
		return err
	}))
	return table
}

// patiently makes a call to one member after the other until one succeeds or
// refuses for good.
func (c *cluster) patiently(call func(ctx context.Context, p *process) error) error {
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, p := range c.running() {
			ctx, cancel := context.WithTimeout(c.t.Context(), attemptTimeout)
			err = call(ctx, p)
			cancel()
			if err == nil || final(err) {
				return err
			}
		}
	}
	return err
}

// createTable asks a member once and returns the new incarnation.
func createTable(ctx context.Context, p *process, table lake.TableName) (string, error) {
	t, err := p.catalog.CreateTable(ctx, &lakepb.CreateTableRequest{
		Name: wireName(table), Schema: flight.SerializeSchema(rowSchema, memory.DefaultAllocator),
	})
	return t.GetSnapshot().GetIncarnation(), grpcerr.FromStatus(err)
}

func wireName(t lake.TableName) *lakepb.TableName {
	return &lakepb.TableName{Namespace: t.Namespace, Name: t.Name}
}

// leaseRecord is the record of the election's deadline.
type leaseRecord struct {
	Holder   string    `json:"holder"`
	Epoch    uint64    `json:"epoch"`
	Deadline time.Time `json:"deadline"`
}

// lease reads who leads until when.
func (c *cluster) lease() leaseRecord {
	c.t.Helper()
	found, err := c.store.Get(c.t.Context(), "election/leader-deadline")
	require.NoError(c.t, err)
	var r leaseRecord
	require.NoError(c.t, json.Unmarshal(found.Value, &r))
	return r
}

// nameOf is the member that a lease's holder is a life of.
func (r leaseRecord) member() string {
	name, _, _ := strings.Cut(r.Holder, "-")
	return name
}
