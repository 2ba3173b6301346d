// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package lance_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/objstore/local"
)

const (
	// versionGroup is how many appends of one row share a version.
	versionGroup = 4
	// versionsPerTable keeps the number of fragments about what is asked for.
	versionsPerTable = 50
	// fillAtOnce keeps the record of a version that fills a table small.
	fillAtOnce = 500
)

// BenchmarkVersion makes versions as the metadata server does, on files and in a
// metastore of the process: it stages data and a version, commits it, and
// publishes it, all of it durable. Compare only runs in directories of fresh
// block groups (TMPDIR below one with chattr +T).
func BenchmarkVersion(b *testing.B) {
	shapes := []struct {
		name   string
		schema *arrow.Schema
		row    string
	}{
		{"episode", episodeSchema, `{"robot_id": "arm-7", "episode": 7, "reward": 0.5}`},
		{"telemetry", telemetrySchema, `{"id": 7, "robot": "arm-7", "ts": "2026-11-30 12:00:00Z", "skill": 3, "x": 0.5, "y": null, "ok": true, "note": "dropped"}`},
	}
	for _, shape := range shapes {
		for _, fragments := range []int{10, 300, 3_000} {
			b.Run(fmt.Sprintf("%s/fragments=%d", shape.name, fragments), func(b *testing.B) {
				v := newVersions(b, shape.schema, shape.row)
				var cpu time.Duration
				b.ReportAllocs()
				for i := range b.N {
					if i%versionsPerTable == 0 {
						b.StopTimer()
						cpu += v.used()
						v.create(fragments)
						v.begin()
						b.StartTimer()
					}
					v.version()
				}
				b.StopTimer()
				cpu += v.used()
				b.ReportMetric(float64(cpu)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

var (
	episodeSchema = arrow.NewSchema([]arrow.Field{
		{Name: "robot_id", Type: arrow.BinaryTypes.String},
		{Name: "episode", Type: arrow.PrimitiveTypes.Int64},
		{Name: "reward", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	telemetrySchema = arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "robot", Type: arrow.BinaryTypes.String},
		{Name: "ts", Type: arrow.FixedWidthTypes.Timestamp_us},
		{Name: "skill", Type: arrow.PrimitiveTypes.Int32},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64},
		{Name: "y", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "ok", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
)

// versions makes versions of one table after the other.
type versions struct {
	b       *testing.B
	e       *lance.Engine
	filling *lance.Engine // shares nothing with e but the store, and holds no rows
	catalog *catalog.Catalog
	fence   catalog.Fence
	table   catalog.Table
	row     arrow.RecordBatch
	tables  int
	since   time.Duration // the processor time used until begin
}

func newVersions(b *testing.B, s *arrow.Schema, row string) *versions {
	dir := b.TempDir()
	objects, err := local.Open(filepath.Join(dir, "objects"))
	require.NoError(b, err)
	store, err := pebble.Open(filepath.Join(dir, "metastore"), pebble.Options{})
	require.NoError(b, err)
	e, err := lance.New(lance.Options{Store: objects})
	require.NoError(b, err)
	filling, err := lance.New(lance.Options{Store: objects, HoldBytes: -1})
	require.NoError(b, err)
	b.Cleanup(func() {
		require.NoError(b, errors.Join(e.Close(), filling.Close()))
		require.NoError(b, store.Close())
		require.NoError(b, objects.Close())
	})
	v := &versions{b: b, e: e, filling: filling, catalog: catalog.New(store, catalog.Options{}), fence: lead(b, store)}
	builder := array.NewRecordBuilder(memory.NewGoAllocator(), s)
	defer builder.Release()
	require.NoError(b, builder.UnmarshalJSON([]byte(row)))
	v.row = builder.NewRecordBatch()
	v.begin()
	return v
}

// lead has this process elected and returns its fence.
func lead(b *testing.B, store metastore.Store) catalog.Fence {
	won := make(chan struct{})
	election, err := catalog.NewElection(store, catalog.ElectionOptions{
		Exclusive: true, Logger: slog.New(slog.DiscardHandler), Observe: func(e catalog.ElectionEvent) {
			if e == catalog.CampaignWon {
				close(won)
			}
		},
	})
	require.NoError(b, err)
	ctx, resign := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { election.Run(ctx) })
	b.Cleanup(func() { resign(); running.Wait() })
	<-won
	fence, err := election.Fence()
	require.NoError(b, err)
	return fence
}

// create makes a table with a number of fragments.
func (v *versions) create(fragments int) {
	v.tables++
	name, inc := lake.TableName{Namespace: "bench", Name: fmt.Sprintf("t%d", v.tables)}, lake.NewID()
	staged, err := v.e.Create(v.b.Context(), lake.Place(name, inc), inc, v.row.Schema())
	require.NoError(v.b, err)
	v.table, err = v.catalog.Create(v.b.Context(), v.fence,
		catalog.Table{Name: name, Snapshot: staged.Snapshot, Schema: []byte("schema")}, staged.Ops)
	require.NoError(v.b, err)
	require.NoError(v.b, v.e.Publish(v.b.Context(), v.table.Snapshot))
	// One file that all fragments share: it is not read.
	one := v.stage(v.filling)
	for left := fragments; left > 0; left -= fillAtOnce {
		adds := make([]engine.Append, min(left, fillAtOnce))
		for i := range adds {
			adds[i].Data = one
		}
		v.commit(adds, nil)
	}
}

func (v *versions) stage(e *lance.Engine) engine.Data {
	rows, err := array.NewRecordReader(v.row.Schema(), []arrow.RecordBatch{v.row})
	if err != nil {
		v.b.Fatal(err)
	}
	defer rows.Release()
	data, err := e.StageData(v.b.Context(), v.table.Snapshot.Location, v.row.Schema(), rows)
	if err != nil {
		v.b.Fatal(err)
	}
	return data
}

// version makes one version of a group of appends.
func (v *versions) version() {
	adds := make([]engine.Append, versionGroup)
	operations := make([]catalog.Operation, versionGroup)
	for i := range adds {
		id := lake.NewID()
		operations[i] = catalog.Operation{Tenant: "default", ID: id, Digest: lake.Digest(append(id[:], id[:]...)), Rows: 1}
		adds[i] = engine.Append{
			Operation: engine.Operation{Tenant: operations[i].Tenant, ID: id, Digest: operations[i].Digest}, Data: v.stage(v.e),
		}
	}
	v.commit(adds, operations)
}

func (v *versions) commit(adds []engine.Append, operations []catalog.Operation) {
	ctx := v.b.Context()
	staged, err := v.e.StageAppend(ctx, v.table.Snapshot, adds)
	if err != nil {
		v.b.Fatal(err)
	}
	if v.table, err = v.catalog.Advance(ctx, v.fence, v.table, staged.Snapshot, staged.Ops, operations); err != nil {
		v.b.Fatal(err)
	}
	if err := v.e.Publish(ctx, v.table.Snapshot); err != nil {
		v.b.Fatal(err)
	}
}

func (v *versions) begin() { v.since = processorTime(v.b) }

// used is the processor time since begin.
func (v *versions) used() time.Duration { return processorTime(v.b) - v.since }

func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(unix.TimevalToNsec(u.Utime) + unix.TimevalToNsec(u.Stime))
}
