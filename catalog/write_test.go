// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

func TestCreateThenGetAndList(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	made := create(t, c, fence, name("a.t"))
	create(t, c, fence, name("a2.t"))
	create(t, c, fence, name("a.u.v"))

	got, err := c.Get(t.Context(), name("a.t"))
	require.NoError(t, err)
	require.Equal(t, made, got)
	require.Equal(t, "schema of a.t", string(got.Schema))

	_, err = c.Get(t.Context(), name("a.missing"))
	requireKind(t, lake.NotFound, err)
	_, err = c.Get(t.Context(), name("a.."))
	requireKind(t, lake.Invalid, err)

	for namespace, want := range map[string]string{"": "a.t a.u.v a2.t", "a": "a.t a.u.v", "a2": "a2.t", "b": ""} {
		var names []string
		for cursor, more := "", true; more; more = cursor != "" {
			page, next, err := c.List(t.Context(), namespace, cursor, 1)
			require.NoError(t, err)
			for _, table := range page {
				names = append(names, table.Name.String())
			}
			cursor = next
		}
		require.Equal(t, want, strings.Join(names, " "), "namespace %q", namespace)
	}
}

func TestCreateRefusals(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	create(t, c, fence, name("a.taken"))
	noise := make([]byte, 600<<10)
	_, _ = rand.Read(noise)
	for label, tc := range map[string]struct {
		change func(*catalog.Table)
		kind   lake.Kind
	}{
		"taken name":         {func(x *catalog.Table) { *x, _ = first(name("a.taken")) }, lake.AlreadyExists},
		"bad name":           {func(x *catalog.Table) { x.Name.Name = "x/y" }, lake.Invalid},
		"foreign location":   {func(x *catalog.Table) { x.Snapshot.Location = "a/other/x.lance" }, lake.Invalid},
		"no incarnation":     {func(x *catalog.Table) { x.Snapshot.Incarnation = lake.ID{} }, lake.Invalid},
		"version 2":          {func(x *catalog.Table) { x.Snapshot.Version = 2 }, lake.Invalid},
		"no schema":          {func(x *catalog.Table) { x.Schema = nil }, lake.Invalid},
		"schema over limit":  {func(x *catalog.Table) { x.Schema = make([]byte, lake.MaxSchemaBytes+1) }, lake.Invalid},
		"schema over record": {func(x *catalog.Table) { x.Schema = noise }, lake.Invalid},
	} {
		t.Run(label, func(t *testing.T) {
			table, ops := first(name("a.t"))
			tc.change(&table)
			before := dump(t, store)
			_, err := c.Create(t.Context(), fence, table, ops)
			requireKind(t, tc.kind, err)
			require.Equal(t, before, dump(t, store), "a refused create leaves nothing")
		})
	}
	table, ops := first(name("a.t"))
	_, err := c.Create(t.Context(), catalog.Fence{}, table, ops)
	requireKind(t, lake.Fenced, err)
}

func TestLargeSchemaSurvivesItsRecordAndItsTombstone(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	table, ops := first(name("a.wide"))
	table.Schema = []byte(strings.Repeat("<column> & more ", lake.MaxSchemaBytes/16))
	table, err := c.Create(t.Context(), fence, table, ops)
	require.NoError(t, err)
	got, err := c.Get(t.Context(), table.Name)
	require.NoError(t, err)
	require.Equal(t, table.Schema, got.Schema)
	require.Less(t, len(got.Raw()), 64<<10)

	worst := catalog.DropRequest{Requester: strings.Repeat("\x01", 256), Reason: strings.Repeat("<", catalog.MaxReasonBytes), PurgeAfter: time.Now()}
	grave, err := c.Drop(t.Context(), fence, got, records.Retire(got.Snapshot), worst)
	require.NoError(t, err)
	read, err := c.Tombstone(t.Context(), table.Name, table.Snapshot.Incarnation)
	require.NoError(t, err)
	require.Equal(t, got.Raw(), read.Table.Raw())
	require.Equal(t, grave.Reason, read.Reason)
}

