// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lakeplane/lake/engine"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
)

// stranger is another writer of the format in a table of the engine.
type stranger struct {
	t     *testing.T
	store objstore.Store
	e     *enginelance.Engine
	base  lake.Snapshot
}

var numberSchema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

func numberRows(t testing.TB, n int64) array.RecordReader {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range n {
		b.Append(i)
	}
	batch := array.NewRecordBatch(numberSchema, []arrow.Array{b.NewArray()}, n)
	r, err := array.NewRecordReader(numberSchema, []arrow.RecordBatch{batch})
	require.NoError(t, err)
	return r
}

// newStranger makes a table of version 2 with two fragments of ten rows, of one
// of which two are deleted.
func newStranger(t *testing.T) *stranger {
	store, err := local.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	e, err := enginelance.New(enginelance.Options{Store: store})
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	inc := lake.NewID()
	staged, err := e.Create(t.Context(), "ns/t/"+lake.Location(inc.String())+".lance", inc, numberSchema)
	require.NoError(t, err)
	s := &stranger{t: t, store: store, e: e, base: staged.Snapshot}
	require.NoError(t, e.Publish(t.Context(), s.base))
	s.mustAdopt(s.propose(s.append(10, 10), nil))
	s.mustAdopt(s.propose(s.delete(1, 2), nil))
	return s
}

// folder is that of the table, as another writer has it.
func (s *stranger) folder() format.Storage { return s.e.Folder(s.base.Location) }

func (s *stranger) manifest() *format.Manifest {
	m, err := format.ReadManifest(s.t.Context(), s.folder(), uint64(s.base.Version))
	require.NoError(s.t, err)
	return m
}

func (s *stranger) commit() format.Commit {
	return format.Commit{UUID: lake.NewID().String(), Time: time.Now()}
}

// append makes the next version with more fragments of the given rows.
func (s *stranger) append(rows ...int64) *format.Manifest {
	m := s.manifest()
	var fragments []*lancepb.DataFragment
	for _, n := range rows {
		f, err := format.WriteFragment(s.t.Context(), s.folder(), m.Fields(), numberRows(s.t, n))
		require.NoError(s.t, err)
		fragments = append(fragments, f)
	}
	next, err := m.Append(fragments, s.commit())
	require.NoError(s.t, err)
	return next
}

func (s *stranger) open() *format.Dataset {
	d, err := format.Open(s.t.Context(), s.folder(), s.manifest(), format.Options{})
	require.NoError(s.t, err)
	return d
}

func (s *stranger) delete(rows ...uint64) *format.Manifest {
	next, err := s.open().Delete(s.t.Context(), s.folder(), rows, "n", s.commit())
	require.NoError(s.t, err)
	return next
}

func (s *stranger) compact() *format.Manifest {
	next, err := s.open().Compact(s.t.Context(), s.folder(), [][]int{{0, 1}}, s.commit())
	require.NoError(s.t, err)
	return next
}

// propose stages a version after changing its message.
func (s *stranger) propose(m *format.Manifest, change func(*lancepb.Manifest, *lancepb.Transaction)) engine.Proposal {
	raw, err := m.Encode()
	require.NoError(s.t, err)
	if change != nil {
		again, err := format.ParseManifest(raw)
		require.NoError(s.t, err)
		change(again.Message(), again.Transaction())
		raw, err = again.Encode()
		require.NoError(s.t, err)
	}
	return s.stage(m.Version(), raw)
}

func (s *stranger) stage(version uint64, raw []byte) engine.Proposal {
	key := s.base.Location.Prefix() + format.ManifestName(version) + "-" + lake.NewID().String()
	require.NoError(s.t, s.store.Put(s.t.Context(), key, raw))
	return engine.Proposal{Version: lake.Version(version), Key: key, Size: int64(len(raw)), Since: time.Now().Add(-time.Hour)}
}

func (s *stranger) mustAdopt(p engine.Proposal) {
	staged, err := s.e.Adopt(s.t.Context(), s.base, p)
	require.NoError(s.t, err)
	require.Len(s.t, staged.Ops, 2)
	s.base = staged.Snapshot
	require.NoError(s.t, s.e.Publish(s.t.Context(), s.base))
	held, err := s.e.Holds(s.t.Context(), s.base, p)
	require.NoError(s.t, err)
	require.True(s.t, held)
}

func TestVersionsOfOthersAreTaken(t *testing.T) {
	s := newStranger(t)
	s.mustAdopt(s.propose(s.append(5), nil))
	s.mustAdopt(s.propose(s.delete(0, 9), nil))
	s.mustAdopt(s.propose(s.compact(), nil))
	d, err := s.e.Open(t.Context(), s.base)
	require.NoError(t, err)
	require.EqualValues(t, 21, d.Rows())
	require.NoError(t, d.Close())
	// Lake goes on from there.
	data, err := s.e.StageData(t.Context(), s.base.Location, numberSchema, numberRows(t, 3))
	require.NoError(t, err)
	_, err = s.e.StageAppend(t.Context(), s.base, []engine.Append{{Operation: engine.Operation{ID: lake.NewID()}, Data: data}})
	require.NoError(t, err)
}

