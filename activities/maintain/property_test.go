// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package maintain_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/workflows"
)

// deleteRows makes a version without some rows, as another client does that
// proposes it to the authority.
func (r *reclaimer) deleteRows(t testing.TB, table catalog.Table, rows []uint64) catalog.Table {
	t.Helper()
	ctx := context.Background()
	st := r.engine.Folder(table.Snapshot.Location)
	m, err := lance.ReadManifest(ctx, st, uint64(table.Snapshot.Version))
	require.NoError(t, err)
	d, err := lance.Open(ctx, st, m, lance.Options{})
	require.NoError(t, err)
	defer d.Close()
	next, err := d.Delete(ctx, st, rows, "n", lance.Commit{UUID: lake.NewID().String(), Time: time.Now()})
	require.NoError(t, err)
	raw, err := next.Encode()
	require.NoError(t, err)
	key := table.Snapshot.Location.Prefix() + lance.ManifestName(next.Version()) + "-" + lake.NewID().String()
	require.NoError(t, r.objects.Put(ctx, key, raw))
	staged, err := r.engine.Adopt(ctx, table.Snapshot, engine.Proposal{Version: lake.Version(next.Version()), Key: key, Since: time.Now().Add(-time.Hour)})
	require.NoError(t, err)
	moved, err := r.catalog.Advance(ctx, r.Fence, table, staged.Snapshot, staged.Ops, nil)
	require.NoError(t, err)
	require.NoError(t, r.engine.Publish(ctx, moved.Snapshot))
	require.NoError(t, r.objects.Delete(ctx, key))
	return moved
}

// model is what a table must hold: the rows of each version, and the tags.
type model struct {
	rows map[lake.Version][]int64
	tags map[string]lake.Version
	next int64
}

// TestCleanUpsKeepWhatTheyMust interleaves appends, deletes by another client,
// compactions, tags and clean-ups that crash. After each step the current
// version, those within retention and the tagged ones have exactly their rows; at
// the end nothing else is left.
func TestCleanUpsKeepWhatTheyMust(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keep := rapid.IntRange(1, 4).Draw(rt, "versions")
		r := reclaiming(t, atOnce(keep))
		table := r.Table(t, lake.TableName{Namespace: "robots", Name: "p" + lake.NewID().String()})
		m := &model{rows: map[lake.Version][]int64{1: nil}, tags: map[string]lake.Version{}}
		step := func() workflows.MaintenanceStep { return r.Intend(t, table) }
		now := func() catalog.Table { return r.Now(t, table.Name) }
		check := func() {
			head := now().Snapshot.Version
			for _, snap := range r.rows(t, table) {
				v := snap.Version
				tagged := false
				for _, at := range m.tags {
					tagged = tagged || at == v
				}
				if v+lake.Version(keep) > head || tagged {
					require.ElementsMatch(rt, m.rows[v], r.Numbers(t, snap), "version %d of %d", v, head)
				}
			}
			for _, at := range m.tags {
				require.Contains(rt, versions(r.rows(t, table)), at)
			}
		}
		for range rapid.IntRange(3, 12).Draw(rt, "steps") {
			cur := now()
			rows := m.rows[cur.Snapshot.Version]
			switch rapid.SampledFrom([]string{"append", "append", "delete", "compact", "clean", "clean", "tag", "untag"}).Draw(rt, "step") {
			case "append":
				n := int64(rapid.IntRange(1, 5).Draw(rt, "rows"))
				moved := r.Append(t, cur, m.next, n)
				added := slices.Clone(rows)
				for i := range n {
					added = append(added, m.next+i)
				}
				m.rows[moved.Snapshot.Version], m.next = added, m.next+n
			case "delete":
				if len(rows) == 0 {
					continue
				}
				live := r.Numbers(t, cur.Snapshot)
				at := rapid.IntRange(0, len(live)-1).Draw(rt, "row")
				moved := r.deleteRows(t, cur, []uint64{uint64(at)})
				m.rows[moved.Snapshot.Version] = slices.DeleteFunc(slices.Clone(live), func(v int64) bool { return v == live[at] })
			case "compact":
				_, err := r.compact(step())
				require.NoError(rt, err)
				for v := cur.Snapshot.Version + 1; v <= now().Snapshot.Version; v++ {
					m.rows[v] = rows
				}
			case "clean":
				crash, done := rapid.IntRange(0, 12).Draw(rt, "crash"), rapid.Bool().Draw(rt, "done")
				r.broken.fails = func(string) (bool, bool) {
					crash--
					return crash == 0, done
				}
				for range 3 { // one of them crashes, perhaps
					if out, err := r.reclaim(step()); err == nil && out.Over {
						break
					}
					r.restart(t)
				}
				r.broken.fails = func(string) (bool, bool) { return false, false }
			case "tag":
				there := versions(r.rows(t, table))
				v := rapid.SampledFrom(there).Draw(rt, "version")
				if v <= cur.Reclaimed.Floor && !tagged(m, v) {
					continue // given up, and on its way out
				}
				name := fmt.Sprintf("t%d", len(m.tags)+int(m.next)*100+int(v))
				if _, ok := m.tags[name]; ok {
					continue
				}
				r.tag(t, table, name, v)
				m.tags[name] = v
			case "untag":
				for name := range m.tags {
					r.untag(t, table, name)
					delete(m.tags, name)
					break
				}
			}
			check()
		}
		r.all(t, step())
		r.all(t, step()) // what the last compaction left
		check()
		for name := range m.tags {
			r.untag(t, table, name)
		}
		r.requireExactly(t, table)
	})
}

func tagged(m *model, v lake.Version) bool {
	for _, at := range m.tags {
		if at == v {
			return true
		}
	}
	return false
}

// A dry run tells what the clean-up then does.
func TestADryRunTellsWhatGoes(t *testing.T) {
	r := reclaiming(t, atOnce(3))
	table := r.Appended(t, name, 9)
	r.tag(t, table, "keep", 2)
	step := r.Intend(t, table)
	_, err := r.compact(step)
	require.NoError(t, err)
	before := r.keys(t, table)
	table = r.Now(t, name)
	plan, err := retention.Dry(t.Context(), r.Store, r.engine, r.engine.HistoryPrefix(table.Snapshot.Location), table, atOnce(3), time.Now())
	require.NoError(t, err)
	require.Equal(t, before, r.keys(t, table), "it changes nothing")
	require.Equal(t, table, r.Now(t, name))
	out := r.all(t, step)
	require.EqualValues(t, out.Counters[workflows.CountObjects], plan.Objects)
	require.EqualValues(t, out.Counters[workflows.CountBytes], plan.Bytes)
	require.EqualValues(t, out.Counters[workflows.CountHistory], plan.Reclaimed)
	require.Equal(t, retention.Kept{Versions: 4, Tagged: 1, Reclaimed: 7}, plan.Kept)
	require.EqualValues(t, 8, plan.Floor)
	require.Len(t, r.rows(t, table), 4)
}
