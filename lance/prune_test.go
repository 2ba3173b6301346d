// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/lake/predicate"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/stats"
)

// mixedSchema has a column of each kind of statistics, and one without.
func mixedSchema() *arrow.Schema {
	null := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	return arrow.NewSchema([]arrow.Field{
		null("i", arrow.PrimitiveTypes.Int64), null("u", arrow.PrimitiveTypes.Uint64), null("f", arrow.PrimitiveTypes.Float64),
		null("s", arrow.BinaryTypes.String), null("d", &arrow.Decimal128Type{Precision: 20, Scale: 2}), null("b", arrow.FixedWidthTypes.Boolean),
		null("l", arrow.ListOf(arrow.PrimitiveTypes.Int8)),
	}, nil)
}

// mixedValues are few, so that predicates meet them.
var mixedValues = [][]any{
	{int64(math.MinInt64), int64(-1), int64(0), int64(1), int64(2), int64(math.MaxInt64)},
	{uint64(0), uint64(7), uint64(math.MaxUint64)},
	{math.NaN(), math.Inf(-1), math.Inf(1), -1.5, math.Copysign(0, -1), 0.0, 2.5},
	{"", "a", "ab", strings.Repeat("m", 64), strings.Repeat("m", 65), strings.Repeat("m", 64) + "z", strings.Repeat("\U0010ffff", 30), "zz"},
	{big.NewInt(-12345), big.NewInt(0), big.NewInt(99), new(big.Int).Lsh(big.NewInt(1), 65)},
	{int64(0), int64(1)},
	nil,
}

func anyValue(column int) *rapid.Generator[any] {
	if mixedValues[column] == nil {
		return rapid.SampledFrom([]any{nil, []int8{1}})
	}
	return rapid.OneOf(rapid.SampledFrom(mixedValues[column]), rapid.Just[any](nil))
}

// mixedBatch is a batch of rows. Within a batch, values come from a narrow
// choice, as they do in tables that are written in some order.
func mixedBatch(t *rapid.T) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), mixedSchema())
	defer b.Release()
	n := rapid.IntRange(1, 4).Draw(t, "rows")
	for c := range mixedValues {
		choice := rapid.SliceOfN(anyValue(c), 1, 2).Draw(t, "choice")
		for range n {
			appendValue(b.Field(c), rapid.SampledFrom(choice).Draw(t, "value"))
		}
	}
	return b.NewRecordBatch()
}

func appendValue(b array.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.AppendNull()
	case int64:
		if bb, ok := b.(*array.BooleanBuilder); ok {
			bb.Append(v == 1)
			return
		}
		b.(*array.Int64Builder).Append(v)
	case uint64:
		b.(*array.Uint64Builder).Append(v)
	case float64:
		b.(*array.Float64Builder).Append(v)
	case string:
		b.(*array.StringBuilder).Append(v)
	case *big.Int:
		b.(*array.Decimal128Builder).Append(decimal128.FromBigInt(v))
	default:
		b.(*array.ListBuilder).Append(true)
	}
}

// valueOf returns a value as predicates have it.
func valueOf(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Int64:
		return a.Value(i)
	case *array.Uint64:
		return a.Value(i)
	case *array.Float64:
		return a.Value(i)
	case *array.String:
		return strings.Clone(a.Value(i))
	case *array.Decimal128:
		return a.Value(i).BigInt()
	case *array.Boolean:
		if a.Value(i) {
			return int64(1)
		}
		return int64(0)
	}
	return "some list"
}

func mixedPredicate(depth, columns int) *rapid.Generator[predicate.Predicate] {
	return rapid.Custom(func(t *rapid.T) predicate.Predicate {
		c := rapid.IntRange(0, columns-1).Draw(t, "column")
		constant := func() any {
			if c >= len(mixedValues) || mixedValues[c] == nil || rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
				return "of another type"
			}
			return rapid.SampledFrom(mixedValues[c]).Draw(t, "constant")
		}
		switch rapid.IntRange(0, 4+2*min(depth, 1)).Draw(t, "kind") {
		case 0:
			return predicate.Null{Column: c}
		case 1:
			return predicate.NotNull{Column: c}
		case 2:
			return predicate.In{Column: c, Values: []any{constant(), constant()}}
		case 5:
			return predicate.And(rapid.SliceOfN(mixedPredicate(depth-1, columns), 1, 3).Draw(t, "and"))
		case 6:
			return predicate.Or(rapid.SliceOfN(mixedPredicate(depth-1, columns), 1, 3).Draw(t, "or"))
		}
		return predicate.Compare{Column: c, Op: predicate.Op(rapid.IntRange(1, 6).Draw(t, "op")), Value: constant()}
	})
}

// matching returns the rows of a scan for which the predicate holds.
func matching(t require.TestingT, s *Scan, err error, where predicate.Predicate) (rows []string, read uint64) {
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	for {
		b, err := s.Next(context.Background())
		if errors.Is(err, io.EOF) {
			slices.Sort(rows)
			return rows, read
		}
		require.NoError(t, err)
		read += uint64(b.NumRows())
		for i := range int(b.NumRows()) {
			row := func(c int) any { return valueOf(b.Column(c), i) }
			if predicate.Holds(where, row) {
				text := ""
				for c := range int(b.NumCols()) {
					text += fmt.Sprintf("%v|", row(c))
				}
				rows = append(rows, text)
			}
		}
		b.Release()
	}
}

