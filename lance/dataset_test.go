// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a dataset under construction.
type fixture struct {
	t  *testing.T
	st *poisonStorage
	m  *Manifest
	// mem makes all batches that are read, and must be empty at the end.
	mem *memory.CheckedAllocator
}

func vecSchema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "vec", Type: arrow.FixedSizeListOfField(3, arrow.Field{Name: "v", Type: arrow.PrimitiveTypes.Float32, Nullable: true})},
		{Name: "pose", Type: arrow.StructOf(
			arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
			arrow.Field{Name: "tags", Type: arrow.ListOf(arrow.PrimitiveTypes.Int16), Nullable: true},
		), Nullable: true},
	}, nil)
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	m, err := NewManifest(vecSchema(), testCommit())
	require.NoError(t, err)
	f := &fixture{t: t, st: newPoisonStorage(), m: m, mem: memory.NewCheckedAllocator(memory.NewGoAllocator())}
	t.Cleanup(func() {
		f.st.requireClosed(t)
		f.mem.AssertSize(t, 0)
	})
	return f
}

// rows returns the rows with ids from..from+n-1.
func rows(from, n int64) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), vecSchema())
	defer b.Release()
	for id := from; id < from+n; id++ {
		text := fmt.Sprintf(`{"id": %d, "vec": [%d, 0.5, null], "name": %q, "pose": {"x": %d, "tags": [%d, null]}}`, id, id, fmt.Sprint("row ", id), id, id%100)
		if id%5 == 4 {
			text = fmt.Sprintf(`{"id": %d, "vec": [1, 2, %d], "pose": null}`, id, id)
		}
		if err := b.UnmarshalJSON([]byte(text)); err != nil {
			panic(err)
		}
	}
	return b.NewRecordBatch()
}

func (f *fixture) write(batch arrow.RecordBatch) *lancepb.DataFragment {
	f.t.Helper()
	r, err := array.NewRecordReader(batch.Schema(), []arrow.RecordBatch{batch})
	require.NoError(f.t, err)
	defer r.Release()
	batch.Release()
	frag, err := WriteFragment(f.t.Context(), f.st, f.m.Fields(), r)
	require.NoError(f.t, err)
	return frag
}

// append adds one fragment a count.
func (f *fixture) append(counts ...int64) {
	f.t.Helper()
	at := int64(0)
	for _, frag := range f.m.Fragments() {
		at += int64(frag.GetPhysicalRows())
	}
	var frags []*lancepb.DataFragment
	for _, n := range counts {
		frags = append(frags, f.write(rows(at, n)))
		at += n
	}
	next, err := f.m.Append(frags, testCommit())
	require.NoError(f.t, err)
	f.m = f.reparse(next)
}

func (f *fixture) reparse(m *Manifest) *Manifest {
	f.t.Helper()
	back, err := ParseManifest(mustEncode(f.t, m))
	require.NoError(f.t, err)
	return back
}

func (f *fixture) open() *Dataset {
	f.t.Helper()
	files := NewFileCache(0, f.mem)
	d, err := Open(f.t.Context(), f.st, f.m, Options{Files: files, Root: "t"})
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		require.NoError(f.t, d.Close())
		require.NoError(f.t, files.Close())
	})
	return d
}

// edit changes a copy of the manifest's message.
func (f *fixture) edit(change func(pb *lancepb.Manifest)) {
	f.t.Helper()
	pb := proto.CloneOf(f.m.pb)
	change(pb)
	f.m = &Manifest{pb: pb, transaction: f.m.transaction}
}

// delete stores a deletion file for a fragment.
func (f *fixture) delete(fragment int, offsets ...uint32) {
	f.t.Helper()
	b := roaring.BitmapOf(offsets...)
	raw, kind, err := deletionFile(b)
	require.NoError(f.t, err)
	d := &lancepb.DeletionFile{FileType: kind, ReadVersion: 1, Id: 99, NumDeletedRows: b.GetCardinality()}
	name, err := deletionName(uint64(fragment), d)
	require.NoError(f.t, err)
	require.NoError(f.t, f.st.Put(context.Background(), name, raw))
	f.edit(func(pb *lancepb.Manifest) {
		pb.Fragments[fragment].DeletionFile = d
		setFlags(pb, hasDeletions(pb.GetFragments()))
	})
}

