// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/hookstore"
	"github.com/lakeplane/lake/metastore/memory"
)

// world is a random history of leaders, some of them stale, that work on a few
// tables through handles, some of them stale, over a store that loses answers.
// Beside it stands what an outside observer was told.
type world struct {
	t       *testing.T
	store   *hookstore.Store
	c       *catalog.Catalog
	fences  []catalog.Fence
	handles []catalog.Table
	ops     []catalog.Operation

	// acknowledged says which version each operation was told to be in. An
	// operation is an id on a table: the same id on another one is another.
	acknowledged map[logical]place
	dropped      map[lake.Incarnation]bool
	newest       map[lake.Incarnation]lake.Version
}

type logical struct {
	table lake.TableName
	id    lake.OperationID
}

type place struct {
	incarnation lake.Incarnation
	version     lake.Version
}

func newWorld(t *testing.T) *world {
	s := memory.New()
	w := &world{
		t: t, store: hookstore.New(s), acknowledged: map[logical]place{},
		dropped: map[lake.Incarnation]bool{}, newest: map[lake.Incarnation]lake.Version{},
	}
	// Ids made earlier in this process keep the later ones from going back to
	// the bubble's time, so the clock of the world is that of its ids.
	w.c = catalog.New(w.store, catalog.Options{Now: func() time.Time { return lake.NewID().Time() }})
	w.fences = append(w.fences, lead(t, w.store))
	return w
}

var worldNames = []lake.TableName{name("a.t"), name("a.t2"), name("b.t")}

// disturb makes the next commit lose its answer, before or after it applied.
func (w *world) disturb(r *rapid.T) {
	mode := rapid.SampledFrom([]string{"none", "none", "applied", "dropped"}).Draw(r, "fault")
	if mode == "none" {
		w.store.OnCommit(nil)
		return
	}
	w.store.OnCommit(func(_ metastore.Txn, next func() error) error {
		w.store.OnCommit(nil)
		if mode == "applied" {
			_ = next()
		}
		return metastore.ErrUnknownOutcome
	})
}

func (w *world) fence(r *rapid.T) (catalog.Fence, bool) {
	i := rapid.IntRange(max(0, len(w.fences)-2), len(w.fences)-1).Draw(r, "fence")
	return w.fences[i], i == len(w.fences)-1
}

// refused checks that an error is one the protocol allows.
func (w *world) refused(r *rapid.T, err error, kinds ...lake.Kind) {
	for _, k := range kinds {
		if lake.Is(err, k) {
			return
		}
	}
	r.Fatalf("unexpected %s: %v", lake.KindOf(err), err)
}

func (w *world) takeover(r *rapid.T) {
	w.store.OnCommit(nil)
	w.fences = append(w.fences, lead(w.t, w.store))
}

func (w *world) create(r *rapid.T) {
	n := rapid.SampledFrom(worldNames).Draw(r, "name")
	fence, current := w.fence(r)
	table, ops := first(n)
	w.disturb(r)
	table, err := w.c.Create(w.t.Context(), fence, table, ops)
	switch {
	case err != nil:
		w.refused(r, err, lake.AlreadyExists, lake.Fenced)
	case !current:
		r.Fatalf("a stale leader created %s", n)
	default:
		w.handles = append(w.handles, table)
		w.newest[table.Snapshot.Incarnation] = 1
	}
}

// look takes a fresh handle, which later actions may find stale.
func (w *world) look(r *rapid.T) {
	table, err := w.c.Get(w.t.Context(), rapid.SampledFrom(worldNames).Draw(r, "name"))
	if err != nil {
		w.refused(r, err, lake.NotFound)
		return
	}
	w.handles = append(w.handles, table)
}

func (w *world) handle(r *rapid.T) catalog.Table {
	if len(w.handles) == 0 {
		r.Skip("no handle yet")
	}
	return w.handles[rapid.IntRange(max(0, len(w.handles)-4), len(w.handles)-1).Draw(r, "handle")]
}

// operation returns a new append operation or one of an earlier action.
func (w *world) operation(r *rapid.T) catalog.Operation {
	if i := rapid.IntRange(-2, len(w.ops)-1).Draw(r, "op"); i >= 0 {
		return w.ops[i]
	}
	w.ops = append(w.ops, operation())
	return w.ops[len(w.ops)-1]
}

// append does what the authority does for one client call: look the operation
// up, stage, commit.
func (w *world) append(r *rapid.T) {
	base := w.handle(r)
	fence, current := w.fence(r)
	op := w.operation(r)
	record, found, err := w.c.Replay(w.t.Context(), base, op)
	switch {
	case err != nil:
		w.refused(r, err, lake.Precondition)
		return
	case found:
		w.told(r, logical{base.Name, op.ID}, place{record.Incarnation, record.Version})
		return
	}
	w.disturb(r)
	moved, err := advance(w.t, w.c, fence, base, op)
	switch {
	case err != nil:
		w.refused(r, err, lake.Fenced, lake.Conflict, lake.Precondition)
	case !current:
		r.Fatalf("a stale leader committed version %d", moved.Snapshot.Version)
	default:
		w.told(r, logical{base.Name, op.ID}, place{moved.Snapshot.Incarnation, moved.Snapshot.Version})
		w.handles = append(w.handles, moved)
		w.advanced(r, moved)
	}
}

// told records an acknowledgement: one operation, one version, for ever.
func (w *world) told(r *rapid.T, op logical, p place) {
	if before, twice := w.acknowledged[op]; twice && before != p {
		r.Fatalf("operation %v: told %v, before that %v", op, p, before)
	}
	w.acknowledged[op] = p
}