// TestPrunedScanKeepsWhatIsWanted: over random tables with deletions, columns
// added later and a compaction, a pruned scan delivers every row for which the
// predicate holds. Some fragments must have been left out over all runs, or the
// test would prove nothing.
func TestPrunedScanKeepsWhatIsWanted(t *testing.T) {
	skipped, kept := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		st := newPoisonStorage()
		o := Options{Root: "t", Stats: NewStatsCache(1, 0), Write: WriteOptions{StatsBytes: 1}}
		m, err := NewManifest(mixedSchema(), testCommit())
		require.NoError(rt, err)
		fragments := func() {
			var made []*lancepb.DataFragment
			for range rapid.IntRange(1, 5).Draw(rt, "fragments") {
				batch := mixedBatch(rt)
				r, err := array.NewRecordReader(batch.Schema(), []arrow.RecordBatch{batch})
				require.NoError(rt, err)
				f, err := o.Write.WriteFragment(ctx, st, m.Fields()[:8], r)
				require.NoError(rt, err)
				r.Release()
				batch.Release()
				made = append(made, f)
			}
			m, err = m.Append(made, testCommit())
			require.NoError(rt, err)
		}
		open := func() *Dataset {
			d, err := Open(ctx, st, m, o)
			require.NoError(rt, err)
			return d
		}
		fragments()
		for _, step := range rapid.SliceOfN(rapid.SampledFrom([]string{"append", "delete", "add", "compact"}), 0, 3).Draw(rt, "steps") {
			d := open()
			switch step {
			case "append":
				fragments()
			case "delete":
				m, err = d.Delete(ctx, st, []uint64{uint64(rapid.IntRange(0, int(d.Rows())-1).Draw(rt, "row"))}, "", testCommit())
			case "add":
				m, err = d.AddColumns(ctx, st, []arrow.Field{{Name: fmt.Sprint("later", len(m.Fields())), Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil, testCommit())
			case "compact":
				if groups := d.PlanCompaction(CompactOptions{TargetRows: 6}); len(groups) > 0 {
					m, err = d.Compact(ctx, st, groups, testCommit())
				}
			}
			require.NoError(rt, err)
			require.NoError(rt, d.Close())
			d = open()
			rows := d.Rows()
			require.NoError(rt, d.Close())
			if rows == 0 {
				return
			}
		}
		d := open()
		defer func() { _ = d.Close() }()
		for range 5 {
			where := mixedPredicate(2, d.Schema().NumFields()).Draw(rt, "where")
			sel, err := d.Prune(ctx, where)
			require.NoError(rt, err)
			s, err := d.Scan(ctx, ScanOptions{})
			all, _ := matching(rt, s, err, where)
			s, err = sel.Scan(ctx, ScanOptions{})
			pruned, read := matching(rt, s, err, where)
			require.Equal(rt, all, pruned, "%#v", where)
			require.Equal(rt, sel.Rows(), read)
			some, none := sel.Fragments()
			kept, skipped = kept+some, skipped+none
		}
	})
	require.Greater(t, skipped, kept/4, "of %d fragments", kept+skipped)
}

// statsFixture is a table of fragments with ids 0–9, 10–19, 20–29.
func statsFixture(t *testing.T) (*fixture, Options) {
	f := newFixture(t)
	o := Options{Root: "t", Stats: NewStatsCache(1, 0), Write: WriteOptions{StatsBytes: 1}}
	for i := range int64(3) {
		batch := rows(10*i, 10)
		r, err := array.NewRecordReader(batch.Schema(), []arrow.RecordBatch{batch})
		require.NoError(t, err)
		frag, err := o.Write.WriteFragment(t.Context(), f.st, f.m.Fields(), r)
		require.NoError(t, err)
		r.Release()
		batch.Release()
		f.become(f.m.Append([]*lancepb.DataFragment{frag}, testCommit()))
	}
	return f, o
}

func (f *fixture) selected(o Options, where predicate.Predicate) (selected, skipped int) {
	f.t.Helper()
	d, err := Open(f.t.Context(), f.st, f.m, o)
	require.NoError(f.t, err)
	defer func() { require.NoError(f.t, d.Close()) }()
	sel, err := d.Prune(f.t.Context(), where)
	require.NoError(f.t, err)
	return sel.Fragments()
}

func idIs(id int64) predicate.Predicate {
	return predicate.Compare{Column: 0, Op: predicate.Equal, Value: id}
}