func collect(t *testing.T, d *Dataset, o ScanOptions) []string {
	t.Helper()
	s, err := d.Scan(t.Context(), o)
	require.NoError(t, err)
	defer s.Close()
	var out []string
	for {
		b, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, lines(t, b)...)
		b.Release()
	}
}

func lines(t require.TestingT, b arrow.RecordBatch) []string {
	text, err := b.MarshalJSON()
	require.NoError(t, err)
	body := strings.Trim(string(text), "[]\n")
	if b.NumRows() == 0 {
		return nil
	}
	return strings.Split(body, "\n,")
}

// want returns the rows of the ids.
func want(t require.TestingT, ids ...int64) []string {
	var out []string
	for _, id := range ids {
		b := rows(id, 1)
		out = append(out, lines(t, b)...)
		b.Release()
	}
	return out
}

func idsExcept(n int64, gone ...int64) []int64 {
	out := []int64{}
	for id := range n {
		skip := false
		for _, g := range gone {
			skip = skip || g == id
		}
		if !skip {
			out = append(out, id)
		}
	}
	return out
}

func TestScan(t *testing.T) {
	f := newFixture(t)
	f.append(30, 1, 50)
	f.append(7)
	d := f.open()
	require.EqualValues(t, 88, d.Rows())
	require.True(t, d.Schema().Equal(vecSchema()))
	require.Equal(t, "v", d.Schema().Field(2).Type.(*arrow.FixedSizeListType).ElemField().Name)
	require.Equal(t, want(t, idsExcept(88)...), collect(t, d, ScanOptions{Ordered: true}))
	require.Equal(t, want(t, idsExcept(88)...), collect(t, d, ScanOptions{Ordered: true, Parallel: 3, BatchRows: 9}))
}

func TestOpenReadsNoDataFiles(t *testing.T) {
	f := newFixture(t)
	f.append(3, 4)
	d := f.open()
	require.Zero(t, f.st.opened)
	collect(t, d, ScanOptions{})
	collect(t, d, ScanOptions{})
	require.Equal(t, 2, f.st.opened, "the second scan finds the files open")
}

func TestDeletedRows(t *testing.T) {
	f := newFixture(t)
	f.append(10, 5, 5)
	f.delete(0, 0, 3, 4, 9)
	f.delete(1, 0, 1, 2, 3, 4)
	d := f.open()
	alive := idsExcept(20, 0, 3, 4, 9, 10, 11, 12, 13, 14)
	require.EqualValues(t, len(alive), d.Rows())
	for _, n := range []int{1, 2, 3, 100} {
		require.Equal(t, want(t, alive...), collect(t, d, ScanOptions{Ordered: true, BatchRows: n}))
	}
	got, err := d.Take(t.Context(), []uint64{10, 0, 5, 5, 6, 2}, nil)
	require.NoError(t, err)
	require.Equal(t, want(t, 19, 1, 8, 8, 15, 5), lines(t, got))
	got.Release()
}

func TestDeletionBitmap(t *testing.T) {
	f := newFixture(t)
	f.append(6000)
	var gone []uint32
	for i := uint32(0); i < 6000; i++ {
		if i%1000 != 7 {
			gone = append(gone, i)
		}
	}
	f.delete(0, gone...)
	require.Equal(t, lancepb.DeletionFile_BITMAP, f.m.Fragments()[0].GetDeletionFile().GetFileType())
	require.Equal(t, want(t, 7, 1007, 2007, 3007, 4007, 5007), collect(t, f.open(), ScanOptions{Ordered: true}))
}

func TestCountsAnOldWriterLeftOut(t *testing.T) {
	f := newFixture(t)
	f.append(10, 5)
	f.delete(0, 1, 2)
	f.edit(func(pb *lancepb.Manifest) {
		for _, frag := range pb.Fragments {
			frag.PhysicalRows = 0
		}
		pb.Fragments[0].DeletionFile.NumDeletedRows = 0
	})
	d := f.open()
	require.EqualValues(t, 13, d.Rows())
	require.Equal(t, want(t, idsExcept(15, 1, 2)...), collect(t, d, ScanOptions{Ordered: true}))
}

