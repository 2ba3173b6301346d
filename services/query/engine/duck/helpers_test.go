// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"bytes"
	"context"
	"flag"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/services/query/engine"
)

func TestMain(m *testing.M) {
	// Random schemas are slow to bind; -rapid.checks=1000 asks for more.
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// memTable is a table of ready batches that records how it is read.
type memTable struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	rows    uint64

	onNext func(ctx context.Context, batch int) error // called before each batch

	// forged, if set, is the only batch, served as it is.
	forged arrow.RecordBatch

	mu          sync.Mutex
	projections [][]int
	served      atomic.Int64 // batches
	open        atomic.Int64 // scans not closed
	pulling     atomic.Int64
	mostPulling atomic.Int64
}

func newTable(schema *arrow.Schema, batches ...arrow.RecordBatch) *memTable {
	t := &memTable{schema: schema, batches: batches}
	for _, b := range batches {
		t.rows += uint64(b.NumRows())
	}
	return t
}

func (t *memTable) Schema() *arrow.Schema { return t.schema }
func (t *memTable) Rows() uint64          { return t.rows }

func (t *memTable) Scan(_ context.Context, opts storage.ScanOptions) (storage.Scan, error) {
	t.mu.Lock()
	t.projections = append(t.projections, opts.Columns)
	t.mu.Unlock()
	t.open.Add(1)
	return &memScan{table: t, columns: opts.Columns}, nil
}

func (t *memTable) lastProjection() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.projections) == 0 {
		return nil
	}
	return t.projections[len(t.projections)-1]
}

type memScan struct {
	table   *memTable
	columns []int
	next    atomic.Int64
}

func (s *memScan) Next(ctx context.Context) (arrow.RecordBatch, error) {
	t := s.table
	if n := t.pulling.Add(1); n > t.mostPulling.Load() {
		t.mostPulling.Store(n)
	}
	defer t.pulling.Add(-1)
	i := int(s.next.Add(1)) - 1
	if t.forged != nil && i == 0 {
		return t.forged, nil
	}
	if t.onNext != nil {
		if err := t.onNext(ctx, i); err != nil {
			return nil, err
		}
	}
	if i >= len(t.batches) {
		return nil, io.EOF
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.served.Add(1)
	return project(t.schema, t.batches[i], s.columns), nil
}

func (s *memScan) Close() error { s.table.open.Add(-1); return nil }

func project(schema *arrow.Schema, b arrow.RecordBatch, columns []int) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	cols := make([]arrow.Array, len(columns))
	for i, c := range columns {
		fields[i], cols[i] = schema.Field(c), b.Column(c)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, b.NumRows())
}

// jsonBatch builds a batch from JSON rows.
func jsonBatch(t testing.TB, schema *arrow.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	b, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	require.NoError(t, err)
	return b
}

func newEngine(t testing.TB, opts Options) *Engine {
	t.Helper()
	if opts.Memory == 0 {
		opts.Memory = 512 << 20
	}
	if opts.Slots == 0 {
		opts.Slots = 1
	}
	e, err := New(opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, e.Close())
		e.lost.Wait()
		require.Zero(t, slots.size(), "slots left")
		require.Zero(t, scans.size(), "scans left")
		require.Zero(t, locals.size(), "batches left")
	})
	return e
}

func tables(pairs ...any) map[engine.Name]engine.Table {
	m := map[engine.Name]engine.Table{}
	for i := 0; i < len(pairs); i += 2 {
		m[engine.Name{Namespace: "ns", Table: pairs[i].(string)}] = pairs[i+1].(engine.Table)
	}
	return m
}

// collect runs a statement and returns its batches, after checking that they
// have the planned schema.
func collect(t testing.TB, e *Engine, req engine.Request) ([]arrow.RecordBatch, *arrow.Schema) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	plan, err := e.Plan(ctx, req)
	require.NoError(t, err)
	var out []arrow.RecordBatch
	err = e.Execute(ctx, req, func(b arrow.RecordBatch) error {
		require.Equal(t, schemaBytes(t, plan.Schema), schemaBytes(t, b.Schema()), "planned %s\nexecuted %s", plan.Schema, b.Schema())
		b.Retain()
		out = append(out, b)
		return nil
	})
	require.NoError(t, err)
	return out, plan.Schema
}

func ask(t testing.TB, e *Engine, sql string, pairs ...any) ([]arrow.RecordBatch, *arrow.Schema) {
	t.Helper()
	return collect(t, e, engine.Request{SQL: sql, Tables: tables(pairs...)})
}

// rowsJSON is the whole result as one JSON array.
func rowsJSON(t testing.TB, batches []arrow.RecordBatch) string {
	t.Helper()
	out := "["
	for _, b := range batches {
		js, err := b.MarshalJSON()
		require.NoError(t, err)
		if len(js) > 2 {
			if len(out) > 1 {
				out += ","
			}
			out += string(js[1 : len(js)-1])
		}
	}
	return out + "]"
}

// schemaBytes is the schema as an IPC message: what a client compares.
func schemaBytes(t testing.TB, s *arrow.Schema) []byte {
	t.Helper()
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(s))
	require.NoError(t, w.Close())
	return b.Bytes()
}
