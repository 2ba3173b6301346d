// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

func testSchema() *arrow.Schema {
	md := arrow.NewMetadata([]string{"z", "a"}, []string{"1", "2"})
	return arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "at", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float32, Nullable: true}), Nullable: true},
	}, &md)
}

var testTime = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func testCommit(properties ...string) Commit {
	c := Commit{UUID: "5f0c9a39-68a5-4b1c-9ba6-4c1c57a35d7e", Time: testTime, Properties: map[string]string{}}
	for i := 0; i < len(properties); i += 2 {
		c.Properties[properties[i]] = properties[i+1]
	}
	return c
}

func testFragment(rows uint64, name string) *lancepb.DataFragment {
	return &lancepb.DataFragment{PhysicalRows: rows, Files: []*lancepb.DataFile{{
		Path: name, Fields: []int32{0, 1, 3}, ColumnIndices: []int32{0, 1, 2},
		FileMajorVersion: 2, FileMinorVersion: 1, FileSizeBytes: 4242,
	}}}
}

func mustManifest(t testing.TB) *Manifest {
	t.Helper()
	m, err := NewManifest(testSchema(), testCommit())
	require.NoError(t, err)
	return m
}

func mustEncode(t testing.TB, m *Manifest) []byte {
	t.Helper()
	raw, err := m.Encode()
	require.NoError(t, err)
	return raw
}

func TestManifestOfANewDataset(t *testing.T) {
	m := mustManifest(t)
	back, err := ParseManifest(mustEncode(t, m))
	require.NoError(t, err)
	require.EqualValues(t, 1, back.Version())
	require.Empty(t, back.Fragments())
	require.Nil(t, back.pb.MaxFragmentId)
	require.Equal(t, "2.1", back.pb.GetDataFormat().GetVersion())
	require.Equal(t, "lake", back.pb.GetWriterVersion().GetLibrary())
	require.Equal(t, testTime, back.pb.GetTimestamp().AsTime())
	overwrite := back.Transaction().GetOverwrite()
	require.Len(t, overwrite.GetSchema(), 4)
	require.Zero(t, back.Transaction().GetReadVersion())

	_, registered, err := back.arrowSchemas()
	require.NoError(t, err)
	require.Equal(t, []string{"z", "a"}, registered.Metadata().Keys(), "the order of metadata is kept")
}

func TestManifestOfAnAppend(t *testing.T) {
	one := mustManifest(t)
	two, err := one.Append([]*lancepb.DataFragment{testFragment(10, "a.lance"), testFragment(20, "b.lance")}, testCommit("key", "value"))
	require.NoError(t, err)
	three, err := two.Append([]*lancepb.DataFragment{testFragment(5, "c.lance")}, testCommit())
	require.NoError(t, err)
	again, err := two.Append([]*lancepb.DataFragment{testFragment(6, "d.lance")}, testCommit())
	require.NoError(t, err)

	back, err := ParseManifest(mustEncode(t, three))
	require.NoError(t, err)
	require.EqualValues(t, 3, back.Version())
	var ids []uint64
	for _, f := range back.Fragments() {
		ids = append(ids, f.GetId())
	}
	require.Equal(t, []uint64{0, 1, 2}, ids)
	require.EqualValues(t, 2, back.pb.GetMaxFragmentId())
	require.EqualValues(t, 2, back.Transaction().GetReadVersion())
	require.Len(t, back.Transaction().GetAppend().GetFragments(), 1)
	require.Equal(t, map[string]string{"key": "value"}, two.Transaction().GetTransactionProperties())

	// Deriving twice from one version must not let the two see each other.
	require.Equal(t, "c.lance", three.Fragments()[2].GetFiles()[0].GetPath())
	require.Equal(t, "d.lance", again.Fragments()[2].GetFiles()[0].GetPath())
	require.Len(t, two.Fragments(), 2)
	require.Empty(t, one.Fragments())

	// What was encoded bit by bit is what encoding everything at once gives.
	whole := &Manifest{pb: three.pb, transaction: three.transaction}
	require.Equal(t, mustEncode(t, whole), mustEncode(t, three))
	require.Equal(t, "d.lance", mustParse(t, mustEncode(t, again)).Fragments()[2].GetFiles()[0].GetPath())
}

func mustParse(t testing.TB, raw []byte) *Manifest {
	t.Helper()
	m, err := ParseManifest(raw)
	require.NoError(t, err)
	return m
}

