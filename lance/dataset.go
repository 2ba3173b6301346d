// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"errors"
	"sort"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

// Options says how to open a dataset.
type Options struct {
	// Files is a cache to share. Without one the dataset has its own, of the
	// default size.
	Files *FileCache
	// Root tells apart datasets that share a cache. Two datasets with the same
	// root must have the same storage.
	Root string
	// Stats is a cache of statistics to share, for [Dataset.Prune]; without one
	// it selects everything.
	Stats *StatsCache
	// Write is how compactions and new columns are written.
	Write WriteOptions
}

// Dataset reads one version. It is safe for concurrent use.
type Dataset struct {
	manifest   *Manifest
	view       view
	files      *FileCache
	ownFiles   bool
	stats      *StatsCache // or nil
	write      WriteOptions
	stored     *arrow.Schema   // what data files are read as
	registered *arrow.Schema   // what batches have
	rootIDs    []int32         // field ids of the top-level columns
	rootOf     map[int32]int32 // top-level column of every field
	fragments  []*fragment
	rows       uint64
}

// fragment is a run of rows.
type fragment struct {
	pb    *lancepb.DataFragment
	rows  uint64 // in its files
	live  uint64 // not deleted
	first uint64 // live rows before it

	mu      sync.Mutex
	loaded  bool
	deleted *roaring.Bitmap // nil when none; immutable once loaded
}

// Open returns the rows of a version. It reads no data file, except where an
// old writer left row counts out of the manifest.
func Open(ctx context.Context, st Opener, m *Manifest, o Options) (*Dataset, error) {
	stored, registered, err := m.arrowSchemas()
	if err != nil {
		return nil, err
	}
	v, err := newView(o.Root, st, m.Fields())
	if err != nil {
		return nil, err
	}
	d := &Dataset{manifest: m, view: v, files: o.Files, stats: o.Stats, write: o.Write, stored: stored, registered: registered}
	if d.files == nil {
		d.files, d.ownFiles = NewFileCache(0, nil), true
	}
	d.findRoots()
	if err := d.addFragments(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// findRoots fills in rootIDs and rootOf. The parents of a field may come after
// it in a foreign manifest; that they lead to a root was checked before.
func (d *Dataset) findRoots() {
	parents := make(map[int32]int32, len(d.manifest.Fields()))
	for _, f := range d.manifest.Fields() {
		parents[f.GetId()] = f.GetParentId()
		if f.GetParentId() == -1 {
			d.rootIDs = append(d.rootIDs, f.GetId())
		}
	}
	d.rootOf = make(map[int32]int32, len(parents))
	for id := range parents {
		root := id
		for parents[root] != -1 {
			root = parents[root]
		}
		d.rootOf[id] = root
	}
}

func (d *Dataset) addFragments(ctx context.Context) error {
	pbs := d.manifest.Fragments()
	d.fragments = make([]*fragment, 0, len(pbs))
	for _, pb := range pbs {
		f := &fragment{pb: pb, rows: pb.GetPhysicalRows(), first: d.rows}
		if err := d.countRows(ctx, f); err != nil {
			return lake.Wrap("open fragment", err)
		}
		d.rows += f.live
		d.fragments = append(d.fragments, f)
	}
	return nil
}

// countRows completes the counts of a fragment. Zero stands for "not recorded"
// in manifests of old writers.
func (d *Dataset) countRows(ctx context.Context, f *fragment) error {
	if f.rows == 0 && len(f.pb.GetFiles()) > 0 {
		h, err := d.files.acquire(ctx, d.view, f.pb.GetFiles()[0])
		if err != nil {
			return err
		}
		f.rows = h.reader.Rows()
		h.release()
	}
	gone := f.pb.GetDeletionFile().GetNumDeletedRows()
	if f.pb.GetDeletionFile() != nil && gone == 0 {
		deleted, err := f.deletions(ctx, d.view.st)
		if err != nil {
			return err
		}
		gone = deleted.GetCardinality()
	}
	if gone > f.rows {
		return corrupt("fragment %d: %d of %d rows deleted", f.pb.GetId(), gone, f.rows)
	}
	f.live = f.rows - gone
	return nil
}

// deletions returns the deleted offsets, or nil. They are read once.
func (f *fragment) deletions(ctx context.Context, st Opener) (*roaring.Bitmap, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loaded {
		return f.deleted, nil
	}
	deleted, err := readDeletions(ctx, st, f.pb, f.rows)
	if err != nil {
		return nil, err
	}
	f.loaded, f.deleted = true, deleted
	return deleted, nil
}

// Manifest returns the version's manifest.
func (d *Dataset) Manifest() *Manifest { return d.manifest }

// Schema returns the table's schema, as it was registered where the manifest
// still says so.
func (d *Dataset) Schema() *arrow.Schema { return d.registered }

// Rows is the exact number of live rows.
func (d *Dataset) Rows() uint64 { return d.rows }

// Bytes estimates the memory of the open dataset, without mapped files.
func (d *Dataset) Bytes() uint64 {
	const perFragment, perField, perFile = 512, 512, 256
	n := 4096 + perField*len(d.manifest.Fields()) + len(d.manifest.indexes)
	for _, f := range d.manifest.Fragments() {
		n += perFragment
		for _, df := range f.GetFiles() {
			n += perFile + len(df.GetPath()) + 8*len(df.GetFields())
		}
	}
	return uint64(n)
}

// Close drops the dataset's own cache. Scans and batches still in use keep
// what they need.
func (d *Dataset) Close() error {
	if d.ownFiles {
		return d.files.Close()
	}
	return nil
}

// fragmentOf returns the index of the fragment that holds a live row.
func (d *Dataset) fragmentOf(row uint64) int {
	return sort.Search(len(d.fragments), func(i int) bool { return d.fragments[i].first > row }) - 1
}
