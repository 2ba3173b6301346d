// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"container/heap"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	storage "github.com/lakeplane/lake/engine"
)

// Order is what a statement sorts the rows of a table by, and how many of the
// first it wants. Nulls come last.
type Order struct {
	// Column is the one it sorts by first.
	Column     int
	Descending bool
	// Rows is how many it wants, at least 1.
	Rows int
}

// MostFirst is the largest Order.Rows that is worth remembering.
const MostFirst = 4096

// Sortable reports whether the order of a column's values is known here to be
// the one of SQL.
func Sortable(dt arrow.DataType) bool {
	switch dt.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT32, arrow.FLOAT64, arrow.DATE32, arrow.TIMESTAMP:
		return true
	}
	return false
}

// First is a source without rows that are certainly not among the first. As a
// scan goes on it knows ever better ones, and a row that comes after as many of
// them as are wanted is left out. Rows that are equal to the last of those stay:
// what they are sorted by next is not looked at.
type First struct {
	Source
	order Order
}

// NewFirst returns a source as an order leaves it. The column must be
// [Sortable].
func NewFirst(s Source, o Order) *First { return &First{Source: s, order: o} }

// Scan starts one pass over the rows.
func (f *First) Scan(ctx context.Context, opts storage.ScanOptions) (storage.Scan, error) {
	opts, err := opts.Check(f.Schema())
	if err != nil {
		return nil, err
	}
	at := slices.Index(opts.Columns, f.order.Column)
	if at < 0 {
		return f.Source.Scan(ctx, opts)
	}
	best := &best{wanted: f.order.Rows, descending: f.order.Descending}
	if len(opts.Columns) > 1 {
		opts.Glance = &storage.Glance{Columns: []int{f.order.Column}, Wanted: func(batch arrow.RecordBatch) bool {
			return best.any(batch.Column(0))
		}}
	}
	inner, err := f.Source.Scan(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &scan{Scan: inner, filter: topRows{at, best}}, nil
}

// topRows is a narrower that learns from what it sees, each row of a scan once.
type topRows struct {
	at   int
	best *best
}

func (t topRows) narrow(batch arrow.RecordBatch, rows []int32) []int32 {
	ranks := t.best.ranks(batch.Column(t.at))
	rows = atLeast(rows, ranks, t.best.least.Load())
	if t.best.offer(rows, ranks) {
		rows = atLeast(rows, ranks, t.best.least.Load())
	}
	return rows
}

func atLeast(rows []int32, ranks []uint64, least uint64) []int32 {
	n := 0
	for _, i := range rows {
		rows[n] = i
		if ranks[i] >= least {
			n++
		}
	}
	return rows[:n]
}

// best are the ranks of the first rows that a scan has seen. A rank is the place
// of a value in the order, the larger the sooner; that of null is 0.
type best struct {
	wanted     int
	descending bool
	least      atomic.Uint64 // the last of the wanted ranks, 0 until there are as many

	mu   sync.Mutex
	seen ranks
}

// ranks is a heap with the last of them on top.
type ranks []uint64

func (r ranks) Len() int           { return len(r) }
func (r ranks) Less(i, j int) bool { return r[i] < r[j] }
func (r ranks) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ranks) Push(v any)        { *r = append(*r, v.(uint64)) }
func (r *ranks) Pop() any          { panic("never popped") }

// lookAt is how many rows of a batch are looked at for each that is wanted. Any
// will do, and some are at the ends of a batch that is sorted by itself.
const lookAt = 4

// offer takes note of rows, which it may see only once, and reports whether it
// has learnt anything.
func (b *best) offer(rows []int32, ranks []uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.least.Load()
	each := lookAt * b.wanted
	if len(rows) <= 2*each {
		b.add(rows, ranks)
	} else {
		b.add(rows[:each], ranks)
		b.add(rows[len(rows)-each:], ranks)
	}
	if len(b.seen) == b.wanted {
		b.least.Store(b.seen[0])
	}
	return b.least.Load() > before
}

func (b *best) add(rows []int32, ranks []uint64) {
	for _, i := range rows {
		switch r := ranks[i]; {
		case len(b.seen) < b.wanted:
			heap.Push(&b.seen, r)
		case r > b.seen[0]:
			b.seen[0] = r
			heap.Fix(&b.seen, 0)
		}
	}
}

// any reports whether a value may be among the first. It takes no note of any.
func (b *best) any(column arrow.Array) bool {
	least := b.least.Load()
	return least == 0 || slices.ContainsFunc(b.ranks(column), func(r uint64) bool { return r >= least })
}

// ranks of a column's values, which are [Sortable].
func (b *best) ranks(column arrow.Array) []uint64 {
	out := make([]uint64, column.Len())
	switch c := column.(type) {
	case *array.Int8:
		rankIntegers(out, c.Int8Values())
	case *array.Int16:
		rankIntegers(out, c.Int16Values())
	case *array.Int32:
		rankIntegers(out, c.Int32Values())
	case *array.Int64:
		rankIntegers(out, c.Int64Values())
	case *array.Uint8:
		rankNaturals(out, c.Uint8Values())
	case *array.Uint16:
		rankNaturals(out, c.Uint16Values())
	case *array.Uint32:
		rankNaturals(out, c.Uint32Values())
	case *array.Uint64:
		rankNaturals(out, c.Uint64Values())
	case *array.Date32:
		rankIntegers(out, c.Date32Values())
	case *array.Timestamp:
		rankIntegers(out, c.TimestampValues())
	case *array.Float32:
		rankReals(out, c.Float32Values())
	case *array.Float64:
		rankReals(out, c.Float64Values())
	default:
		for i := range out {
			out[i] = math.MaxUint64 // unknown, and so wanted
		}
		return out
	}
	if !b.descending {
		for i := range out {
			out[i] = ^out[i]
		}
	}
	if column.NullN() > 0 {
		for i := range out {
			if column.IsNull(i) {
				out[i] = 0
			}
		}
	}
	return out
}

func rankIntegers[T ~int8 | ~int16 | ~int32 | ~int64](out []uint64, values []T) {
	for i, v := range values {
		out[i] = uint64(int64(v)) ^ 1<<63
	}
}

func rankNaturals[T ~uint8 | ~uint16 | ~uint32 | ~uint64](out []uint64, values []T) {
	for i, v := range values {
		out[i] = uint64(v)
	}
}

// rankReals follows SQL: zeros are equal, and NaN is above all.
func rankReals[T float32 | float64](out []uint64, values []T) {
	for i, v := range values {
		f := float64(v) + 0 // -0 becomes 0
		bits := math.Float64bits(f)
		switch {
		case f != f: //nolint:gocritic // NaN
			out[i] = math.MaxUint64
		case bits>>63 == 1:
			out[i] = ^bits
		default:
			out[i] = bits | 1<<63
		}
	}
}
