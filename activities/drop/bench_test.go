// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package drop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/activities/drop"
	"github.com/lakeplane/lake/activities/drop/droptest"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/workflows"
)

// BenchmarkDeleteObjects compares the deletion of a dropped table's objects, all
// in one folder, with plain os.Remove of as many files in the same file system:
//
//	go test ./activities/drop -run '^$' -bench DeleteObjects -benchtime 1x
//
// raw/s and drop/s are objects a second, drop/raw their ratio. "batches" uses
// the abilities of the local store; "singles" hides them.
func BenchmarkDeleteObjects(b *testing.B) {
	for _, objects := range []int{20_000, 100_000} {
		b.Run(fmt.Sprintf("batches/objects=%d", objects), func(b *testing.B) {
			benchDeleteObjects(b, objects, func(s objstore.Store) objstore.Store { return s })
		})
	}
	b.Run("singles/objects=20000", func(b *testing.B) {
		benchDeleteObjects(b, 20_000, func(s objstore.Store) objstore.Store { return struct{ objstore.Store }{s} })
	})
}

func benchDeleteObjects(b *testing.B, objects int, view func(objstore.Store) objstore.Store) {
	var raw, dropped time.Duration
	for range b.N {
		raw += rawRemoval(b, objects)
		dropped += dropOf(b, objects, view)
	}
	total := float64(objects * b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(total/raw.Seconds(), "raw/s")
	b.ReportMetric(total/dropped.Seconds(), "drop/s")
	b.ReportMetric(raw.Seconds()/dropped.Seconds(), "drop/raw")
}

// fill makes the files, then syncs once, so that what is measured afterwards
// does not pay for them. They are empty: data that is still on its way to the
// disk would be written by the first sync of the drop, and by none of raw's.
func fill(b *testing.B, dir string, n int) (paths []string) {
	b.Helper()
	require.NoError(b, os.MkdirAll(dir, 0o755))
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("%06d.lance", i))
		require.NoError(b, os.WriteFile(path, nil, 0o600))
		paths = append(paths, path)
	}
	folder, err := os.Open(dir)
	require.NoError(b, err)
	defer folder.Close()
	require.NoError(b, folder.Sync())
	return paths
}

// rawRemoval is the time that removing files takes without any sync.
func rawRemoval(b *testing.B, n int) time.Duration {
	paths := fill(b, filepath.Join(b.TempDir(), "data"), n)
	began := time.Now()
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}

// dropOf is the time that the activity takes, over as many calls as its budget
// makes of it, until the objects are durably gone.
func dropOf(b *testing.B, n int, view func(objstore.Store) objstore.Store) time.Duration {
	root := b.TempDir()
	files, err := local.Open(root)
	require.NoError(b, err)
	defer files.Close()
	store := memory.New()
	defer store.Close()
	world := droptest.New(b, store, view(files))
	gone := world.Table(b, table, 1, 0)
	fill(b, filepath.Join(root, filepath.FromSlash(gone.Snapshot.Location.Prefix()), "data"), n)
	a, err := drop.New(world.Catalog, world.Store, world.Objects, map[string]drop.Engine{droptest.EngineName: droptest.Engine},
		drop.Options{Settle: time.Nanosecond})
	require.NoError(b, err)
	f := &fixture{World: world, env: environment(a)}
	step := world.Drop(b, gone, past())
	_, err = f.try(workflows.DropBegin, step)
	require.NoError(b, err)
	began := time.Now()
	for done := false; !done; {
		out, err := f.try(workflows.DropDeleteObjects, step)
		require.NoError(b, err)
		done = out.Done
	}
	took := time.Since(began)
	require.Zero(b, world.ObjectsLeft(b, step))
	require.EqualValues(b, n, world.Procedure(b, step).Counters[workflows.CountObjects])
	return took
}