func TestAdvance(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	v1 := create(t, c, fence, name("a.t"))
	ops := make([]catalog.Operation, catalog.MaxGroup)
	for i := range ops {
		ops[i] = operation()
	}
	v2, err := advance(t, c, fence, v1, ops...)
	require.NoError(t, err)
	require.EqualValues(t, 2, v2.Snapshot.Version)
	got, err := c.Get(t.Context(), v1.Name)
	require.NoError(t, err)
	require.Equal(t, v2, got)
	require.Equal(t, v1.CreatedAt, got.CreatedAt)
	for _, op := range ops {
		rec, found, err := c.Replay(t.Context(), v2, op)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, op, rec.Operation)
		require.EqualValues(t, 2, rec.Version)
		require.EqualValues(t, 1, rec.Base)
	}

	before := dump(t, store)
	_, err = advance(t, c, fence, v1, operation())
	requireKind(t, lake.Conflict, err)
	_, err = advance(t, c, fence, v2, ops[3])
	requireKind(t, lake.Conflict, err)
	_, err = advance(t, c, fence, v2, append(ops, operation())...)
	requireKind(t, lake.Invalid, err)
	snap, eops := next(v2.Snapshot)
	snap.Version++
	_, err = c.Advance(t.Context(), fence, v2, snap, eops, nil)
	requireKind(t, lake.Invalid, err)
	require.Equal(t, before, dump(t, store), "refused advances leave nothing")
}

func TestAdvanceOfADroppedOrRecreatedTable(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	old := create(t, c, fence, name("a.t"))
	_, err := c.Drop(t.Context(), fence, old, records.Retire(old.Snapshot), catalog.DropRequest{PurgeAfter: time.Now()})
	require.NoError(t, err)
	_, err = advance(t, c, fence, old, operation())
	requireKind(t, lake.Precondition, err)
	fresh := create(t, c, fence, name("a.t"))
	_, err = advance(t, c, fence, old, operation())
	requireKind(t, lake.Precondition, err)
	require.Contains(t, err.Error(), "created again")
	_, err = advance(t, c, fence, fresh, operation())
	require.NoError(t, err)
}

func TestAStaleLeaderCannotWrite(t *testing.T) {
	store := newHooked(t)
	c, stale := catalog.New(store, catalog.Options{}), lead(t, store)
	table := create(t, c, stale, name("a.t"))
	fence := lead(t, store)
	require.Equal(t, stale.Epoch()+1, fence.Epoch())
	before := dump(t, store)

	_, err := advance(t, c, stale, table, operation())
	requireKind(t, lake.Fenced, err)
	other, ops := first(name("a.other"))
	_, err = c.Create(t.Context(), stale, other, ops)
	requireKind(t, lake.Fenced, err)
	_, err = c.Drop(t.Context(), stale, table, records.Retire(table.Snapshot), catalog.DropRequest{PurgeAfter: time.Now()})
	requireKind(t, lake.Fenced, err)
	require.Equal(t, before, dump(t, store))

	_, err = advance(t, c, fence, table, operation())
	require.NoError(t, err)
}

func TestReplayRules(t *testing.T) {
	store := newHooked(t)
	now := time.Now()
	c := catalog.New(store, catalog.Options{Now: func() time.Time { return now }})
	fence := lead(t, store)
	table := create(t, c, fence, name("a.t"))
	op := operation()
	table, err := advance(t, c, fence, table, op)
	require.NoError(t, err)

	replay := func(op catalog.Operation) error {
		_, found, err := c.Replay(t.Context(), table, op)
		if err == nil && !found {
			return errors.New("not found")
		}
		return err
	}
	require.NoError(t, replay(op))
	other := op
	other.Digest[0]++
	requireKind(t, lake.AlreadyExists, replay(other))
	elsewhere := op
	elsewhere.Tenant = "other"
	require.EqualError(t, replay(elsewhere), "not found", "an operation belongs to its tenant")

	at := func(d time.Duration) catalog.Operation {
		op := operation()
		op.ID = lake.NewIDAt(now.Add(d))
		return op
	}
	require.EqualError(t, replay(at(lake.OperationFutureSkew-time.Second)), "not found")
	requireKind(t, lake.Invalid, replay(at(lake.OperationFutureSkew+time.Second)))
	require.EqualError(t, replay(at(-lake.OperationRetention+time.Second)), "not found")
	requireKind(t, lake.Precondition, replay(at(-lake.OperationRetention-time.Second)))
	evil := op
	evil.Tenant = "../x"
	requireKind(t, lake.Invalid, replay(evil))

	rec, err := c.Operation(t.Context(), op.Tenant, table.Name, op.ID)
	require.NoError(t, err)
	require.False(t, c.Forgettable(rec))
	now = now.Add(lake.OperationRetention + time.Minute)
	requireKind(t, lake.Precondition, replay(op))
	require.False(t, c.Forgettable(rec), "a replica with a slow clock may still look for it")
	now = now.Add(time.Hour)
	require.True(t, c.Forgettable(rec))
	page, _, err := c.Operations(t.Context(), "", 10)
	require.NoError(t, err)
	require.Equal(t, []catalog.OperationRecord{rec}, page)
	require.NoError(t, store.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{rec.RemoveOp()}}))
}

