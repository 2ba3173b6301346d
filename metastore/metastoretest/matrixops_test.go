// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package metastoretest_test

import (
	stdcontext "context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/faultstore"
)

type context = stdcontext.Context

// cell is the place of one run: a table's name that nobody else has.
type cell struct {
	*site
	ctx   context
	table lake.TableName

	mu      sync.Mutex
	kept    map[string]string
	lookErr error
}

// prepared is an operation that is ready to run on the harmed store.
type prepared struct {
	run   func() error
	rival func() error // what somebody else does that run does not expect
	// writes is how many records of the cell it changes.
	writes int
	// again repeats exactly the transaction, if the caller can.
	again func() error
}

// operation is a row of the matrix.
type operation struct {
	name   string
	method faultstore.Method
	// endless says that it is also tried with a fault that never ends.
	endless bool
	prepare func(c *cell) (prepared, error)
}

var operations = []operation{
	{"create", faultstore.Commit, false, prepareCreate},
	{"advance", faultstore.Commit, true, prepareAdvance},
	{"drop", faultstore.Commit, false, prepareDrop},
	{"undrop", faultstore.Commit, false, prepareUndrop},
	{"procedure", faultstore.Commit, false, prepareProcedure},
	{"keep", faultstore.Commit, false, prepareKeep},
	{"lookup", faultstore.Get, true, prepareLookup},
	{"list", faultstore.Scan, true, prepareList},
	{"commit", faultstore.Commit, true, prepareCommit},
	{"get", faultstore.Get, true, prepareGet},
	{"scan", faultstore.Scan, true, prepareScan},
}

// records is where the matrix's engine keeps its pointers.
var records = engine.Records{Latest: "manifest-latest", History: "manifest"}

