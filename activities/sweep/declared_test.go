// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sweep_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/activities/drop/droptest"
	"github.com/lakeplane/lake/activities/sweep"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/workflows"
)

// TestItCleansUpAfterTablesThatWereNotMade: declarations that are young stay,
// those that have expired go with their objects, what comes late goes later, and
// nothing beside them is touched.
func TestItCleansUpAfterTablesThatWereNotMade(t *testing.T) {
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	objects, err := local.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = objects.Close() })
	w := droptest.New(t, store, objects)
	put := func(key string) { require.NoError(t, objects.Put(t.Context(), key, []byte("x"))) }
	there := func(loc lake.Location) int {
		infos, _, err := objects.List(t.Context(), loc.Prefix(), "", 1000)
		require.NoError(t, err)
		return len(infos)
	}
	declare := func(name string, expires time.Duration) catalog.Declaration {
		d, err := w.Catalog.Declare(t.Context(), w.Fence(), catalog.Declaration{
			Name: lake.TableName{Namespace: "ns", Name: name}, Incarnation: lake.NewID(), By: "ann", Reserves: true, Expires: time.Now().Add(expires),
		})
		require.NoError(t, err)
		for _, object := range []string{"data/a", "data/b", "_versions/1.manifest-x"} {
			put(d.Location().Prefix() + object)
		}
		return d
	}
	table := w.Table(t, lake.TableName{Namespace: "ns", Name: "old"}, 2, 3)
	had := there(table.Snapshot.Location)
	young, old := declare("young", time.Hour), declare("old2", -time.Second)
	beside := string(old.Location()) + "2/data/a"
	put(beside)

	at := time.Now()
	do := func() workflows.SweepResult {
		r, err := run(t, sweep.New(w.Catalog, &temporal{}, sweep.Options{
			Declarations: w.Catalog, Objects: objects, StartEvery: 1, Now: func() time.Time { return at },
		}), workflows.SweepStep{})
		require.NoError(t, err)
		require.Zero(t, r.Failed, r.LastError)
		return r
	}
	r := do()
	require.EqualValues(t, 1, r.Abandoned)
	require.EqualValues(t, 1, r.Declared)
	require.EqualValues(t, 3, r.Deleted)
	require.Zero(t, there(old.Location()))

	// A writer that has not noticed brings more. It is deleted in time.
	put(old.Location().Prefix() + "data/late")
	at = at.Add(time.Minute)
	require.Zero(t, do().Deleted)
	require.Equal(t, 3, there(young.Location()))
	at = at.Add(sweep.DefaultLinger)
	r = do()
	require.EqualValues(t, 1, r.Abandoned, "the young one has expired by now")
	require.EqualValues(t, 1+3, r.Deleted)
	at = at.Add(sweep.DefaultLinger + time.Minute)
	do()
	require.Empty(t, w.Keys(t, "declared"))
	require.Zero(t, there(old.Location()))
	require.Zero(t, there(young.Location()))
	require.Equal(t, had, there(table.Snapshot.Location))
	_, err = objects.Open(t.Context(), beside)
	require.NoError(t, err)
}

// What cannot be cleaned up keeps no procedure waiting.
func TestItStartsProceduresWithoutObjects(t *testing.T) {
	w, refs := dropped(t, 1)
	_, err := w.Catalog.Declare(t.Context(), w.Fence(), catalog.Declaration{
		Name: lake.TableName{Namespace: "ns", Name: "x"}, Incarnation: lake.NewID(), Expires: time.Now().Add(-time.Second),
	})
	require.NoError(t, err)
	objects, err := local.Open(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, objects.Close())
	f := &temporal{}
	r, err := run(t, sweep.New(w.Catalog, f, sweep.Options{Declarations: w.Catalog, Objects: objects, StartEvery: 1}), workflows.SweepStep{})
	require.NoError(t, err)
	require.Equal(t, []string{refs[0].String()}, f.started)
	require.EqualValues(t, 1, r.Failed)
	require.NotEmpty(t, r.LastError)
}

// closedPlace is a store that lets nobody look into one place.
type closedPlace struct {
	objstore.Store
	prefix string
}

func (c closedPlace) List(ctx context.Context, prefix, after string, limit int) ([]objstore.Info, bool, error) {
	if prefix == c.prefix {
		return nil, false, lake.Errorf(lake.Denied, "list %q: not allowed", prefix)
	}
	return c.Store.List(ctx, prefix, after, limit)
}

// One place that cannot be cleaned up keeps no other waiting, for ever.
func TestOneBadPlaceKeepsNoOtherWaiting(t *testing.T) {
	w, refs := dropped(t, 1)
	objects, err := local.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = objects.Close() })
	var places []catalog.Declaration
	for _, name := range []string{"a", "b", "c"} {
		d, err := w.Catalog.Declare(t.Context(), w.Fence(), catalog.Declaration{
			Name: lake.TableName{Namespace: "ns", Name: name}, Incarnation: lake.NewID(), Expires: time.Now().Add(-time.Second),
		})
		require.NoError(t, err)
		require.NoError(t, objects.Put(t.Context(), d.Location().Prefix()+"data/a", []byte("x")))
		places = append(places, d)
	}
	closed := closedPlace{objects, places[0].Location().Prefix()}
	f := &temporal{}
	r, err := run(t, sweep.New(w.Catalog, f, sweep.Options{Declarations: w.Catalog, Objects: closed, StartEvery: 1}), workflows.SweepStep{})
	require.NoError(t, err)
	require.EqualValues(t, 2, r.Deleted)
	require.EqualValues(t, 1, r.Failed)
	require.Contains(t, r.LastError, "not allowed")
	require.Equal(t, []string{refs[0].String()}, f.started)
}