func TestReplayAfterRecreateIsRefused(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	table := create(t, c, fence, name("a.t"))
	op := operation()
	table, err := advance(t, c, fence, table, op)
	require.NoError(t, err)
	_, err = c.Drop(t.Context(), fence, table, records.Retire(table.Snapshot), catalog.DropRequest{PurgeAfter: time.Now()})
	require.NoError(t, err)
	table = create(t, c, fence, name("a.t"))
	_, _, err = c.Replay(t.Context(), table, op)
	requireKind(t, lake.Precondition, err)
}

func TestDropLeavesTombstoneAndIntent(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	table := create(t, c, fence, name("a.t"))
	purge := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	req := catalog.DropRequest{Requester: "ann", Reason: "a \"reason\" <&> \u2028 ✓", PurgeAfter: purge}
	grave, err := c.Drop(t.Context(), fence, table, records.Retire(table.Snapshot), req)
	require.NoError(t, err)

	_, err = c.Get(t.Context(), table.Name)
	requireKind(t, lake.NotFound, err)
	_, err = c.Drop(t.Context(), fence, table, records.Retire(table.Snapshot), req)
	requireKind(t, lake.NotFound, err)

	read, err := c.Tombstone(t.Context(), table.Name, table.Snapshot.Incarnation)
	require.NoError(t, err)
	require.Equal(t, table.Raw(), read.Table.Raw(), "the removed record is kept byte for byte")
	require.Equal(t, grave.PurgeAfter, read.PurgeAfter)
	require.Equal(t, req, catalog.DropRequest{Requester: read.Requester, Reason: read.Reason, PurgeAfter: read.PurgeAfter})

	p, err := c.Procedure(t.Context(), catalog.DropKind, grave.ProcedureID())
	require.NoError(t, err)
	require.Equal(t, catalog.ProcedurePending, p.State)
	require.Equal(t, [2]string{"a", "t"}, [2]string{p.Namespace, p.Table})
	require.Equal(t, "drop-table/a/t/"+table.Snapshot.Incarnation.String(), p.WorkflowID())

	again := create(t, c, fence, name("a.t"))
	require.NotEqual(t, table.Snapshot.Incarnation, again.Snapshot.Incarnation)
	_, err = c.Drop(t.Context(), fence, table, nil, req)
	requireKind(t, lake.Precondition, err)
	_, err = c.Drop(t.Context(), fence, again, records.Retire(again.Snapshot), req)
	require.NoError(t, err)
	all, _, err := c.Tombstones(t.Context(), "", 10)
	require.NoError(t, err)
	require.Len(t, all, 2)
	of, _, err := c.TombstonesOf(t.Context(), name("a.t"), "", 10)
	require.NoError(t, err)
	require.Equal(t, all, of)

	end := []metastore.Op{read.RemoveOp()}
	done := p
	done.State = catalog.ProcedureCompleted
	_, err = c.CommitProcedure(t.Context(), p, done, append(end, records.Forget(table.Snapshot)...)...)
	require.NoError(t, err)
	_, err = c.Tombstone(t.Context(), table.Name, table.Snapshot.Incarnation)
	requireKind(t, lake.NotFound, err)
}

func TestDropRefusals(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	table := create(t, c, fence, name("a.t"))
	for label, req := range map[string]catalog.DropRequest{
		"reason too long":    {Reason: strings.Repeat("x", catalog.MaxReasonBytes+1), PurgeAfter: time.Now()},
		"requester too long": {Requester: strings.Repeat("x", 257), PurgeAfter: time.Now()},
		"no purge time":      {},
	} {
		_, err := c.Drop(t.Context(), fence, table, records.Retire(table.Snapshot), req)
		require.Equal(t, lake.Invalid, lake.KindOf(err), label)
	}
	moved, err := advance(t, c, fence, table, operation())
	require.NoError(t, err)
	_, err = c.Drop(t.Context(), fence, table, records.Retire(table.Snapshot), catalog.DropRequest{PurgeAfter: time.Now()})
	requireKind(t, lake.Conflict, err)
	_, err = c.Drop(t.Context(), fence, moved, records.Retire(moved.Snapshot), catalog.DropRequest{PurgeAfter: time.Now()})
	require.NoError(t, err)
}

// TestLostAnswers loses the answers of commits that did apply: the caller
// learns the truth and nothing is done twice.
func TestLostAnswers(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	for lost := range 4 {
		n := name("a.t")
		loseAnswers(store, lost)
		table := create(t, c, fence, n)
		loseAnswers(store, lost)
		op := operation()
		table, err := advance(t, c, fence, table, op)
		require.NoError(t, err)
		require.EqualValues(t, 2, table.Snapshot.Version)
		loseAnswers(store, lost)
		_, err = c.Drop(t.Context(), fence, table, records.Retire(table.Snapshot), catalog.DropRequest{PurgeAfter: time.Now()})
		require.NoError(t, err)
	}
}