func (w *world) advanced(r *rapid.T, t catalog.Table) {
	inc := t.Snapshot.Incarnation
	if w.dropped[inc] || t.Snapshot.Version != w.newest[inc]+1 {
		r.Fatalf("version %d of %s after %d, dropped %t", t.Snapshot.Version, inc, w.newest[inc], w.dropped[inc])
	}
	w.newest[inc] = t.Snapshot.Version
}

func (w *world) drop(r *rapid.T) {
	table := w.handle(r)
	fence, current := w.fence(r)
	w.disturb(r)
	_, err := w.c.Drop(w.t.Context(), fence, table, records.Retire(table.Snapshot), catalog.DropRequest{PurgeAfter: time.Now()})
	switch inc := table.Snapshot.Incarnation; {
	case err != nil:
		w.refused(r, err, lake.Fenced, lake.Conflict, lake.NotFound, lake.Precondition)
	case !current || w.dropped[inc] || table.Snapshot.Version != w.newest[inc]:
		r.Fatalf("a stale leader, or from a stale record, dropped %s", inc)
	default:
		w.dropped[inc] = true
	}
}

// check compares the store with what was told.
func (w *world) check(r *rapid.T) {
	w.store.OnCommit(nil)
	all := dump(w.t, w.store)
	history := map[string]int{}
	for key := range all {
		if rest, ok := strings.CutPrefix(key, "manifest/"); ok {
			loc := rest[:strings.LastIndexByte(rest, '/')]
			history[loc]++
		}
	}
	live := map[lake.Incarnation]bool{}
	for _, n := range worldNames {
		t, err := w.c.Get(w.t.Context(), n)
		if err != nil {
			w.refused(r, err, lake.NotFound)
			continue
		}
		live[t.Snapshot.Incarnation] = true
		if t.Snapshot.Version != w.newest[t.Snapshot.Incarnation] {
			r.Fatalf("%s is at version %d, told was %d", n, t.Snapshot.Version, w.newest[t.Snapshot.Incarnation])
		}
		if got := history[string(t.Snapshot.Location)]; got != int(t.Snapshot.Version) {
			r.Fatalf("%s has %d history rows at version %d", n, got, t.Snapshot.Version)
		}
	}
	for inc := range w.newest {
		if live[inc] == w.dropped[inc] {
			r.Fatalf("incarnation %s: live %t, dropped %t", inc, live[inc], w.dropped[inc])
		}
	}
	graves, _, err := w.c.Tombstones(w.t.Context(), "", 10_000)
	require.NoError(w.t, err)
	if len(graves) != len(w.dropped) {
		r.Fatalf("%d tombstones of %d drops", len(graves), len(w.dropped))
	}
	operations, _, err := w.c.Operations(w.t.Context(), "", 10_000)
	require.NoError(w.t, err)
	if len(operations) != len(w.acknowledged) {
		r.Fatalf("%d operation records, %d acknowledged", len(operations), len(w.acknowledged))
	}
	for _, o := range operations {
		if p := w.acknowledged[logical{o.Table, o.ID}]; p != (place{o.Incarnation, o.Version}) {
			r.Fatalf("operation %s is in %v, told was %v", o.ID, place{o.Incarnation, o.Version}, p)
		}
	}
}

// TestRandomHistories checks, over random interleavings with stale leaders,
// stale handles, replays and lost answers: no acknowledged append is lost or in
// twice, an operation has one version, versions are dense, a stale leader
// changes nothing, and every dropped incarnation has its tombstone.
//
// It runs in a bubble, where the pauses between attempts take no time.
func TestRandomHistories(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(inBubble{t}, func(r *rapid.T) {
			w := newWorld(t)
			r.Repeat(map[string]func(*rapid.T){
				"takeover": w.takeover,
				"create":   w.create,
				"look":     w.look,
				"append":   w.append,
				"append2":  w.append,
				"drop":     w.drop,
				"":         w.check,
			})
		})
	})
}

// inBubble hides the deadline of a test, which has none in a bubble.
type inBubble struct{ rapid.TB }

// TestKeys pins the keys: they are a format.
func TestKeys(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	require.NoError(t, c.Prepare(t.Context(), fence))
	table := create(t, c, fence, name("ns.t"))
	op := operation()
	table, err := advance(t, c, fence, table, op)
	require.NoError(t, err)
	gone := create(t, c, fence, name("ns.gone"))
	_, err = c.Drop(t.Context(), fence, gone, records.Retire(gone.Snapshot), catalog.DropRequest{PurgeAfter: time.Now()})
	require.NoError(t, err)
	want := []string{
		"__lake_internal/catalog-directory-authoritative", "__lake_internal/catalog-directory-generation",
		"election/leader-deadline", "tbl/ns/t",
		"append-operation/v1/default/ns/t/" + op.ID.String(),
		"drop/ns/gone/" + gone.Snapshot.Incarnation.String(),
		"procedure/drop-table/ns/gone/" + gone.Snapshot.Incarnation.String(),
		"procedure-audit/drop-table/ns/gone/" + gone.Snapshot.Incarnation.String(),
		"manifest-latest/" + string(table.Snapshot.Location), "manifest-latest/" + string(gone.Snapshot.Location),
		"manifest/" + string(table.Snapshot.Location) + "/00000000000000000001",
		"manifest/" + string(table.Snapshot.Location) + "/00000000000000000002",
		"manifest/" + string(gone.Snapshot.Location) + "/00000000000000000001",
	}
	for i := range 16 {
		want = append(want, fmt.Sprintf("election/leader/%02x", i))
	}
	var got []string
	for key := range dump(t, store) {
		// An entry of the audit has an id of its own.
		if at, rest, ok := strings.Cut(key, "procedure-audit/"); ok {
			key = at + "procedure-audit/" + rest[:strings.LastIndex(rest, "/")]
		}
		got = append(got, key)
	}
	require.ElementsMatch(t, want, got)
}