// lead makes the site's leader, whose fence the writes keep.
func (s *site) lead(t *testing.T) {
	t.Helper()
	election, err := catalog.NewElection(s.plain, catalog.ElectionOptions{Exclusive: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := stdcontext.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		election.Run(ctx)
	}()
	require.Eventually(t, func() bool {
		s.fence, err = election.Fence()
		return err == nil
	}, 20*time.Second, 5*time.Millisecond)
	cancel()
	<-done
	s.bad, s.good = catalog.New(s.harmed, catalog.Options{}), catalog.New(s.plain, catalog.Options{})
}

func first(n lake.TableName) (catalog.Table, []metastore.Op) {
	inc := lake.NewID()
	snap := lake.Snapshot{
		Engine: "test", Location: lake.Place(n, inc), Incarnation: inc, Version: 1,
		Manifest: lake.Manifest{Path: "m/" + lake.NewID().String(), Size: 1},
	}
	return catalog.Table{Name: n, Snapshot: snap, Schema: []byte("schema")}, records.Create(snap)
}

func (c *cell) create(by *catalog.Catalog) (catalog.Table, error) {
	table, ops := first(c.table)
	return by.Create(c.ctx, c.fence, table, ops)
}

func (c *cell) advance(by *catalog.Catalog, table catalog.Table) error {
	next := table.Snapshot
	next.Version++
	next.Manifest.Path = "m/" + lake.NewID().String()
	id := lake.NewID()
	op := catalog.Operation{Tenant: "default", ID: id, Digest: lake.Digest(append(id[:], id[:]...)), Rows: 1}
	adds := []engine.Append{{Operation: engine.Operation{Tenant: op.Tenant, ID: op.ID, Digest: op.Digest}}}
	_, err := by.Advance(c.ctx, c.fence, table, next, records.Advance(table.Snapshot, next, adds), []catalog.Operation{op})
	return err
}

func (c *cell) drop(by *catalog.Catalog, table catalog.Table) (catalog.Tombstone, error) {
	return by.Drop(c.ctx, c.fence, table, records.Retire(table.Snapshot), catalog.DropRequest{PurgeAfter: time.Now().Add(time.Hour)})
}

func prepareCreate(c *cell) (prepared, error) {
	return prepared{
		run:    func() error { _, err := c.create(c.bad); return err },
		rival:  func() error { _, err := c.create(c.good); return err },
		writes: 3,
	}, nil
}

func prepareAdvance(c *cell) (prepared, error) {
	table, err := c.create(c.good)
	return prepared{
		run:    func() error { return c.advance(c.bad, table) },
		rival:  func() error { return c.advance(c.good, table) },
		writes: 4,
	}, err
}

func prepareDrop(c *cell) (prepared, error) {
	table, err := c.create(c.good)
	return prepared{
		run:    func() error { _, err := c.drop(c.bad, table); return err },
		rival:  func() error { return c.advance(c.good, table) },
		writes: 5, // with the line of the audit
	}, err
}

func prepareUndrop(c *cell) (prepared, error) {
	table, err := c.create(c.good)
	if err != nil {
		return prepared{}, err
	}
	grave, err := c.drop(c.good, table)
	if err != nil {
		return prepared{}, err
	}
	drop, err := c.good.Procedure(c.ctx, catalog.DropKind, grave.ProcedureID())
	return prepared{
		run: func() error {
			_, err := c.bad.Undrop(c.ctx, c.fence, grave, records.Restore(table.Snapshot), drop, "ann")
			return err
		},
		rival:  func() error { _, err := c.good.CommitProcedure(c.ctx, drop, drop); return err },
		writes: 5,
	}, err
}

// procedure records a procedure of the cell's.
func (c *cell) procedure() (catalog.Procedure, error) {
	const kind = "matrix"
	op := c.good.CreateProcedureOp(catalog.Procedure{Kind: kind, ID: c.table.Path()})
	if err := c.plain.Commit(c.ctx, metastore.Txn{Ops: []metastore.Op{op}}); err != nil {
		return catalog.Procedure{}, err
	}
	return c.good.Procedure(c.ctx, kind, c.table.Path())
}

func prepareProcedure(c *cell) (prepared, error) {
	p, err := c.procedure()
	next := p
	next.Epoch++
	return prepared{
		run:    func() error { _, err := c.bad.CommitProcedure(c.ctx, p, next); return err },
		rival:  func() error { _, err := c.good.CommitProcedure(c.ctx, p, p); return err },
		writes: 1,
	}, err
}

func prepareKeep(c *cell) (prepared, error) {
	p, err := c.procedure()
	effect := metastore.Create("effect/"+c.table.Path(), []byte(`{"nonce":1}`))
	return prepared{
		run:    func() error { return c.bad.CommitKeep(c.ctx, p, effect) },
		rival:  func() error { _, err := c.good.CommitProcedure(c.ctx, p, p); return err },
		writes: 1,
	}, err
}

func prepareLookup(c *cell) (prepared, error) {
	table, err := c.create(c.good)
	return prepared{
		run:   func() error { _, err := c.bad.Get(c.ctx, c.table); return err },
		rival: func() error { return c.advance(c.good, table) },
	}, err
}

func prepareList(c *cell) (prepared, error) {
	table, err := c.create(c.good)
	return prepared{
		run: func() error {
			page, _, err := c.bad.List(c.ctx, c.table.Namespace, "", 10)
			if err == nil && len(page) != 1 {
				return errors.New("the table is not listed")
			}
			return err
		},
		rival: func() error { return c.advance(c.good, table) },
	}, err
}

// prepareCommit is one call of a store, without a loop around it but the
// store's own.
func prepareCommit(c *cell) (prepared, error) {
	key, old := "bare/"+c.table.Path(), []byte(`{"nonce":0}`)
	change := metastore.Update(key, old, []byte(`{"nonce":1}`))
	txn := metastore.Txn{Token: lake.NewID().String(), Ops: []metastore.Op{change, metastore.Create(key+"/log", nil)}}
	put := func(op metastore.Op) error { return c.plain.Commit(c.ctx, metastore.Txn{Ops: []metastore.Op{op}}) }
	return prepared{
		run:    func() error { return c.harmed.Commit(c.ctx, txn) },
		again:  func() error { return c.harmed.Commit(c.ctx, txn) },
		rival:  func() error { return put(metastore.Update(key, old, []byte(`{"nonce":2}`))) },
		writes: 2,
	}, put(metastore.Create(key, old))
}

func prepareGet(c *cell) (prepared, error) {
	p, err := prepareCommit(c)
	return prepared{
		run:   func() error { _, err := c.harmed.Get(c.ctx, "bare/"+c.table.Path()); return err },
		rival: p.rival,
	}, err
}

func prepareScan(c *cell) (prepared, error) {
	p, err := prepareCommit(c)
	return prepared{
		run:   func() error { _, err := c.harmed.Scan(c.ctx, "bare/"+c.table.Namespace+"/", "", 10); return err },
		rival: p.rival,
	}, err
}
