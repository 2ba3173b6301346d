// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

// become makes the next version current.
func (f *fixture) become(next *Manifest, err error) {
	f.t.Helper()
	require.NoError(f.t, err)
	require.Equal(f.t, f.m.Version()+1, next.Version())
	f.m = f.reparse(next)
}

// doubled computes the column "twice" from the column "id".
func doubled(in arrow.RecordBatch) (arrow.RecordBatch, error) {
	s := arrow.NewSchema([]arrow.Field{{Name: "twice", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), s)
	defer b.Release()
	for _, id := range in.Column(0).(*array.Int64).Int64Values() {
		b.Field(0).(*array.Int64Builder).Append(2 * id)
	}
	return b.NewRecordBatch(), nil
}

func twiceField() arrow.Field {
	return arrow.Field{Name: "twice", Type: arrow.PrimitiveTypes.Int64, Nullable: true}
}

func TestDelete(t *testing.T) {
	f := newFixture(t)
	f.append(10, 5, 5)
	f.become(f.open().Delete(t.Context(), f.st, []uint64{3, 19, 3, 10, 11, 12, 13, 14}, "id in (3, …)", testCommit()))
	change := f.m.Transaction().GetDelete()
	require.Equal(t, []uint64{1}, change.GetDeletedFragmentIds())
	require.Len(t, change.GetUpdatedFragments(), 2)
	require.EqualValues(t, FlagDeletionFiles, f.m.pb.GetReaderFeatureFlags())
	require.Equal(t, want(t, idsExcept(20, 3, 19, 10, 11, 12, 13, 14)...), collect(t, f.open(), ScanOptions{Ordered: true}))

	// Live row 3 is now row 4 of the file.
	f.become(f.open().Delete(t.Context(), f.st, []uint64{3}, "", testCommit()))
	require.Equal(t, want(t, idsExcept(20, 3, 4, 19, 10, 11, 12, 13, 14)...), collect(t, f.open(), ScanOptions{Ordered: true}))

	all := make([]uint64, f.open().Rows())
	for i := range all {
		all[i] = uint64(i)
	}
	f.become(f.open().Delete(t.Context(), f.st, all, "true", testCommit()))
	require.Zero(t, f.open().Rows())
	require.Zero(t, f.m.pb.GetReaderFeatureFlags()&FlagDeletionFiles)
	require.EqualValues(t, 2, f.m.pb.GetMaxFragmentId(), "ids of fragments that went are not used again")
	f.append(3)
	require.EqualValues(t, 3, f.m.Fragments()[0].GetId())

	_, err := f.open().Delete(t.Context(), f.st, []uint64{3}, "", testCommit())
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
}

func TestPlanCompaction(t *testing.T) {
	f := newFixture(t)
	f.append(10, 10, 50, 10, 60, 10, 10, 30)
	f.delete(4, 1, 2, 3, 4, 5, 6, 7)
	plan := func(o CompactOptions) string { return fmt.Sprint(f.open().PlanCompaction(o)) }
	require.Equal(t, "[[0 1 2 3 4 5 6 7]]", plan(CompactOptions{}))
	require.Equal(t, "[[0 1] [4] [5 6 7]]", plan(CompactOptions{TargetRows: 50}))
	require.Equal(t, "[[4]]", plan(CompactOptions{TargetRows: 10}))
	require.Equal(t, "[]", plan(CompactOptions{TargetRows: 10, DeletedShare: 0.5}))
	require.Equal(t, "[[4]]", plan(CompactOptions{TargetBytes: 1}))
}

func TestCompact(t *testing.T) {
	f := newFixture(t)
	f.append(10, 10, 50, 10, 60, 10, 10, 30)
	f.become(f.open().Delete(t.Context(), f.st, []uint64{0, 75, 76, 77, 78, 79, 80, 81, 189}, "", testCommit()))
	before := collect(t, f.open(), ScanOptions{Ordered: true})
	d := f.open()
	f.become(d.Compact(t.Context(), f.st, d.PlanCompaction(CompactOptions{TargetRows: 60}), testCommit()))
	require.Equal(t, before, collect(t, f.open(), ScanOptions{Ordered: true}))
	rewrite := f.m.Transaction().GetRewrite()
	require.NotEmpty(t, rewrite.GetGroups())
	ids := map[uint64]bool{}
	for _, frag := range f.m.Fragments() {
		require.False(t, ids[frag.GetId()])
		ids[frag.GetId()] = true
	}
	require.Empty(t, f.open().PlanCompaction(CompactOptions{TargetRows: 60}), "a compacted table needs no compaction")

	for name, groups := range map[string][][]int{
		"empty": {}, "empty group": {{}}, "gap": {{0, 2}}, "twice": {{0, 1}, {1, 2}}, "outside": {{7, 8}}, "descending": {{1}, {0}}, "negative": {{-1, 0}},
	} {
		_, err := d.Compact(t.Context(), f.st, groups, testCommit())
		require.True(t, lake.Is(err, lake.Invalid), "%s: %v", name, err)
	}
}

func TestRewriteMeetsOtherChanges(t *testing.T) {
	f := newFixture(t)
	f.append(10, 10, 10, 10)
	f.delete(1, 0, 5)
	base := f.m
	r, err := f.open().Rewrite(t.Context(), f.st, [][]int{{0, 1}, {2, 3}})
	require.NoError(t, err)
	before, after := r.Fragments()
	require.Equal(t, []int{4, 2}, []int{before, after})

	f.append(5) // an append commutes
	f.become(f.m.ApplyRewrite(r, testCommit()))
	require.Equal(t, want(t, idsExcept(45, 10, 15)...), collect(t, f.open(), ScanOptions{Ordered: true}))
	require.Len(t, f.m.Fragments(), 3)
	require.EqualValues(t, 6, f.m.pb.GetMaxFragmentId())
	_, err = f.m.ApplyRewrite(r, testCommit())
	require.True(t, lake.Is(err, lake.Conflict), "applied twice: %v", err)

	for name, change := range map[string]func() (*Manifest, error){
		"delete": func() (*Manifest, error) { return f.open().Delete(t.Context(), f.st, []uint64{9}, "", testCommit()) },
		"rename": func() (*Manifest, error) { return f.open().RenameColumn(0, "key", testCommit()) },
		"add": func() (*Manifest, error) {
			return f.open().AddColumns(t.Context(), f.st, []arrow.Field{twiceField()}, nil, testCommit())
		},
	} {
		f.m = base
		f.become(change())
		_, err := f.m.ApplyRewrite(r, testCommit())
		require.True(t, lake.Is(err, lake.Conflict), "%s: %v", name, err)
	}
}

func TestCompactRefusesIndexes(t *testing.T) {
	f := newFixture(t)
	f.append(1, 1)
	raw, err := proto.Marshal(&lancepb.IndexSection{Indices: []*lancepb.IndexMetadata{{Name: "by id"}}})
	require.NoError(t, err)
	f.m.indexes = raw
	_, err = f.open().Compact(t.Context(), f.st, [][]int{{0, 1}}, testCommit())
	require.True(t, lake.Is(err, lake.Unsupported), "%v", err)
	_, err = f.open().DropColumns([]int{0}, testCommit())
	require.True(t, lake.Is(err, lake.Unsupported), "%v", err)
}

func TestCompactToNothing(t *testing.T) {
	f := newFixture(t)
	f.append(2, 3)
	f.delete(0, 0, 1)
	f.become(f.open().Compact(t.Context(), f.st, [][]int{{0}}, testCommit()))
	require.Equal(t, want(t, 2, 3, 4), collect(t, f.open(), ScanOptions{Ordered: true}))
	require.Len(t, f.m.Fragments(), 1)
}

func TestAddColumns(t *testing.T) {
	f := newFixture(t)
	f.append(10, 5)
	f.delete(0, 0, 7)
	note := arrow.Field{Name: "note", Type: arrow.StructOf(arrow.Field{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true}), Nullable: true}
	f.become(f.open().AddColumns(t.Context(), f.st, []arrow.Field{note}, nil, testCommit()))
	f.become(f.open().AddColumns(t.Context(), f.st, []arrow.Field{twiceField()}, &Backfill{Columns: []int{0}, Compute: doubled}, testCommit()))
	d := f.open()
	require.Equal(t, "v", d.Schema().Field(2).Type.(*arrow.FixedSizeListType).ElemField().Name, "the registered schema is carried along")
	for i, line := range collect(t, d, ScanOptions{Columns: []int{0, 4, 5}, Ordered: true}) {
		id := idsExcept(15, 0, 7)[i]
		require.Equal(t, fmt.Sprintf(`{"id":%d,"note":null,"twice":%d}`, id, 2*id), line)
	}
	ids := map[int32]bool{}
	for _, field := range f.m.Fields() {
		require.False(t, ids[field.GetId()], "field id %d is used twice", field.GetId())
		ids[field.GetId()] = true
	}
	// A compaction joins the files.
	f.become(d.Compact(t.Context(), f.st, [][]int{{0, 1}}, testCommit()))
	require.Len(t, f.m.Fragments()[0].GetFiles(), 1)
	require.Len(t, collect(t, f.open(), ScanOptions{Columns: []int{5}}), 13)
}

func TestAddColumnsRefuses(t *testing.T) {
	f := newFixture(t)
	f.append(10)
	d := f.open()
	required := arrow.Field{Name: "must", Type: arrow.PrimitiveTypes.Int8}
	_, err := d.AddColumns(t.Context(), f.st, []arrow.Field{required}, nil, testCommit())
	require.ErrorContains(t, err, "must")
	_, err = d.AddColumns(t.Context(), f.st, []arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int8, Nullable: true}}, nil, testCommit())
	require.True(t, lake.Is(err, lake.Invalid), "a name that is taken: %v", err)
	objects := len(f.st.objects)
	broken := errors.New("broken")
	for name, compute := range map[string]func(arrow.RecordBatch) (arrow.RecordBatch, error){
		"fails": func(arrow.RecordBatch) (arrow.RecordBatch, error) { return nil, broken },
		"too few rows": func(in arrow.RecordBatch) (arrow.RecordBatch, error) {
			part := in.NewSlice(1, in.NumRows())
			defer part.Release()
			return doubled(part)
		},
	} {
		_, err = d.AddColumns(t.Context(), f.st, []arrow.Field{twiceField()}, &Backfill{Columns: []int{0}, Compute: compute}, testCommit())
		require.Error(t, err, name)
		require.Len(t, f.st.objects, objects, "nothing is left behind")
	}
}