// A writer that missed the answer makes another version of the same transaction.
func TestATransactionIsTakenOnce(t *testing.T) {
	s := newStranger(t)
	first := s.append(5)
	id, read := first.Transaction().GetUuid(), first.Transaction().GetReadVersion()
	s.mustAdopt(s.propose(first, nil))
	for range 2 { // at once, and after another version
		again := s.propose(s.append(5), func(_ *lancepb.Manifest, tx *lancepb.Transaction) { tx.Uuid, tx.ReadVersion = id, read })
		_, err := s.e.Adopt(t.Context(), s.base, again)
		require.True(t, lake.Is(err, lake.Invalid), "%v", err)
		require.ErrorContains(t, err, "is version 4 already")
		s.mustAdopt(s.propose(s.append(1), nil))
	}
}

// Each of these is refused, by what it says, and leaves nothing behind but what
// the stranger staged.
func TestWhatIsNotTakenFromOthers(t *testing.T) {
	type edit = func(*lancepb.Manifest, *lancepb.Transaction)
	last := func(m *lancepb.Manifest) *lancepb.DataFragment { return m.Fragments[len(m.Fragments)-1] }
	for name, c := range map[string]struct {
		make func(*stranger) *format.Manifest
		edit edit
		kind lake.Kind
		says string
	}{
		"another version": {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Version++ }, kind: lake.Conflict, says: "is of version 5"},
		"an unknown flag": {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.WriterFeatureFlags |= 1 << 20 }, kind: lake.Unsupported, says: "1048576 (unknown)"},
		"stable row ids": {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) {
			m.ReaderFeatureFlags |= 2
			m.WriterFeatureFlags |= 2
		}, kind: lake.Unsupported, says: "stable row ids"},
		"other columns":  {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fields[0].Name = "m" }, kind: lake.Invalid, says: "change columns by Lake"},
		"another type":   {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fields[0].LogicalType = "int32" }, kind: lake.Invalid, says: "columns"},
		"other metadata": {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.TableMetadata = map[string]string{"a": "b"} }, kind: lake.Invalid, says: "metadata"},
		"auto cleanup": {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) {
			m.Config = map[string]string{"lance.auto_cleanup.interval": "1"}
		}, kind: lake.Invalid, says: "configuration"},
		"another data format":        {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.DataFormat.Version = "2.0" }, kind: lake.Invalid, says: "data format"},
		"no timestamp":               {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Timestamp = (*timestamppb.Timestamp)(nil) }, kind: lake.Invalid, says: "timestamp"},
		"ids go back":                {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.MaxFragmentId = proto.Uint32(0) }, kind: lake.Invalid, says: "never used again"},
		"a future transaction":       {edit: func(_ *lancepb.Manifest, tx *lancepb.Transaction) { tx.ReadVersion = 99 }, kind: lake.Invalid, says: "not there yet"},
		"a missing transaction file": {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.TransactionFile = "3-x.txn" }, kind: lake.Invalid, says: "3-x.txn"},
		"a path that leaves":         {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.TransactionFile = "../x" }, kind: lake.Invalid, says: "not allowed"},
		"an overwrite": {edit: func(_ *lancepb.Manifest, tx *lancepb.Transaction) {
			tx.Operation = &lancepb.Transaction_Overwrite_{Overwrite: &lancepb.Transaction_Overwrite{}}
		}, kind: lake.Unsupported, says: "kind overwrite"},
		"a restore": {edit: func(_ *lancepb.Manifest, tx *lancepb.Transaction) {
			tx.Operation = &lancepb.Transaction_Restore_{Restore: &lancepb.Transaction_Restore{Version: 1}}
		}, kind: lake.Unsupported, says: "kind restore"},
		"an unknown operation":     {edit: func(_ *lancepb.Manifest, tx *lancepb.Transaction) { tx.Operation = nil }, kind: lake.Unsupported, says: "kind unknown"},
		"a lost fragment":          {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fragments = m.Fragments[1:] }, kind: lake.Invalid, says: "loses 1 of the fragments"},
		"a changed fragment":       {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fragments[0].Files = last(m).Files }, kind: lake.Invalid, says: "other data files"},
		"deletions undone":         {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fragments[0].DeletionFile = nil }, kind: lake.Invalid, says: "changes the deletions"},
		"more rows than are there": {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { last(m).PhysicalRows = 6 }, kind: lake.Invalid, says: "it has 5 rows"},
		"another size":             {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { last(m).Files[0].FileSizeBytes++ }, kind: lake.Invalid, says: "bytes"},
		"a missing file":           {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { last(m).Files[0].Path = "none.lance" }, kind: lake.Invalid, says: "none.lance"},
		"a file elsewhere":         {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { last(m).Files[0].Path = "../../x.lance" }, kind: lake.Invalid, says: "not allowed"},
		"no file":                  {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { last(m).Files = nil }, kind: lake.Invalid, says: "no data file"},
		"an id twice":              {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { last(m).Id = 0 }, kind: lake.Invalid, says: "twice"},
		"a huge count":             {edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { last(m).PhysicalRows = math.MaxUint64 }, kind: lake.Invalid, says: "32-bit"},
		"a delete that adds": {edit: func(_ *lancepb.Manifest, tx *lancepb.Transaction) {
			tx.Operation = &lancepb.Transaction_Delete_{Delete: &lancepb.Transaction_Delete{}}
		}, kind: lake.Invalid, says: "delete adds"},
		"an index that adds": {edit: func(_ *lancepb.Manifest, tx *lancepb.Transaction) {
			tx.Operation = &lancepb.Transaction_CreateIndex_{CreateIndex: &lancepb.Transaction_CreateIndex{}}
		}, kind: lake.Invalid, says: "create index adds"},
		"rows that come back":        {make: func(s *stranger) *format.Manifest { return s.delete(0) }, edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fragments[0].DeletionFile = nil }, kind: lake.Invalid, says: "come back"},
		"a wrong count of deletions": {make: func(s *stranger) *format.Manifest { return s.delete(0) }, edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fragments[0].DeletionFile.NumDeletedRows++ }, kind: lake.Invalid, says: "it deletes 3 rows"},
		"a missing deletion file":    {make: func(s *stranger) *format.Manifest { return s.delete(0) }, edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fragments[0].DeletionFile.Id++ }, kind: lake.Invalid, says: "_deletions/"},
		"a compaction that loses rows": {make: (*stranger).compact, edit: func(m *lancepb.Manifest, _ *lancepb.Transaction) {
			m.Fragments = m.Fragments[:0]
		}, kind: lake.Invalid, says: "rows are rewritten"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStranger(t)
			next := s.append
			if c.make == nil {
				c.make = func(*stranger) *format.Manifest { return next(5) }
			}
			before := s.base
			_, err := s.e.Adopt(t.Context(), s.base, s.propose(c.make(s), c.edit))
			require.Equal(t, c.kind, lake.KindOf(err), "%v", err)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, before, s.base)
		})
	}
}