// TestAReadProvesWhatAForgottenTokenCannot: the answer of a commit is lost, the
// read that would settle it fails, and the store has forgotten the token when the
// commit is sent again. Then the record itself tells whose write it is.
func TestAReadProvesWhatAForgottenTokenCannot(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	table := create(t, c, fence, name("a.t"))
	silent := false
	store.OnGet(func(string) error {
		if silent {
			return metastore.ErrRetryable
		}
		return nil
	})
	calls := 0
	store.OnCommit(func(txn metastore.Txn, next func() error) error {
		if calls++; calls == 1 {
			silent = true
			require.NoError(t, next())
			return metastore.ErrUnknownOutcome
		}
		silent = false
		txn.Token = ""
		return store.Store.Commit(t.Context(), txn)
	})
	op := operation()
	moved, err := advance(t, c, fence, table, op)
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	require.EqualValues(t, 2, moved.Snapshot.Version)
	_, found, err := c.Replay(t.Context(), moved, op)
	require.NoError(t, err)
	require.True(t, found)
}

// TestAnAnswerThatStaysUnknown is never reported as success or failure.
func TestAnAnswerThatStaysUnknown(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	table := create(t, c, fence, name("a.t"))
	store.OnCommit(func(metastore.Txn, func() error) error { return metastore.ErrUnknownOutcome })
	_, err := advance(t, c, fence, table, operation())
	requireKind(t, lake.Undetermined, err)

	attempts := 0
	store.OnCommit(func(_ metastore.Txn, next func() error) error {
		if attempts++; attempts < 4 {
			return metastore.ErrRetryable
		}
		return next()
	})
	_, err = advance(t, c, fence, table, operation())
	require.NoError(t, err, "a refusal that may be retried is")
	store.OnCommit(func(metastore.Txn, func() error) error { return metastore.ErrRetryable })
	_, err = advance(t, c, fence, table, operation())
	requireKind(t, lake.Unavailable, err)
}

// TestLostAnswerThenOvertaken loses the answer of an advance that another
// leader builds on before the first can read: the operation record still
// proves that the append is in.
func TestLostAnswerThenOvertaken(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	table := create(t, c, fence, name("a.t"))
	calm := catalog.New(store.Store, catalog.Options{})
	store.OnCommit(func(_ metastore.Txn, applyFirst func() error) error {
		require.NoError(t, applyFirst())
		now, err := calm.Get(t.Context(), table.Name)
		require.NoError(t, err)
		_, err = advance(t, calm, lead(t, store.Store), now, operation())
		require.NoError(t, err)
		return metastore.ErrUnknownOutcome
	})
	op := operation()
	moved, err := advance(t, c, fence, table, op)
	require.NoError(t, err)
	require.EqualValues(t, 2, moved.Snapshot.Version)
	now, err := calm.Get(t.Context(), table.Name)
	require.NoError(t, err)
	require.EqualValues(t, 3, now.Snapshot.Version)
}

// TestAnOperationTooOldIsNotCommitted: one that waited for its commit until its
// twin's record may be gone proves nothing by the absence of a record.
func TestAnOperationTooOldIsNotCommitted(t *testing.T) {
	store := newHooked(t)
	now := time.Now()
	c := catalog.New(store, catalog.Options{Now: func() time.Time { return now }})
	f := lead(t, store)
	table := create(t, c, f, name("red.waiting"))
	op := operation()
	now = now.Add(lake.OperationRetention + time.Minute)
	_, err := advance(t, c, f, table, op)
	requireKind(t, lake.Precondition, err)
	require.ErrorContains(t, err, op.ID.String())
}

func TestOneIncarnationOfATable(t *testing.T) {
	store := newHooked(t)
	c, f := catalog.New(store, catalog.Options{}), lead(t, store)
	table := create(t, c, f, name("red.t"))
	got, err := c.GetIncarnation(t.Context(), table.Name, table.Snapshot.Incarnation)
	require.NoError(t, err)
	require.Equal(t, table.Snapshot, got.Snapshot)
	_, err = c.GetIncarnation(t.Context(), table.Name, lake.NewID())
	requireKind(t, lake.NotFound, err)
	_, err = c.GetIncarnation(t.Context(), name("red.other"), table.Snapshot.Incarnation)
	requireKind(t, lake.NotFound, err)
}