func TestDamagedDeletionFile(t *testing.T) {
	for _, bitmap := range []bool{false, true} {
		f := newFixture(t)
		f.append(10)
		f.delete(0, 1, 2)
		name := ""
		for n := range f.st.objects {
			if strings.HasPrefix(n, deletionsDir) {
				name = n
			}
		}
		good := f.st.objects[name]
		if bitmap {
			delete(f.st.objects, name)
			good, _ = roaring.BitmapOf(1, 2).ToBytes()
			f.edit(func(pb *lancepb.Manifest) { pb.Fragments[0].DeletionFile.FileType = lancepb.DeletionFile_BITMAP })
			name = strings.TrimSuffix(name, "arrow") + "bin"
		}
		for n := range good {
			f.st.objects[name] = good[:n]
			_, err := f.open().Take(t.Context(), []uint64{0}, nil)
			require.Equal(t, lake.Corrupt, lake.KindOf(err), "cut at %d: %v", n, err)
		}
		f.st.objects[name] = good
		f.edit(func(pb *lancepb.Manifest) { pb.Fragments[0].DeletionFile.NumDeletedRows = 3 })
		_, err := f.open().Take(t.Context(), []uint64{0}, nil)
		require.ErrorContains(t, err, "deletes 2 rows, the manifest says 3")
		delete(f.st.objects, name)
		_, err = f.open().Take(t.Context(), []uint64{0}, nil)
		require.ErrorIs(t, err, ErrMissing)
	}
}

func TestMissingColumnsAreNull(t *testing.T) {
	f := newFixture(t)
	f.append(5, 3)
	f.edit(func(pb *lancepb.Manifest) {
		pb.Fields = append(pb.Fields,
			&lancepb.Field{Name: "later", Id: 40, ParentId: -1, LogicalType: "int32", Nullable: true},
			&lancepb.Field{Name: "deep", Id: 41, ParentId: -1, LogicalType: "list", Nullable: true},
			&lancepb.Field{Name: "item", Id: 42, ParentId: 41, LogicalType: "string", Nullable: true})
	})
	d := f.open()
	s, err := d.Scan(t.Context(), ScanOptions{Columns: []int{5, 0, 4}, Ordered: true})
	require.NoError(t, err)
	defer s.Close()
	b, err := s.Next(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, b.NumRows())
	require.Equal(t, 5, b.Column(0).NullN())
	require.Equal(t, 0, b.Column(1).NullN())
	require.Equal(t, 5, b.Column(2).NullN())
	require.Equal(t, "list<item: utf8, nullable>", b.Column(0).DataType().String())
	b.Release()
	got, err := d.Take(t.Context(), []uint64{7, 1}, []int{4, 0})
	require.NoError(t, err)
	require.Equal(t, []string{`{"id":7,"later":null}`, `{"id":1,"later":null}`}, lines(t, got))
	got.Release()
	// Only columns that no file has: no file needs to be opened, rows stay.
	require.Len(t, collect(t, d, ScanOptions{Columns: []int{4}}), 8)
}

func TestRenamedAndDroppedColumns(t *testing.T) {
	f := newFixture(t)
	f.append(5)
	f.edit(func(pb *lancepb.Manifest) {
		pb.Fields[0].Name = "key"
		pb.Fields = append(pb.Fields[:1:1], pb.Fields[2:]...)
	})
	require.Equal(t, []string{`{"key":0}`, `{"key":1}`, `{"key":2}`, `{"key":3}`, `{"key":4}`},
		collect(t, f.open(), ScanOptions{Columns: []int{0}, Ordered: true}))
	require.Equal(t, "v", vecSchema().Field(2).Type.(*arrow.FixedSizeListType).ElemField().Name)
	require.Equal(t, "item", f.open().Schema().Field(1).Type.(*arrow.FixedSizeListType).ElemField().Name,
		"the registered schema no longer applies")
}

