// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter_test

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/services/query/rowfilter"
)

// pieces is a source of ready batches, which looks at each column of a glance
// before it hands a batch out.
type pieces struct {
	batches []arrow.RecordBatch
	glanced int // batches left out
}

func (p *pieces) Schema() *arrow.Schema { return p.batches[0].Schema() }
func (p *pieces) Rows() uint64          { return 0 }

func (p *pieces) Scan(_ context.Context, o storage.ScanOptions) (storage.Scan, error) {
	return &piecesScan{p: p, o: o}, nil
}

type piecesScan struct {
	p  *pieces
	o  storage.ScanOptions
	mu sync.Mutex
	at int
}

func (s *piecesScan) Close() error { return nil }

func (s *piecesScan) Next(context.Context) (arrow.RecordBatch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; s.at < len(s.p.batches); s.at++ {
		if g := s.o.Glance; g != nil && !g.Wanted(columnsOf(s.p.batches[s.at], g.Columns)) {
			s.p.glanced++
			continue
		}
		s.at++
		return columnsOf(s.p.batches[s.at-1], s.o.Columns), nil
	}
	return nil, io.EOF
}

func columnsOf(b arrow.RecordBatch, columns []int) arrow.RecordBatch {
	picked := make([]arrow.Array, len(columns))
	for i, c := range columns {
		picked[i] = b.Column(c)
	}
	return array.NewRecordBatch(storage.Project(b.Schema(), columns), picked, b.NumRows())
}

// sorted makes a table of numbers in a column of a type, with the row's number
// beside it.
func sorted(t *testing.T, dt arrow.DataType, values []float64, batch int) *pieces {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "row", Type: arrow.PrimitiveTypes.Int32}, {Name: "v", Type: dt, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	p := &pieces{}
	for i, v := range values {
		b.Field(0).(*array.Int32Builder).Append(int32(i))
		switch f := b.Field(1).(type) {
		case *array.Float64Builder:
			f.Append(v)
		case *array.Float32Builder:
			f.Append(float32(v))
		case *array.Int8Builder:
			f.Append(int8(v))
		case *array.Int64Builder:
			f.Append(int64(v))
		case *array.Uint16Builder:
			f.Append(uint16(int64(v)))
		case *array.Uint64Builder:
			f.Append(uint64(int64(v) + 1_000))
		case *array.TimestampBuilder:
			f.Append(arrow.Timestamp(int64(v)))
		}
		if i%11 == 5 {
			// The last one is a null instead.
			f := b.NewRecordBatch()
			p.batches = append(p.batches, f.NewSlice(0, f.NumRows()-1))
			b.Field(0).(*array.Int32Builder).Append(int32(i))
			b.Field(1).AppendNull()
		}
	}
	p.batches = append(p.batches, b.NewRecordBatch())
	r := array.NewTableReader(array.NewTableFromRecords(schema, p.batches), int64(batch))
	p.batches = nil
	for r.Next() {
		rec := r.RecordBatch()
		rec.Retain()
		p.batches = append(p.batches, rec)
	}
	return p
}

// place compares values as SQL sorts them: nulls last, NaN above all.
func place(a arrow.Array, i int, descending bool) float64 {
	v := math.NaN()
	switch a := a.(type) {
	case *array.Float64:
		v = a.Value(i)
	case *array.Float32:
		v = float64(a.Value(i))
	case *array.Int8:
		v = float64(a.Value(i))
	case *array.Int64:
		v = float64(a.Value(i))
	case *array.Uint16:
		v = float64(a.Value(i))
	case *array.Uint64:
		v = float64(a.Value(i))
	case *array.Timestamp:
		v = float64(a.Value(i))
	}
	switch {
	case math.IsNaN(v):
		v = math.Inf(1)
	case math.IsInf(v, 1):
		v = math.MaxFloat64
	}
	if descending {
		v = -v
	}
	if a.IsNull(i) {
		v = math.Inf(1)
	}
	return v
}

func TestTheFirstRowsAreThere(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	shapes := map[string]func(i int) float64{
		"random":  func(int) float64 { return float64(random.IntN(200) - 100) },
		"rising":  func(i int) float64 { return float64(i) / 40 },
		"falling": func(i int) float64 { return float64(-i) / 40 },
		"odd": func(i int) float64 {
			return []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 1, -1}[i%7]
		},
		"equal": func(int) float64 { return 3 },
	}
	types := []arrow.DataType{
		arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint64, arrow.FixedWidthTypes.Timestamp_us,
	}
	for shape, value := range shapes {
		values := make([]float64, 4_000)
		for i := range values {
			values[i] = value(i)
		}
		for _, dt := range types {
			if shape == "odd" && dt.ID() != arrow.FLOAT32 && dt.ID() != arrow.FLOAT64 {
				continue
			}
			for _, order := range []rowfilter.Order{{Column: 1, Rows: 1}, {Column: 1, Rows: 10, Descending: true}, {Column: 1, Rows: 90}, {Column: 1, Rows: 5_000, Descending: true}} {
				p := sorted(t, dt, values, 300)
				require.True(t, rowfilter.Sortable(dt))
				got := rowsOf(t, rowfilter.NewFirst(p, order))
				var all []float64
				for _, b := range p.batches {
					for i := range int(b.NumRows()) {
						all = append(all, place(b.Column(1), i, order.Descending))
					}
				}
				slices.Sort(all)
				last := all[min(order.Rows, len(all))-1]
				for _, b := range p.batches {
					for i := range int(b.NumRows()) {
						if place(b.Column(1), i, order.Descending) <= last {
							require.True(t, got[b.Column(0).(*array.Int32).Value(i)], "%s of %s, %+v: row %d is missing", shape, dt, order, b.Column(0).(*array.Int32).Value(i))
						}
					}
				}
				if shape == "falling" && order.Descending && order.Rows == 10 && dt.ID() == arrow.INT64 {
					require.Less(t, len(got), 1_000, "hardly any row was left out")
					require.Positive(t, p.glanced, "no batch was left unread")
				}
			}
		}
	}
}

// rowsOf reads a table with two threads, as an engine does.
func rowsOf(t *testing.T, s rowfilter.Source) map[int32]bool {
	t.Helper()
	rows, err := s.Scan(t.Context(), storage.ScanOptions{})
	require.NoError(t, err)
	got := map[int32]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				b, err := rows.Next(t.Context())
				if errors.Is(err, io.EOF) {
					return
				}
				mu.Lock()
				for _, i := range b.Column(0).(*array.Int32).Int32Values() {
					got[i] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return got
}
