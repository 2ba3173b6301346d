// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	storage "github.com/lakeplane/lake/engine"
)

// fleeting is a table whose batches are made for the reader and overwritten as
// soon as it lets go of them.
type fleeting struct {
	schema      *arrow.Schema
	rows, batch int
	make        func(from, to int) arrow.RecordBatch
}

func (f *fleeting) Schema() *arrow.Schema { return f.schema }
func (f *fleeting) Rows() uint64          { return uint64(f.rows) }

func (f *fleeting) Scan(_ context.Context, opts storage.ScanOptions) (storage.Scan, error) {
	return &fleetingScan{f: f, columns: opts.Columns}, nil
}

type fleetingScan struct {
	f       *fleeting
	columns []int
	mu      sync.Mutex
	at      int
}

func (s *fleetingScan) Close() error { return nil }

func (s *fleetingScan) Next(context.Context) (arrow.RecordBatch, error) {
	s.mu.Lock()
	from := s.at
	to := min(from+s.f.batch, s.f.rows)
	s.at = to
	s.mu.Unlock()
	if from == to {
		return nil, io.EOF
	}
	whole := s.f.make(from, to)
	defer whole.Release()
	return project(s.f.schema, whole, s.columns), nil
}

// spoiling overwrites what is freed.
type spoiling struct{ memory.Allocator }

func (s spoiling) Free(b []byte) {
	for i := range b {
		b[i] = 0xdb
	}
}

// numbersTable has columns of every width, with and without nulls, the second
// of which begin at an offset.
func numbersTable(rows, batch int) *fleeting {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "a", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
		{Name: "b", Type: arrow.PrimitiveTypes.Uint16, Nullable: true},
		{Name: "c", Type: arrow.PrimitiveTypes.Int32},
		{Name: "d", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "seen", Type: arrow.FixedWidthTypes.Timestamp_us},
		{Name: "s", Type: arrow.BinaryTypes.String},
	}, nil)
	f := &fleeting{schema: schema, rows: rows, batch: batch}
	f.make = func(from, to int) arrow.RecordBatch {
		b := array.NewRecordBuilder(spoiling{memory.DefaultAllocator}, schema)
		defer b.Release()
		const skip = 5
		for i := from - skip; i < to; i++ {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
			if i%7 == 0 {
				b.Field(1).AppendNull()
				b.Field(4).AppendNull()
			} else {
				b.Field(1).(*array.Int8Builder).Append(int8(i % 100))
				b.Field(4).(*array.Float64Builder).Append(float64(i) / 4)
			}
			b.Field(2).(*array.Uint16Builder).Append(uint16(i))
			b.Field(3).(*array.Int32Builder).Append(int32(i % 1_000 * -1))
			b.Field(5).(*array.TimestampBuilder).Append(arrow.Timestamp(int64(i) * 1_000_003))
			b.Field(6).(*array.StringBuilder).Append(fmt.Sprintf("value number %d", i%500))
		}
		whole := b.NewRecordBatch()
		defer whole.Release()
		return whole.NewSlice(skip, whole.NumRows())
	}
	return f
}

// TestLentColumnsAreThoseThatAreCopied reads rows where they lie, and, from
// batches that are too small for it, by copies. Operators that keep rows must
// have copied them before the next batch.
func TestLentColumnsAreThoseThatAreCopied(t *testing.T) {
	require.True(t, canLend(), "a vector of the linked DuckDB is larger than expected")
	const rows = 20_000
	e := newEngine(t, Options{Threads: 2})
	for _, sql := range []string{
		"SELECT count(*), sum(id), sum(a), count(a), sum(b), min(c), sum(d), count(d), max(seen), max(s) FROM ns.t",
		"SELECT * FROM ns.t ORDER BY id",
		"SELECT * FROM ns.t WHERE c < -500 AND d IS NOT NULL ORDER BY id",
		"SELECT id, d, s FROM ns.t ORDER BY d DESC NULLS LAST, id LIMIT 300",
		"SELECT id, lag(d, 3) OVER (ORDER BY id), sum(b) OVER (ORDER BY id ROWS 5 PRECEDING) FROM ns.t ORDER BY id",
		"SELECT sum(r), count(l) FROM (SELECT row_number() OVER () AS r, lag(b) OVER () AS l FROM ns.t)",
		"SELECT a.id, b.d, b.seen FROM ns.t a JOIN ns.t b ON a.id = b.id + 1 WHERE a.c > -20 ORDER BY ALL",
		"SELECT a.c, count(b.id) FROM ns.t a LEFT JOIN ns.t b ON a.id = b.b + 10_000 GROUP BY a.c, a.c + 1 ORDER BY ALL",
		"SELECT c, d, count(*) FROM ns.t GROUP BY ALL ORDER BY ALL",
		"SELECT count(DISTINCT id), count(DISTINCT seen), approx_count_distinct(b) FROM ns.t",
		"WITH m AS MATERIALIZED (SELECT id, d, b FROM ns.t) SELECT x.id, y.d FROM m x JOIN m y ON x.id = y.b WHERE x.id < 900 ORDER BY ALL",
		"SELECT id FROM ns.t UNION SELECT b FROM ns.t ORDER BY ALL",
		"SELECT id, a, d FROM ns.t WHERE id IN (SELECT b FROM ns.t WHERE c = -7) ORDER BY ALL",
		"SELECT list(id ORDER BY id), median(d), quantile_cont(d, 0.3) FROM ns.t WHERE b < 100",
		"SELECT id, unnest([a, b]) AS u FROM ns.t WHERE c = -3 ORDER BY ALL",
		"SELECT any_value(c) FILTER (WHERE id = 77), arg_max(seen, d), string_agg(b, ',' ORDER BY b) FILTER (WHERE c = -9) FROM ns.t",
		"SELECT x FROM (SELECT id + d AS x FROM ns.t LIMIT 20_000) ORDER BY x",
		"SELECT (SELECT max(b.d) FROM ns.t b WHERE b.c = a.c) AS m, a.id FROM ns.t a WHERE a.id < 40 ORDER BY ALL",
	} {
		copied, _ := ask(t, e, sql, "t", numbersTable(rows, 200))
		for _, batch := range []int{3_000, 2_048, 257} {
			lent, _ := ask(t, e, sql, "t", numbersTable(rows, batch))
			require.Equal(t, linesOf(t, copied), linesOf(t, lent), "batches of %d: %s", batch, sql)
		}
	}
}

func linesOf(t *testing.T, batches []arrow.RecordBatch) []string {
	return strings.SplitAfter(rowsJSON(t, batches), "},")
}
