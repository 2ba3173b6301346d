// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
)

// beginner stages first versions as another writer does.
type beginner struct {
	store objstore.Store
	e     *enginelance.Engine
	inc   lake.Incarnation
	loc   lake.Location
}

func newBeginner(t testing.TB) *beginner {
	store, err := local.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	e, err := enginelance.New(enginelance.Options{Store: store})
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	b := &beginner{store: store, e: e, inc: lake.NewID()}
	b.loc = lake.Place(lake.TableName{Namespace: "ns", Name: "t"}, b.inc)
	return b
}

// manifest is version 1 with a fragment of rows, which change may spoil.
func (b *beginner) manifest(t testing.TB, rows int64, change func(*lancepb.Manifest, *lancepb.Transaction)) []byte {
	m, err := format.NewManifest(numberSchema, format.Commit{UUID: lake.NewID().String(), Time: time.Now()})
	require.NoError(t, err)
	pb := m.Message()
	if rows > 0 {
		f, err := format.WriteFragment(context.Background(), b.e.Folder(b.loc), m.Fields(), numberRows(t, rows))
		require.NoError(t, err)
		pb.Fragments = []*lancepb.DataFragment{f}
		m.Transaction().GetOverwrite().Fragments = pb.Fragments
	}
	if change != nil {
		change(pb, m.Transaction())
	}
	raw, err := m.Encode()
	require.NoError(t, err)
	return raw
}

func (b *beginner) propose(t testing.TB, raw []byte) engine.Proposal {
	key := b.loc.Prefix() + format.ManifestName(1) + "-" + lake.NewID().String()
	require.NoError(t, b.store.Put(context.Background(), key, raw))
	return engine.Proposal{Version: 1, Key: key, Size: int64(len(raw)), Since: time.Now().Add(-time.Hour)}
}

func TestTheFirstVersionOfAnotherWriter(t *testing.T) {
	b := newBeginner(t)
	staged, schema, err := b.e.AdoptFirst(t.Context(), b.loc, b.inc, b.propose(t, b.manifest(t, 10, nil)))
	require.NoError(t, err)
	require.True(t, schema.Equal(numberSchema), "%s", schema)
	require.Equal(t, b.inc, staged.Snapshot.Incarnation)
	require.Len(t, staged.Ops, 2)
	require.NoError(t, b.e.Publish(t.Context(), staged.Snapshot))
	d, err := b.e.Open(t.Context(), staged.Snapshot)
	require.NoError(t, err)
	require.EqualValues(t, 10, d.Rows())
	require.NoError(t, d.Close())
}

func TestFirstVersionsThatAreRefused(t *testing.T) {
	b := newBeginner(t)
	type change = func(*lancepb.Manifest, *lancepb.Transaction)
	for name, c := range map[string]struct {
		change change
		kind   lake.Kind
		says   string
	}{
		"another version": {func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Version = 2 }, lake.Conflict, "version 2"},
		"another format":  {func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.DataFormat.Version = "2.0" }, lake.Unsupported, `version "2.0"`},
		"no format":       {func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.DataFormat = nil }, lake.Unsupported, "data format"},
		"stable row ids":  {func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.ReaderFeatureFlags |= 2 }, lake.Unsupported, "stable row ids"},
		"an unknown flag": {func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.WriterFeatureFlags |= 1 << 30 }, lake.Unsupported, "1073741824"},
		"deletes versions": {func(m *lancepb.Manifest, _ *lancepb.Transaction) {
			m.Config = map[string]string{"lance.auto_cleanup.interval": "1"}
		}, lake.Unsupported, "own maintenance"},
		"our metadata": {func(m *lancepb.Manifest, _ *lancepb.Transaction) {
			m.TableMetadata = map[string]string{"lake.arrow_schema": "{}"}
		}, lake.Invalid, "lake.arrow_schema"},
		"no time":          {func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Timestamp = nil }, lake.Invalid, "timestamp"},
		"no columns":       {func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fields, m.Fragments = nil, nil }, lake.Invalid, "no columns"},
		"an append":        {func(_ *lancepb.Manifest, tx *lancepb.Transaction) { tx.Operation = &lancepb.Transaction_Append_{} }, lake.Unsupported, "append"},
		"from a version":   {func(_ *lancepb.Manifest, tx *lancepb.Transaction) { tx.ReadVersion = 7 }, lake.Invalid, "version 7"},
		"rows too many":    {func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fragments[0].PhysicalRows = 11 }, lake.Invalid, "11"},
		"a missing file":   {func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fragments[0].Files[0].Path = "none.lance" }, lake.Invalid, "none.lance"},
		"a file elsewhere": {func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fragments[0].Files[0].Path = "../../x.lance" }, lake.Invalid, ""},
	} {
		_, _, err := b.e.AdoptFirst(t.Context(), b.loc, b.inc, b.propose(t, b.manifest(t, 10, c.change)))
		require.Equal(t, c.kind, lake.KindOf(err), "%s: %v", name, err)
		require.ErrorContains(t, err, c.says, name)
	}
	p := b.propose(t, b.manifest(t, 10, nil))
	for name, change := range map[string]func(*engine.Proposal){
		"too old":   func(p *engine.Proposal) { p.Since = time.Now().Add(time.Hour) },
		"elsewhere": func(p *engine.Proposal) { p.Key = "ns/other/x.lance/_versions/1.manifest-1" },
		"missing":   func(p *engine.Proposal) { p.Key += "0" },
	} {
		q := p
		change(&q)
		_, _, err := b.e.AdoptFirst(t.Context(), b.loc, b.inc, q)
		require.Equal(t, lake.Invalid, lake.KindOf(err), "%s: %v", name, err)
	}
	p.Version = 2
	_, _, err := b.e.AdoptFirst(t.Context(), b.loc, b.inc, p)
	require.Equal(t, lake.Conflict, lake.KindOf(err), "%v", err)
}

// A first version of any bytes is refused with a kind, and never panics. Those
// that are taken can be opened.
func FuzzAdoptFirst(f *testing.F) {
	b := newBeginner(f)
	f.Add([]byte("x"))
	f.Add(b.manifest(f, 0, nil))
	f.Add(b.manifest(f, 3, nil))
	f.Add(b.manifest(f, 3, func(m *lancepb.Manifest, _ *lancepb.Transaction) { m.Fragments[0].PhysicalRows = 1 << 60 }))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := b.propose(t, raw)
		defer func() { _ = b.store.Delete(context.WithoutCancel(t.Context()), p.Key) }()
		if p.Size == 0 {
			return
		}
		staged, _, err := b.e.AdoptFirst(t.Context(), b.loc, b.inc, p)
		if err != nil {
			require.NotEqual(t, lake.Unknown, lake.KindOf(err), "%v", err)
			return
		}
		d, err := b.e.Open(t.Context(), staged.Snapshot)
		require.NoError(t, err)
		require.NoError(t, d.Close())
	})
}
