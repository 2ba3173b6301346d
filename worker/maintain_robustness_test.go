// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix && robustness

package worker_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/activities/maintain/maintaintest"
	"github.com/lakeplane/lake/catalog"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/objstore/local"
)

// keptTables opens the folder of a child worker that does not run.
func keptTables(t *testing.T, dir string) (w *maintaintest.World, closeAll func()) {
	t.Helper()
	store, err := pebble.Open(filepath.Join(dir, "meta"), pebble.Options{})
	require.NoError(t, err)
	files, err := local.Open(filepath.Join(dir, "objects"))
	require.NoError(t, err)
	e, err := enginelance.New(enginelance.Options{Store: files})
	require.NoError(t, err)
	return &maintaintest.World{Store: store, Catalog: catalog.New(store, catalog.Options{}), Engine: e}, func() {
		require.NoError(t, e.Close())
		require.NoError(t, files.Close())
		require.NoError(t, store.Close())
	}
}

// prepareUpkeep leaves fragmented tables and old operations in a folder.
func prepareUpkeep(t *testing.T, dir string, names []lake.TableName, pinned map[lake.TableName]lake.Snapshot) {
	t.Helper()
	t.Run("prepare", func(t *testing.T) { // whose end is that of the leadership
		w, closeAll := keptTables(t, dir)
		t.Cleanup(closeAll)
		w = maintaintest.New(t, w.Store, w.Engine)
		for _, name := range names {
			pinned[name] = w.Appended(t, name, 12).Snapshot
		}
		w.Operations(t, 4000, time.Now().Add(-2*lake.OperationRetention))
		w.Operations(t, 48, time.Now().Add(-time.Hour))
	})
}

// TestUpkeepSurvivesKills kills the worker at random moments, and now and then
// the Temporal server, while it compacts tables and forgets operations; then it
// lets one finish. No row may be lost or moved, no version skipped.
func TestUpkeepSurvivesKills(t *testing.T) {
	dir := t.TempDir()
	temporal := startTemporal(t, filepath.Join(dir, "temporal.db"))
	var names []lake.TableName
	for i := range 8 {
		names = append(names, lake.TableName{Namespace: "robots", Name: fmt.Sprintf("t%d", i)})
	}
	pinned := map[lake.TableName]lake.Snapshot{}
	prepareUpkeep(t, dir, names, pinned)
	const kills = 20
	for kill := range kills {
		cmd := startChild(t, dir, temporal.Address())
		time.Sleep(200*time.Millisecond + rand.N(1500*time.Millisecond))
		if kill%5 == 4 {
			killTemporal(temporal)
		}
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	deadline := time.Now().Add(3 * time.Minute)
	for !upkept(t, dir, names) {
		require.True(t, time.Now().Before(deadline), "upkeep did not end")
		last := startChild(t, dir, temporal.Address())
		time.Sleep(10 * time.Second)
		require.NoError(t, last.Process.Kill())
		_ = last.Wait()
	}
	w, closeAll := keptTables(t, dir)
	defer closeAll()
	for _, name := range names {
		now := w.Now(t, name)
		w.RequireNumbers(t, now.Snapshot, 120)
		w.RequireNumbers(t, pinned[name], 120)
		require.Equal(t, pinned[name].Version+1, now.Snapshot.Version, "it was compacted once")
	}
	t.Logf("%d kills of the worker, %d restarts of Temporal", kills, temporal.Restarts())
}

// upkept reports whether every table is compacted and published, and only young
// operations are left.
func upkept(t *testing.T, dir string, names []lake.TableName) bool {
	w, closeAll := keptTables(t, dir)
	defer closeAll()
	for _, name := range names {
		before, _, err := w.Engine.(*enginelance.Engine).Fragmentation(t.Context(), w.Now(t, name).Snapshot)
		require.NoError(t, err)
		if before > 0 {
			return false
		}
	}
	left, next, err := w.Catalog.Operations(t.Context(), "", lake.MaxPageSize)
	require.NoError(t, err)
	require.Empty(t, next)
	young := 0
	for _, r := range left {
		if w.Catalog.Forgettable(r) {
			return false
		}
		if r.Table.Namespace == "operations" {
			young++
		}
	}
	require.Equal(t, 48, young)
	return true
}