func TestFragmentIDsAreNeverReused(t *testing.T) {
	m := mustManifest(t)
	m.pb.MaxFragmentId = proto.Uint32(7)
	next, err := m.Append([]*lancepb.DataFragment{testFragment(1, "a")}, testCommit())
	require.NoError(t, err)
	require.EqualValues(t, 8, next.Fragments()[0].GetId())
	// A writer that left the maximum out.
	next.pb.MaxFragmentId = nil
	next, err = next.Append([]*lancepb.DataFragment{testFragment(1, "b")}, testCommit())
	require.NoError(t, err)
	require.EqualValues(t, 9, next.Fragments()[1].GetId())
}

func TestUnknownFieldsSurviveAnAppend(t *testing.T) {
	m := mustManifest(t)
	unknown := protowire.AppendTag(nil, 77, protowire.BytesType)
	unknown = protowire.AppendString(unknown, "from the future")
	m.pb.ProtoReflect().SetUnknown(unknown)
	m.pb.Config = map[string]string{"lance.auto_cleanup.interval": "20"}
	m.indexes = []byte("\x0a\x04idx?")
	read, err := ParseManifest(mustEncode(t, m))
	require.NoError(t, err)
	next, err := read.Append([]*lancepb.DataFragment{testFragment(1, "a")}, testCommit())
	require.NoError(t, err)
	back, err := ParseManifest(mustEncode(t, next))
	require.NoError(t, err)
	require.Equal(t, unknown, []byte(back.pb.ProtoReflect().GetUnknown()))
	require.Equal(t, m.indexes, back.indexes)
	require.Equal(t, m.pb.GetConfig(), back.pb.GetConfig())
	require.NotZero(t, back.pb.GetWriterFeatureFlags()&FlagTableConfig)
	if diff := cmp.Diff(m.pb.GetFields(), back.pb.GetFields(), protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestFeatureFlags(t *testing.T) {
	cases := []struct {
		name           string
		reader, writer uint64
		parse, append  string
	}{
		{name: "none"},
		{name: "deletion files", reader: 1, writer: 1},
		{name: "config", writer: 8},
		{name: "stable row ids", reader: 2, writer: 2, append: "2 (stable row ids)"},
		{name: "base paths", reader: 16, writer: 16, append: "16 (base paths)"},
		{name: "overlays", reader: 64, parse: "64 (data overlays)"},
		{name: "future", reader: 1<<20 | 1<<40, parse: "1048576 (unknown), 1099511627776 (unknown)"},
		{name: "future writer", writer: 1 << 20, append: "1048576 (unknown)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := mustManifest(t)
			m.pb.ReaderFeatureFlags, m.pb.WriterFeatureFlags = c.reader, c.writer
			back, err := ParseManifest(mustEncode(t, m))
			if c.parse != "" {
				require.True(t, lake.Is(err, lake.Unsupported), "%v", err)
				require.ErrorContains(t, err, c.parse)
				return
			}
			require.NoError(t, err)
			_, err = back.Append(nil, testCommit())
			if c.append != "" {
				require.True(t, lake.Is(err, lake.Unsupported), "%v", err)
				require.ErrorContains(t, err, c.append)
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestDamagedManifest(t *testing.T) {
	m, err := mustManifest(t).Append([]*lancepb.DataFragment{testFragment(3, "a.lance")}, testCommit())
	require.NoError(t, err)
	good := mustEncode(t, m)
	change := func(edit func(pb *lancepb.Manifest)) []byte {
		pb := proto.CloneOf(m.pb)
		edit(pb)
		return mustEncode(t, &Manifest{pb: pb})
	}
	frag := func(edit func(f *lancepb.DataFragment)) []byte {
		return change(func(pb *lancepb.Manifest) { edit(pb.Fragments[0]) })
	}
	position := append([]byte{}, good...)
	binary.LittleEndian.PutUint64(position[len(position)-16:], 1<<63)
	cases := map[string]struct {
		raw  []byte
		kind lake.Kind
	}{
		"empty":               {nil, lake.Corrupt},
		"other magic":         {append(good[:len(good)-4:len(good)-4], "PAR1"...), lake.Corrupt},
		"position":            {position, lake.Corrupt},
		"no version":          {change(func(pb *lancepb.Manifest) { pb.Version = 0 }), lake.Corrupt},
		"legacy file":         {frag(func(f *lancepb.DataFragment) { f.Files[0].FileMajorVersion, f.Files[0].FileMinorVersion = 0, 1 }), lake.Unsupported},
		"version 2.3":         {frag(func(f *lancepb.DataFragment) { f.Files[0].FileMinorVersion = 3 }), lake.Unsupported},
		"columns":             {frag(func(f *lancepb.DataFragment) { f.Files[0].ColumnIndices = nil }), lake.Corrupt},
		"leaves the folder":   {frag(func(f *lancepb.DataFragment) { f.Files[0].Path = "../../secret" }), lake.Corrupt},
		"absolute":            {frag(func(f *lancepb.DataFragment) { f.Files[0].Path = "/etc/passwd" }), lake.Corrupt},
		"other base":          {frag(func(f *lancepb.DataFragment) { f.Files[0].BaseId = proto.Uint32(1) }), lake.Unsupported},
		"more deleted":        {frag(func(f *lancepb.DataFragment) { f.DeletionFile = &lancepb.DeletionFile{NumDeletedRows: 4} }), lake.Corrupt},
		"fragment id":         {frag(func(f *lancepb.DataFragment) { f.Id = 1 << 40 }), lake.Corrupt},
		"rows":                {frag(func(f *lancepb.DataFragment) { f.PhysicalRows = 1 << 40 }), lake.Corrupt},
		"same fragment twice": {change(func(pb *lancepb.Manifest) { pb.Fragments = append(pb.Fragments, pb.Fragments[0]) }), lake.Corrupt},
		"other format":        {change(func(pb *lancepb.Manifest) { pb.DataFormat.FileFormat = "parquet" }), lake.Unsupported},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := ParseManifest(c.raw)
			require.Error(t, err)
			require.Equal(t, c.kind, lake.KindOf(err), "%v", err)
		})
	}
	t.Run("cut anywhere", func(t *testing.T) {
		for n := range good {
			if _, err := ParseManifest(good[:n]); err == nil {
				t.Fatalf("the first %d of %d bytes parse", n, len(good))
			} else if k := lake.KindOf(err); k != lake.Corrupt && k != lake.Unsupported {
				t.Fatalf("the first %d bytes: kind %v", n, k)
			}
		}
	})
}

func FuzzParseManifest(f *testing.F) {
	one := mustManifest(f)
	two, err := one.Append([]*lancepb.DataFragment{testFragment(3, "a.lance")}, testCommit("k", "v"))
	require.NoError(f, err)
	deleted := proto.CloneOf(two.pb)
	deleted.Fragments[0].DeletionFile = &lancepb.DeletionFile{NumDeletedRows: 1}
	two = &Manifest{pb: deleted, transaction: two.transaction, indexes: []byte{}}
	f.Add(mustEncode(f, one))
	f.Add(mustEncode(f, two))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00LANC"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := ParseManifest(raw)
		if err != nil {
			if k := lake.KindOf(err); k != lake.Corrupt && k != lake.Unsupported {
				t.Fatalf("kind %v: %v", k, err)
			}
			return
		}
		// What parses encodes, and parses again to the same.
		again, err := ParseManifest(mustEncode(t, m))
		if err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(withoutSections(m), withoutSections(again)) || !proto.Equal(m.transaction, again.transaction) {
			t.Fatal("the manifest changed")
		}
		_, _, _ = m.arrowSchemas()
	})
}

// withoutSections drops the offsets, which encoding lays out anew.
func withoutSections(m *Manifest) *lancepb.Manifest {
	pb := shallow(m.pb)
	pb.IndexSection, pb.TransactionSection = nil, nil
	return pb
}

func TestNames(t *testing.T) {
	require.Equal(t, "_versions/18446744073709551614.manifest", ManifestName(1))
	for name, want := range map[string]uint64{
		"_versions/18446744073709551614.manifest": 1,
		"_versions/18446744073709551603.manifest": 12,
		"_versions/7.manifest":                    7,
		"_versions/0.manifest":                    0,
		"_versions/18446744073709551614.manifest-5f0c9a39-68a5-4b1c-9ba6-4c1c57a35d7e": 0,
		"_versions/d9223372036854775809.manifest":                                      0,
		"_versions/00000000000000000001.manifest":                                      0,
		"_versions/latest_version_hint.json":                                           0,
		"data/1.manifest":                                                              0,
	} {
		got, ok := ParseManifestName(name)
		require.Equal(t, want != 0, ok, name)
		if ok {
			require.Equal(t, want, got, name)
		}
	}
}
