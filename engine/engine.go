// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package engine is the port between Lake and a table storage format: what
// the authority and the query tier may know of storage. engine/lance is the
// adapter in use; enginetest holds an in-memory one and the conformance suite
// that both pass.
package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Engine writes and reads tables as immutable versions. It is safe for
// concurrent use.
//
// An engine never commits alone. It stages objects that nothing refers to
// yet and hands the caller a [Staged] version with the metastore operations
// that make it current. Only when the caller's commit has applied is the
// version real; a staged version whose commit failed is garbage, which the
// sweep of its location removes.
type Engine interface {
	// Name identifies the engine in table records, such as "lance".
	Name() string

	// CheckSchema refuses, with lake.Unsupported or lake.Invalid, a schema
	// whose rows the engine could not store, naming the column and its type, or
	// whose metadata asks for options of the table that there are not; see
	// [lake.TableOptions].
	CheckSchema(*arrow.Schema) error

	// Create stages version 1 of a new incarnation, holding no rows.
	Create(ctx context.Context, loc lake.Location, inc lake.Incarnation, schema *arrow.Schema) (Staged, error)

	// StageData takes the rows of one append operation, before it is known
	// which version they will join: it writes them into data objects that no
	// version names yet, or holds few rows in memory until StageAppend. rows
	// must have the table's schema. Several calls for one table may run at
	// once. The reader is consumed, not released.
	StageData(ctx context.Context, loc lake.Location, schema *arrow.Schema, rows array.RecordReader) (Data, error)

	// StageAppend stages the version after base, which adds the data of the
	// given operations in their order. base must be the current snapshot when
	// the caller commits, or its commit will conflict; the same data may then
	// be staged again on a newer base.
	StageAppend(ctx context.Context, base lake.Snapshot, adds []Append) (Staged, error)

	// Publish makes a committed version openable by version number for any
	// reader of the format. It is idempotent and must succeed before an
	// append is acknowledged.
	Publish(ctx context.Context, committed lake.Snapshot) error

	// Open returns exactly the pinned version. Its bytes are verified against
	// the snapshot's digest; a version whose objects are gone is
	// [ErrUnavailable], which a scan may also find out later.
	Open(ctx context.Context, snap lake.Snapshot) (Dataset, error)

	// Retire returns the operations that the commit dropping the table must
	// include: after it no further version can be committed on snap.
	Retire(snap lake.Snapshot) []metastore.Op

	// Restore returns the operations that undo [Engine.Retire].
	Restore(snap lake.Snapshot) []metastore.Op

	// Forget returns the operations that the commit ending a drop must
	// include, once every object is deleted.
	Forget(snap lake.Snapshot) []metastore.Op

	// HistoryPrefix is the metastore prefix, ending in '/', under which the
	// engine keeps one immutable record a version of the location. The drop
	// procedure deletes them before it calls Forget.
	HistoryPrefix(loc lake.Location) string
}

// Operation identifies one logical append.
type Operation struct {
	Tenant string
	ID     lake.OperationID
	Digest lake.Digest
}

// Append is an operation with its staged data.
type Append struct {
	Operation Operation
	Data      Data
}

// Data is the staged data of one append operation. Only the engine that made
// it knows what is inside.
type Data interface {
	// Rows is the number of rows staged.
	Rows() uint64
	// Bytes is the total size of the data objects, and of what is in memory.
	Bytes() uint64
	// Memory is the size of the rows held in memory, in bytes. It is garbage
	// collected with the Data.
	Memory() uint64
}

// Staged is a version that is fully written and not current yet.
type Staged struct {
	// Snapshot is the version as readers will pin it after the commit.
	Snapshot lake.Snapshot
	// Ops must all be part of the caller's commit.
	Ops []metastore.Op
}

// Dataset is one open immutable version. It is safe for concurrent use.
type Dataset interface {
	// Schema is the table's Arrow schema as it was registered: types,
	// nullability and metadata.
	Schema() *arrow.Schema
	// Rows is the exact number of live rows.
	Rows() uint64
	// Bytes estimates what the open dataset holds in memory (metadata, not
	// mapped files), for caches bounded by bytes.
	Bytes() uint64
	// Scan starts one pass over the rows.
	Scan(ctx context.Context, opts ScanOptions) (Scan, error)
	// Close releases files. Scans still open keep what they need.
	Close() error
}

// ScanOptions narrows a scan. The zero value reads everything.
type ScanOptions struct {
	// Columns are distinct indexes of top-level fields of the dataset's schema,
	// in the order the batches shall have them. nil means all; empty and not
	// nil means none, and batches then carry only row counts.
	Columns []int
	// BatchRows bounds a batch's rows; 0 means 65,536.
	BatchRows int
	// BatchBytes is about how large a batch may become, in bytes of Arrow
	// buffers; 0 means 16 MiB. A batch holds at least one row.
	BatchBytes int
	// Parallel is how many goroutines the engine may use to read ahead;
	// 0 means none: work happens in the callers of Next.
	Parallel int
	// Ordered asks for batches in row order. Otherwise any order will do.
	Ordered bool
	// Glance, if set, allows the engine to leave rows out; it need not.
	Glance *Glance
}

// Glance tells by a look at some columns which rows nobody wants, so that an
// engine need not read the others of those rows.
type Glance struct {
	// Columns are distinct indexes of top-level fields of the dataset's schema.
	Columns []int
	// Wanted says whether a row of a batch of those columns may be wanted. If not,
	// none of its rows is missed. It is safe for concurrent use, and does not keep
	// the batch.
	Wanted func(arrow.RecordBatch) bool
}

// Scan delivers the batches of one pass. Next is safe for concurrent use, so
// several threads may pull from one scan.
type Scan interface {
	// Next returns the next batch, owned by the caller, or io.EOF. Values
	// taken out of a batch without a copy, such as strings, are good until the
	// batch is released. After an error every further call fails too.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	// Close stops the scan and releases what it read ahead.
	Close() error
}