func TestPrune(t *testing.T) {
	f, o := statsFixture(t)
	selected, skipped := f.selected(o, idIs(12))
	require.Equal(t, []int{1, 2}, []int{selected, skipped})
	opened := f.st.opened
	selected, _ = f.selected(o, idIs(40))
	require.Zero(t, selected)
	require.Equal(t, opened, f.st.opened, "sidecars are read once")

	d, err := Open(t.Context(), f.st, f.m, o)
	require.NoError(t, err)
	defer d.Close()
	_, err = d.Prune(t.Context(), idIs(0).(predicate.Compare))
	require.NoError(t, err)
	_, err = d.Prune(t.Context(), predicate.Null{Column: 9})
	require.ErrorContains(t, err, "column 9 is not in 0..3")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.Stats = NewStatsCache(1, 0)
	cold, err := Open(t.Context(), f.st, f.m, o)
	require.NoError(t, err)
	defer cold.Close()
	_, err = cold.Prune(ctx, idIs(1))
	require.ErrorIs(t, err, context.Canceled)
}

// TestPruneWithoutGoodSidecars: whatever is wrong with a sidecar, its fragment
// is read.
func TestPruneWithoutGoodSidecars(t *testing.T) {
	f, o := statsFixture(t)
	names := []string{}
	for n := range f.st.objects {
		if strings.HasPrefix(n, statsDir) {
			names = append(names, n)
		}
	}
	require.Len(t, names, 3)
	slices.Sort(names)
	good := f.st.objects[names[0]]
	decoded, err := stats.Decode(good)
	require.NoError(t, err)
	decoded.Rows++
	for name, raw := range map[string][]byte{
		"missing": nil, "empty": {}, "cut": good[:len(good)-1], "of another file": stats.Encode(decoded),
		"too large": make([]byte, stats.MaxBytes+1), "of a later layout": append([]byte("LKST\xff\xff"), good[6:]...),
	} {
		t.Run(name, func(t *testing.T) {
			if f.st.objects[names[0]] = raw; raw == nil {
				delete(f.st.objects, names[0])
			}
			o.Stats = NewStatsCache(1, 0)
			selected, skipped := f.selected(o, idIs(40))
			require.Equal(t, []int{1, 2}, []int{selected, skipped})
		})
	}
	f.st.objects[names[0]] = good
	o.Stats = NewStatsCache(1<<20, 0)
	selected, _ := f.selected(o, idIs(40))
	require.Equal(t, 3, selected, "small files are not looked up")
	o.Stats = nil
	selected, _ = f.selected(o, idIs(40))
	require.Equal(t, 3, selected)
}

func TestStatsCacheKeepsToItsBound(t *testing.T) {
	c := NewStatsCache(0, 3000)
	for i := range 100 {
		c.put(statsKey{"r", fmt.Sprint(i)}, nil)
	}
	require.LessOrEqual(t, c.bytes, 3000)
	_, first := c.get(statsKey{"r", "0"})
	_, last := c.get(statsKey{"r", "99"})
	require.Equal(t, []bool{false, true}, []bool{first, last})
	c.Forget("r")
	require.Zero(t, c.bytes)
	require.Zero(t, c.recent.Len())
}

// TestSidecarThatCannotBeStored costs nothing but itself.
func TestSidecarThatCannotBeStored(t *testing.T) {
	f := newFixture(t)
	batch := rows(0, 10)
	defer batch.Release()
	r, err := array.NewRecordReader(batch.Schema(), []arrow.RecordBatch{batch})
	require.NoError(t, err)
	defer r.Release()
	frag, err := WriteOptions{StatsBytes: 1}.WriteFragment(t.Context(), noSidecars{f.st}, f.m.Fields(), r)
	require.NoError(t, err)
	f.become(f.m.Append([]*lancepb.DataFragment{frag}, testCommit()))
	require.Len(t, collect(t, f.open(), ScanOptions{}), 10)
}

type noSidecars struct{ *poisonStorage }

func (s noSidecars) Put(ctx context.Context, name string, data []byte) error {
	if strings.HasPrefix(name, statsDir) {
		return errors.New("no room")
	}
	return s.poisonStorage.Put(ctx, name, data)
}

// TestSweepTakesSidecarsWithTheirData: the sidecars of kept files stay.
func TestSweepTakesSidecarsWithTheirData(t *testing.T) {
	f, o := statsFixture(t)
	before := f.m
	d, err := Open(t.Context(), f.st, f.m, o)
	require.NoError(t, err)
	f.become(d.Compact(t.Context(), f.st, [][]int{{0, 1}}, testCommit()))
	require.NoError(t, d.Close())
	require.NoError(t, f.st.Put(t.Context(), "_lake/other/thing", nil))
	sweep := func(keep ...*Manifest) (names []string) {
		for info, err := range Sweep(t.Context(), f.st, SweepOptions{Keep: keep, Before: time.Now().Add(time.Hour)}) {
			require.NoError(t, err)
			names = append(names, info.Name)
		}
		return names
	}
	require.Empty(t, sweep(before, f.m))
	var want []string
	for _, frag := range before.Fragments()[:2] {
		path := frag.GetFiles()[0].GetPath()
		want = append(want, StatsName(path), dataDir+path)
	}
	require.ElementsMatch(t, want, sweep(f.m))
	require.True(t, slices.IsSorted(sweep(f.m)))
}
