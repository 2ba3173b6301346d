// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Memory is an engine whose objects live in memory. It keeps the whole
// contract of [engine.Engine], so packages above the port can be tested
// without a storage format. It is safe for concurrent use.
type Memory struct {
	mu       sync.RWMutex
	versions map[string]*memoryVersion // by location and manifest path
}

var (
	_ engine.Engine = (*Memory)(nil)

	memoryRecords = engine.Records{Latest: "memory-latest", History: "memory-version"}
)

// NewMemory returns an engine without tables.
func NewMemory() *Memory { return &Memory{versions: map[string]*memoryVersion{}} }

// memoryVersion is one staged or published version.
type memoryVersion struct {
	manifest []byte
	schema   *arrow.Schema
	chunks   []*memoryData
	rows     uint64
}

// memoryData is the staged data of one append.
type memoryData struct {
	loc     lake.Location
	batches []arrow.RecordBatch
	rows    uint64
	bytes   uint64
}

func (d *memoryData) Rows() uint64  { return d.rows }
func (d *memoryData) Bytes() uint64 { return d.bytes }

// Memory is 0: everything the engine stores is in memory.
func (d *memoryData) Memory() uint64 { return 0 }

// Name returns "memory".
func (m *Memory) Name() string { return "memory" }

// CheckSchema accepts what Arrow IPC can carry and refuses union, map and
// dictionary columns, so that tests have something to be refused.
func (m *Memory) CheckSchema(s *arrow.Schema) error {
	if s == nil || s.NumFields() == 0 {
		return lake.Errorf(lake.Invalid, "the schema has no fields")
	}
	for _, f := range s.Fields() {
		switch f.Type.ID() {
		case arrow.SPARSE_UNION, arrow.DENSE_UNION, arrow.MAP, arrow.DICTIONARY:
			return lake.Errorf(lake.Unsupported, "column %s: type %s cannot be stored", f.Name, f.Type)
		}
	}
	return nil
}

// Create implements [engine.Engine].
func (m *Memory) Create(ctx context.Context, loc lake.Location, inc lake.Incarnation, schema *arrow.Schema) (engine.Staged, error) {
	if err := m.CheckSchema(schema); err != nil {
		return engine.Staged{}, err
	}
	if err := ctx.Err(); err != nil {
		return engine.Staged{}, err
	}
	snap := m.stage(lake.Snapshot{Engine: m.Name(), Location: loc, Incarnation: inc, Version: 1}, &memoryVersion{schema: schema})
	return engine.Staged{Snapshot: snap, Ops: memoryRecords.Create(snap)}, nil
}

// stage stores v as the version snap names and completes snap.
func (m *Memory) stage(snap lake.Snapshot, v *memoryVersion) lake.Snapshot {
	path := fmt.Sprintf("%d-%s", snap.Version, lake.NewID())
	manifest, err := json.Marshal(map[string]any{"path": path, "rows": v.rows, "chunks": len(v.chunks)})
	if err != nil {
		panic(err)
	}
	v.manifest = manifest
	snap.Manifest = lake.Manifest{Path: path, Size: int64(len(manifest)), SHA256: sha256.Sum256(manifest)}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.versions[snap.Location.Prefix()+path] = v
	return snap
}

// StageData implements [engine.Engine] with a deep copy of the rows.
func (m *Memory) StageData(ctx context.Context, loc lake.Location, schema *arrow.Schema, rows array.RecordReader) (engine.Data, error) {
	if err := engine.CheckSameSchema(schema, rows.Schema()); err != nil {
		return nil, err
	}
	data := &memoryData{loc: loc}
	for rows.Next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := data.add(schema, rows.RecordBatch()); err != nil {
			return nil, err
		}
	}
	return data, rows.Err()
}

func (d *memoryData) add(schema *arrow.Schema, batch arrow.RecordBatch) error {
	if err := engine.CheckNulls(schema, batch); err != nil {
		return err
	}
	if batch.NumRows() == 0 {
		return nil
	}
	copied, size, err := deepCopy(schema, batch)
	if err != nil {
		return err
	}
	d.batches = append(d.batches, copied)
	d.rows += uint64(batch.NumRows())
	d.bytes += size
	return nil
}

// StageAppend implements [engine.Engine].
func (m *Memory) StageAppend(_ context.Context, base lake.Snapshot, adds []engine.Append) (engine.Staged, error) {
	v, err := m.version(base)
	if err != nil {
		return engine.Staged{}, err
	}
	next := &memoryVersion{schema: v.schema, rows: v.rows, chunks: v.chunks[:len(v.chunks):len(v.chunks)]}
	for _, a := range adds {
		data, ok := a.Data.(*memoryData)
		if !ok || data.loc != base.Location {
			return engine.Staged{}, lake.Errorf(lake.Invalid, "operation %s: its data were not staged for %s by this engine", a.Operation.ID, base.Location)
		}
		next.chunks = append(next.chunks, data)
		next.rows += data.rows
	}
	snap := base
	snap.Version++
	snap = m.stage(snap, next)
	return engine.Staged{Snapshot: snap, Ops: memoryRecords.Advance(base, snap, adds)}, nil
}

// version returns the version a snapshot pins.
func (m *Memory) version(snap lake.Snapshot) (*memoryVersion, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	v := m.versions[snap.Location.Prefix()+snap.Manifest.Path]
	switch {
	case snap.Engine != m.Name():
		return nil, lake.Errorf(lake.Invalid, "the snapshot was written by engine %q, this is %q", snap.Engine, m.Name())
	case v == nil:
		return nil, engine.ErrUnavailable
	case int64(len(v.manifest)) != snap.Manifest.Size || lake.Digest(sha256.Sum256(v.manifest)) != snap.Manifest.SHA256:
		return nil, lake.Errorf(lake.Corrupt, "the manifest of version %d is not the pinned one", snap.Version)
	}
	return v, nil
}

// Publish implements [engine.Engine]; versions are readable once staged, so it
// only checks that this one is.
func (m *Memory) Publish(_ context.Context, committed lake.Snapshot) error {
	_, err := m.version(committed)
	return err
}

// Open implements [engine.Engine].
func (m *Memory) Open(_ context.Context, snap lake.Snapshot) (engine.Dataset, error) {
	v, err := m.version(snap)
	if err != nil {
		return nil, err
	}
	return &memoryDataset{v: v}, nil
}

// Retire implements [engine.Engine].
func (m *Memory) Retire(snap lake.Snapshot) []metastore.Op { return memoryRecords.Retire(snap) }

// Restore implements [engine.Engine].
func (m *Memory) Restore(snap lake.Snapshot) []metastore.Op { return memoryRecords.Restore(snap) }

// Forget implements [engine.Engine].
func (m *Memory) Forget(snap lake.Snapshot) []metastore.Op { return memoryRecords.Forget(snap) }

// HistoryPrefix implements [engine.Engine].
func (m *Memory) HistoryPrefix(loc lake.Location) string { return memoryRecords.HistoryPrefix(loc) }

// Erase deletes every object of a location, as the drop procedure does.
func (m *Memory) Erase(_ context.Context, loc lake.Location) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.versions {
		if strings.HasPrefix(key, loc.Prefix()) {
			delete(m.versions, key)
		}
	}
	return nil
}