func TestColumnsInSeveralFiles(t *testing.T) {
	f := newFixture(t)
	f.append(700)
	extra := []*lancepb.Field{{Name: "score", Id: 20, ParentId: -1, LogicalType: "double", Nullable: true}}
	schema := arrow.NewSchema([]arrow.Field{{Name: "score", Type: arrow.PrimitiveTypes.Float64, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer b.Release()
	for i := range 700 {
		b.Field(0).(*array.Float64Builder).Append(float64(i) / 2)
	}
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{b.NewRecordBatch()})
	require.NoError(t, err)
	defer r.Release()
	frag, err := WriteFragment(t.Context(), f.st, extra, r)
	require.NoError(t, err)
	f.edit(func(pb *lancepb.Manifest) {
		pb.Fields = append(pb.Fields, extra[0])
		pb.Fragments[0].Files = append(pb.Fragments[0].Files, frag.Files[0])
	})
	f.delete(0, 0, 699)
	d := f.open()
	got := collect(t, d, ScanOptions{Columns: []int{4, 0}, BatchRows: 64, BatchBytes: 600, Ordered: true})
	require.Len(t, got, 698)
	for i, line := range got {
		require.Equal(t, fmt.Sprintf(`{"id":%d,"score":%v}`, i+1, float64(i+1)/2), line)
	}
	taken, err := d.Take(t.Context(), []uint64{697, 0}, []int{0, 4})
	require.NoError(t, err)
	require.Equal(t, []string{`{"id":698,"score":349}`, `{"id":1,"score":0.5}`}, lines(t, taken))
	taken.Release()

	before := f.st.opened
	d2 := f.open()
	collect(t, d2, ScanOptions{Columns: []int{4}})
	require.Equal(t, before+2, f.st.opened, "the deletion file and the file of the column, not the other")
}

func TestWrongManifestEntries(t *testing.T) {
	cases := map[string]struct {
		edit func(frag *lancepb.DataFragment)
		want string
		kind lake.Kind
	}{
		"size":    {func(frag *lancepb.DataFragment) { frag.Files[0].FileSizeBytes++ }, "the manifest says", lake.Corrupt},
		"rows":    {func(frag *lancepb.DataFragment) { frag.PhysicalRows++ }, "its fragment", lake.Corrupt},
		"columns": {func(frag *lancepb.DataFragment) { frag.Files[0].ColumnIndices[0] = 100 }, "column 100", lake.Corrupt},
		"missing": {func(frag *lancepb.DataFragment) { frag.Files[0].Path = "gone.lance" }, "gone.lance", lake.Precondition},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.append(5)
			f.edit(func(pb *lancepb.Manifest) { c.edit(pb.Fragments[0]) })
			for _, parallel := range []int{0, 2} {
				s, err := f.open().Scan(t.Context(), ScanOptions{Parallel: parallel})
				require.NoError(t, err)
				_, err = s.Next(t.Context())
				require.ErrorContains(t, err, c.want)
				require.Equal(t, c.kind, lake.KindOf(err))
				_, again := s.Next(t.Context())
				require.Error(t, again, "an error ends the scan")
				require.NotErrorIs(t, again, io.EOF)
				require.NoError(t, s.Close())
			}
		})
	}
}

func TestTakeRefusesRowsThatAreNotThere(t *testing.T) {
	f := newFixture(t)
	f.append(5)
	d := f.open()
	_, err := d.Take(t.Context(), []uint64{4, 5}, nil)
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	b, err := d.Take(t.Context(), nil, nil)
	require.NoError(t, err)
	require.Zero(t, b.NumRows())
	require.EqualValues(t, 4, b.NumCols())
	b.Release()
}

func TestBatchesOutliveEverything(t *testing.T) {
	f := newFixture(t)
	f.append(2000, 2000)
	files := NewFileCache(1, f.mem)
	d, err := Open(t.Context(), f.st, f.m, Options{Files: files})
	require.NoError(t, err)
	s, err := d.Scan(t.Context(), ScanOptions{BatchRows: 500, Ordered: true})
	require.NoError(t, err)
	var kept []arrow.RecordBatch
	for {
		b, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		kept = append(kept, b)
	}
	require.NoError(t, s.Close())
	require.NoError(t, d.Close())
	require.NoError(t, files.Close())
	require.Equal(t, 2, f.st.open, "vectors and ids point into the files")
	var got []string
	for i, b := range kept {
		part := b.NewSlice(1, b.NumRows())
		first := b.NewSlice(0, 1)
		b.Release()
		got = append(got, lines(t, first)...)
		first.Release()
		got = append(got, lines(t, part)...)
		part.Release()
		if i == 3 {
			require.Equal(t, 1, f.st.open, "the first file is closed with its last batch")
		}
	}
	require.Equal(t, want(t, idsExcept(4000)...), got)
}