func TestDropAndRename(t *testing.T) {
	f := newFixture(t)
	f.append(4)
	f.become(f.open().AddColumns(t.Context(), f.st, []arrow.Field{twiceField()}, &Backfill{Columns: []int{0}, Compute: doubled}, testCommit()))
	f.become(f.open().RenameColumn(0, "key", testCommit()))
	f.become(f.open().DropColumns([]int{1, 2, 3}, testCommit()))
	require.Equal(t, []string{`{"key":0,"twice":0}`, `{"key":1,"twice":2}`, `{"key":2,"twice":4}`, `{"key":3,"twice":6}`}, collect(t, f.open(), ScanOptions{Ordered: true}))
	require.Len(t, f.m.Fragments()[0].GetFiles(), 2)
	f.become(f.open().DropColumns([]int{1}, testCommit()))
	require.Len(t, f.m.Fragments()[0].GetFiles(), 1, "a file of dropped columns only leaves the manifest")

	// The same name again is another column: old values stay gone.
	again := vecSchema().Field(1)
	f.become(f.open().AddColumns(t.Context(), f.st, []arrow.Field{again}, nil, testCommit()))
	require.Equal(t, []string{`{"key":0,"name":null}`, `{"key":1,"name":null}`, `{"key":2,"name":null}`, `{"key":3,"name":null}`}, collect(t, f.open(), ScanOptions{Ordered: true}))

	d := f.open()
	for _, err := range []error{
		second(d.DropColumns([]int{0, 1}, testCommit())), second(d.DropColumns([]int{2}, testCommit())),
		second(d.RenameColumn(2, "x", testCommit())), second(d.RenameColumn(0, "name", testCommit())), second(d.RenameColumn(0, "", testCommit())),
	} {
		require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestTags(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	require.NoError(t, CreateTag(ctx, f.st, Tag{Name: "v1.0", Version: 3, ManifestSize: 100}))
	require.NoError(t, CreateTag(ctx, f.st, Tag{Name: "a", Version: 1, ManifestSize: 90}))
	require.True(t, lake.Is(CreateTag(ctx, f.st, Tag{Name: "a", Version: 2, ManifestSize: 90}), lake.AlreadyExists))
	tags, err := Tags(ctx, f.st)
	require.NoError(t, err)
	require.Equal(t, []Tag{{Name: "a", Version: 1, ManifestSize: 90}, {Name: "v1.0", Version: 3, ManifestSize: 100}}, tags)
	require.JSONEq(t, `{"branch":null,"version":1,"manifestSize":90}`, string(f.st.objects["_refs/tags/a.json"]))
	require.NoError(t, DeleteTag(ctx, f.st, "a"))
	require.NoError(t, DeleteTag(ctx, f.st, "a"))
	f.st.objects["_refs/tags/bad.json"] = []byte("{")
	_, err = Tags(ctx, f.st)
	require.True(t, lake.Is(err, lake.Corrupt), "%v", err)
	for _, name := range []string{"", ".a", "a.", "a..b", "a.lock", "a/b", "../x", "é", strings.Repeat("a", 129)} {
		require.True(t, lake.Is(CreateTag(ctx, f.st, Tag{Name: name, Version: 1, ManifestSize: 1}), lake.Invalid), "%q", name)
		require.True(t, lake.Is(DeleteTag(ctx, f.st, name), lake.Invalid), "%q", name)
	}
}

func TestSweep(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	keep := map[uint64]*Manifest{}
	publish := func() {
		require.NoError(t, f.m.Write(ctx, f.st))
		keep[f.m.Version()] = f.m
	}
	publish()
	f.append(10, 10)
	publish()
	f.become(f.open().Delete(ctx, f.st, []uint64{1}, "", testCommit()))
	publish()
	f.become(f.open().Compact(ctx, f.st, [][]int{{0, 1}}, testCommit()))
	publish()
	f.append(5)
	publish()
	for _, name := range []string{
		"data/orphan.lance", "data/orphan.stats", "_lake/x", "_versions/18446744073709551000.manifest-1234",
		ManifestName(5) + "-5678", ManifestName(9), "_versions/latest_version_hint.json", "_transactions/1-x.txn", "_indices/u/index.idx",
	} {
		f.st.objects[name] = []byte("x")
	}
	sweep := func(o SweepOptions) (names []string, err error) {
		for info, err := range Sweep(ctx, f.st, o) {
			if err != nil {
				return nil, err
			}
			names = append(names, info.Name)
		}
		return names, nil
	}
	now := time.Now()
	gone, err := sweep(SweepOptions{Keep: []*Manifest{keep[5], keep[3]}, KeepNames: []string{ManifestName(5) + "-5678"}, Before: now})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		ManifestName(4), ManifestName(2), ManifestName(1), "data/orphan.lance", "_versions/18446744073709551000.manifest-1234", "_transactions/1-x.txn",
	}, gone)
	for _, name := range gone {
		require.NoError(t, f.st.Delete(ctx, name))
	}
	for v, rows := range map[uint64]int{5: 24, 3: 19} {
		f.m = keep[v]
		require.Len(t, collect(t, f.open(), ScanOptions{}), rows, "version %d", v)
	}

	gone, err = sweep(SweepOptions{Keep: []*Manifest{keep[5]}, Before: now})
	require.NoError(t, err)
	require.Len(t, slices.DeleteFunc(slices.Clone(gone), func(n string) bool { return !strings.HasPrefix(n, dataDir) }), 2)
	require.Len(t, slices.DeleteFunc(slices.Clone(gone), func(n string) bool { return !strings.HasPrefix(n, deletionsDir) }), 1)

	gone, err = sweep(SweepOptions{Keep: []*Manifest{keep[5]}, Before: time.Time{}})
	require.NoError(t, err)
	require.Empty(t, gone, "without an age limit nothing goes")
	_, err = sweep(SweepOptions{Before: now})
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
}
