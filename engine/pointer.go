// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lake/jsonobject"
	"github.com/lakeplane/lake/metastore"
)

// Records says under which metastore families an engine keeps its versions,
// and makes the operations on them.
//
// A location has one pointer, <Latest>/<location>, and one immutable history
// row a version, <History>/<location>/<version in 20 digits>. The pointer's
// bytes are a function of the snapshot alone, so the operation that advances
// it needs no read of the metastore: whoever holds the current snapshot knows
// what the pointer must hold. Every snapshot names a manifest path made with
// fresh randomness, so equal bytes mean the same writer.
//
// While a table is being dropped its pointer holds a mark with the incarnation
// instead, which no snapshot equals: an append that was staged before the drop
// fails its commit whenever it arrives.
type Records struct {
	// Latest and History are single key segments, such as
	// "lance-manifest-latest" and "lance-manifest".
	Latest, History string
}

// Entry is a history row as stored, in JSON.
type Entry struct {
	Snapshot lake.Snapshot `json:"snapshot"`
	// Operations are the appends the version added, in order.
	Operations []EntryOperation `json:"operations,omitempty"`
}

// EntryOperation is an [Operation] inside an [Entry].
type EntryOperation struct {
	Tenant string           `json:"tenant"`
	ID     lake.OperationID `json:"id"`
	Digest lake.Digest      `json:"sha256"`
}

// Create returns the operations that make the first version current.
func (r Records) Create(first lake.Snapshot) []metastore.Op {
	return []metastore.Op{
		metastore.Create(r.latestKey(first.Location), encodeSnapshot(first)),
		metastore.Create(r.historyKey(first), Entry{Snapshot: first}.encode()),
	}
}

// Advance returns the operations that make next current in place of base.
func (r Records) Advance(base, next lake.Snapshot, adds []Append) []metastore.Op {
	entry := Entry{Snapshot: next, Operations: make([]EntryOperation, len(adds))}
	for i, a := range adds {
		entry.Operations[i] = EntryOperation(a.Operation)
	}
	return []metastore.Op{
		metastore.Update(r.latestKey(base.Location), encodeSnapshot(base), encodeSnapshot(next)),
		metastore.Create(r.historyKey(next), entry.encode()),
	}
}

// Retire returns the operation that bars all further versions.
func (r Records) Retire(snap lake.Snapshot) []metastore.Op {
	return []metastore.Op{metastore.Update(r.latestKey(snap.Location), encodeSnapshot(snap), mark(snap))}
}

// Restore returns the operation that undoes [Records.Retire].
func (r Records) Restore(snap lake.Snapshot) []metastore.Op {
	return []metastore.Op{metastore.Update(r.latestKey(snap.Location), mark(snap), encodeSnapshot(snap))}
}

// Forget returns the operation that removes the mark of [Records.Retire].
func (r Records) Forget(snap lake.Snapshot) []metastore.Op {
	return []metastore.Op{metastore.Remove(r.latestKey(snap.Location), mark(snap))}
}

// HistoryPrefix returns the prefix of the location's history rows, with its
// trailing '/'.
func (r Records) HistoryPrefix(loc lake.Location) string {
	return r.History + "/" + loc.Prefix()
}

func (r Records) latestKey(loc lake.Location) string { return r.Latest + "/" + string(loc) }

func (r Records) historyKey(s lake.Snapshot) string {
	return fmt.Sprintf("%s%020d", r.HistoryPrefix(s.Location), uint64(s.Version))
}

func mark(snap lake.Snapshot) []byte {
	return jsonobject.Begin(96).Text("state", "deleting").ID("incarnation", snap.Incarnation).End()
}

// snapshotRoom is about what a snapshot's JSON takes.
const snapshotRoom = 512

func encodeSnapshot(s lake.Snapshot) []byte {
	return jsonobject.Begin(snapshotRoom).Snapshot(s).End()
}

func (e Entry) encode() []byte {
	const operationRoom = 192
	o := jsonobject.Begin(snapshotRoom + operationRoom*len(e.Operations)).Open("snapshot").Snapshot(e.Snapshot).End()
	if len(e.Operations) > 0 {
		o = o.Each("operations", len(e.Operations), func(o jsonobject.Object, i int) jsonobject.Object {
			op := e.Operations[i]
			return o.Text("tenant", op.Tenant).ID("id", op.ID).Digest("sha256", op.Digest)
		})
	}
	return o.End()
}