func TestCacheKeepsToItsBound(t *testing.T) {
	f := newFixture(t)
	f.append(1, 1, 1, 1, 1, 1)
	files := NewFileCache(2, f.mem)
	d, err := Open(t.Context(), f.st, f.m, Options{Files: files, Root: "a"})
	require.NoError(t, err)
	require.Len(t, collect(t, d, ScanOptions{}), 6)
	require.Equal(t, 2, f.st.open)
	files.Forget("b")
	require.Equal(t, 2, f.st.open)
	files.Forget("a")
	require.Zero(t, f.st.open)
	require.Len(t, collect(t, d, ScanOptions{}), 6)
	require.NoError(t, files.Close())
	require.Len(t, collect(t, d, ScanOptions{}), 6, "a closed cache keeps nothing and hinders nothing")
}

func TestEightThreadsOnOneScan(t *testing.T) {
	f := newFixture(t)
	f.append(1000, 1, 1, 1000, 500)
	f.delete(3, 5, 6, 7, 900)
	d := f.open()
	for _, o := range []ScanOptions{{BatchRows: 37}, {BatchRows: 37, Parallel: 4}, {BatchRows: 37, Ordered: true}} {
		s, err := d.Scan(t.Context(), o)
		require.NoError(t, err)
		var mu sync.Mutex
		seen := map[string]int{}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for {
					b, err := s.Next(t.Context())
					if err != nil {
						if !errors.Is(err, io.EOF) {
							t.Error(err)
						}
						return
					}
					got := lines(t, b)
					b.Release()
					mu.Lock()
					for _, line := range got {
						seen[line]++
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		require.NoError(t, s.Close())
		require.Len(t, seen, 2498)
	}
}

// TestAThreadThatStopsPullingStealsNothing: rows of a unit that one thread
// began are delivered to the others.
func TestAThreadThatStopsPullingStealsNothing(t *testing.T) {
	f := newFixture(t)
	f.append(100)
	s, err := f.open().Scan(t.Context(), ScanOptions{BatchRows: 10})
	require.NoError(t, err)
	defer s.Close()
	b, err := s.Next(t.Context())
	require.NoError(t, err)
	b.Release()
	n := int64(10)
	for {
		b, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		n += b.NumRows()
		b.Release()
	}
	require.EqualValues(t, 100, n)
}

func TestCloseDuringNext(t *testing.T) {
	f := newFixture(t)
	f.append(500, 500, 500)
	d := f.open()
	for _, parallel := range []int{0, 3} {
		for range 20 {
			s, err := d.Scan(t.Context(), ScanOptions{BatchRows: 5, Parallel: parallel})
			require.NoError(t, err)
			var wg sync.WaitGroup
			started := make(chan struct{})
			var once sync.Once
			for range 4 {
				wg.Go(func() {
					for {
						b, err := s.Next(t.Context())
						once.Do(func() { close(started) })
						if err != nil {
							if !errors.Is(err, ErrScanClosed) && !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
								t.Error(err)
							}
							return
						}
						_ = lines(t, b)
						b.Release()
					}
				})
			}
			<-started
			require.NoError(t, s.Close())
			wg.Wait()
		}
	}
}

func TestScanMatchesModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		counts := rapid.SliceOfN(rapid.Int64Range(1, 40), 1, 4).Draw(rt, "fragments")
		f.append(counts...)
		var alive []int64
		at := int64(0)
		for i, n := range counts {
			gone := rapid.SliceOfDistinct(rapid.Uint32Range(0, uint32(n-1)), rapid.ID[uint32]).Draw(rt, "deleted")
			if len(gone) > 0 {
				f.delete(i, gone...)
			}
			set := roaring.BitmapOf(gone...)
			for off := range n {
				if !set.Contains(uint32(off)) {
					alive = append(alive, at+off)
				}
			}
			at += n
		}
		files := NewFileCache(0, f.mem)
		defer files.Close()
		d, err := Open(t.Context(), f.st, f.m, Options{Files: files})
		require.NoError(rt, err)
		require.EqualValues(rt, len(alive), d.Rows())
		batch := rapid.IntRange(1, 50).Draw(rt, "batch")
		require.Equal(rt, want(rt, alive...), collect(t, d, ScanOptions{Ordered: true, BatchRows: batch}))
		if len(alive) == 0 {
			return
		}
		picks := rapid.SliceOfN(rapid.Uint64Range(0, uint64(len(alive)-1)), 1, 20).Draw(rt, "take")
		var ids []int64
		for _, p := range picks {
			ids = append(ids, alive[p])
		}
		got, err := d.Take(t.Context(), picks, nil)
		require.NoError(rt, err)
		require.Equal(rt, want(rt, ids...), lines(rt, got))
		got.Release()
	})
}