func TestProposalsThatAreNone(t *testing.T) {
	s := newStranger(t)
	good := s.propose(s.append(5), nil)
	for name, c := range map[string]struct {
		p    func(engine.Proposal) engine.Proposal
		kind lake.Kind
	}{
		"taken":          {func(p engine.Proposal) engine.Proposal { p.Version--; return p }, lake.Conflict},
		"ahead":          {func(p engine.Proposal) engine.Proposal { p.Version++; return p }, lake.Conflict},
		"elsewhere":      {func(p engine.Proposal) engine.Proposal { p.Key = "ns/other/x.manifest-1"; return p }, lake.Invalid},
		"the final name": {func(p engine.Proposal) engine.Proposal { p.Key, _, _ = strings.Cut(p.Key, "-"); return p }, lake.Invalid},
		"a folder":       {func(p engine.Proposal) engine.Proposal { p.Key += "/x"; return p }, lake.Invalid},
		"missing":        {func(p engine.Proposal) engine.Proposal { p.Key += "0"; return p }, lake.Invalid},
		"another size":   {func(p engine.Proposal) engine.Proposal { p.Size++; return p }, lake.Invalid},
		"too large":      {func(p engine.Proposal) engine.Proposal { p.Size = 1 << 40; return p }, lake.Invalid},
		"too old":        {func(p engine.Proposal) engine.Proposal { p.Since = time.Now().Add(time.Hour); return p }, lake.Invalid},
		"no manifest":    {func(engine.Proposal) engine.Proposal { return s.stage(4, []byte("hello, this is no manifest")) }, lake.Invalid},
	} {
		_, err := s.e.Adopt(t.Context(), s.base, c.p(good))
		require.Equal(t, c.kind, lake.KindOf(err), "%s: %v", name, err)
	}
	s.mustAdopt(good)
}

// A proposal of any bytes is refused with a kind, and never panics.
func FuzzAdopt(f *testing.F) {
	f.Add([]byte("x"))
	store, err := local.Open(f.TempDir())
	require.NoError(f, err)
	e, err := enginelance.New(enginelance.Options{Store: store})
	require.NoError(f, err)
	inc := lake.NewID()
	staged, err := e.Create(f.Context(), "ns/t/f.lance", inc, numberSchema)
	require.NoError(f, err)
	raw, err := objstore.ReadAll(f.Context(), store, "ns/t/f.lance/"+staged.Snapshot.Manifest.Path, 1<<20)
	require.NoError(f, err)
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		key := staged.Snapshot.Location.Prefix() + format.ManifestName(2) + "-" + lake.NewID().String()
		require.NoError(t, store.Put(t.Context(), key, raw))
		defer func() { _ = store.Delete(context.WithoutCancel(t.Context()), key) }()
		_, err := e.Adopt(t.Context(), staged.Snapshot, engine.Proposal{Version: 2, Key: key, Since: time.Now().Add(-time.Hour)})
		if err != nil {
			require.NotEqual(t, lake.Unknown, lake.KindOf(err), "%v", err)
		}
	})
}