func FuzzParseDeletions(f *testing.F) {
	for _, b := range []*roaring.Bitmap{roaring.BitmapOf(1, 2, 70000), roaring.New()} {
		raw, err := deletionArrow(b.ToArray())
		require.NoError(f, err)
		f.Add(raw, false)
		b.AddRange(10, 5000)
		b.RunOptimize()
		raw, err = b.ToBytes()
		require.NoError(f, err)
		f.Add(raw, true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, bitmap bool) {
		parse := parseDeletionArrow
		if bitmap {
			parse = parseBitmap
		}
		b, err := parse(raw)
		if err == nil {
			_ = b.GetCardinality()
			return
		}
		if k := lake.KindOf(err); k != lake.Corrupt && k != lake.Unsupported {
			t.Fatalf("kind %v: %v", k, err)
		}
	})
}

// TestFlippedBits changes every bit of small files in turn: what comes of it
// is an error or other rows, never a crash.
func TestFlippedBits(t *testing.T) {
	arrowFile, err := deletionArrow([]uint32{1, 5, 9})
	require.NoError(t, err)
	bitmap, err := roaring.BitmapOf(1, 5, 9).ToBytes()
	require.NoError(t, err)
	flip := func(good []byte, parse func([]byte)) {
		for i := range good {
			for bit := range 8 {
				bad := append([]byte{}, good...)
				bad[i] ^= 1 << bit
				parse(bad)
			}
		}
	}
	flip(arrowFile, func(b []byte) { _, _ = parseDeletionArrow(b) })
	flip(bitmap, func(b []byte) { _, _ = parseBitmap(b) })
	m, err := mustManifest(t).Append([]*lancepb.DataFragment{testFragment(3, "a.lance")}, testCommit("k", "v"))
	require.NoError(t, err)
	flip(mustEncode(t, m), func(b []byte) {
		if m, err := ParseManifest(b); err == nil {
			_, _, _ = m.arrowSchemas()
		}
	})
}

func TestLZ4Deletions(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "row_id", Type: arrow.PrimitiveTypes.Uint32}}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer b.Release()
	for i := range uint32(3000) {
		b.Field(0).(*array.Uint32Builder).Append(i * 2)
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	for _, opts := range [][]ipc.Option{{ipc.WithLZ4()}, {ipc.WithZstd()}, {}} {
		var buf bytes.Buffer
		w, err := ipc.NewFileWriter(&buf, append(opts, ipc.WithSchema(schema))...)
		require.NoError(t, err)
		require.NoError(t, w.Write(rec))
		require.NoError(t, w.Close())
		got, err := parseDeletionArrow(buf.Bytes())
		require.NoError(t, err)
		require.EqualValues(t, 3000, got.GetCardinality())
		require.EqualValues(t, 5998, got.Maximum())
	}
}

// Other readers refuse a table with data files of two versions, all of it.
func TestTablesOfOtherFileVersionsTakeNoData(t *testing.T) {
	f := newFixture(t)
	f.append(5, 5)
	for _, version := range []string{"2.0", "2.2"} {
		f.edit(func(pb *lancepb.Manifest) { pb.DataFormat.Version = version })
		d := f.open()
		_, err := f.m.Append([]*lancepb.DataFragment{testFragment(1, "x.lance")}, testCommit())
		require.True(t, lake.Is(err, lake.Unsupported), "%v", err)
		require.ErrorContains(t, err, version)
		_, err = d.Compact(t.Context(), f.st, [][]int{{0, 1}}, testCommit())
		require.True(t, lake.Is(err, lake.Unsupported), "%v", err)
		_, err = d.Delete(t.Context(), f.st, []uint64{0}, "x", testCommit())
		require.NoError(t, err, "a delete adds no data file")
	}
}
