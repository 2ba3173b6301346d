// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/lancepb"
)

// Options says how to open a file.
type Options struct {
	// Allocator makes the memory of batches. Default: [memory.DefaultAllocator].
	Allocator memory.Allocator
	// Schema is the field list to read with, usually the manifest's. It may
	// name fields the file does not have. Default: the list in the file.
	Schema []*lancepb.Field
	// Fields and Columns are the pairs of field id and column number of the
	// manifest's entry for this file; negative ids and numbers are skipped.
	// Default: derived from the field list in the file.
	Fields, Columns []int32
}

// ScanOptions says what to scan.
type ScanOptions struct {
	// Fields are the ids of root, inner or leaf fields to read. Default: all
	// the file has. Ids that are in neither the schema nor the file fail.
	Fields []int32
	// Start and End are the row range; End 0 stands for all rows.
	Start, End uint64
	// BatchRows is the largest number of rows of a batch. Default: 65,536.
	BatchRows int
	// BatchBytes is the size a batch aims at; it may shrink a batch below
	// BatchRows. Default: no limit.
	BatchBytes int64
	// Parallel is the number of columns decoded at once. Default: 1.
	Parallel int
}

// Reader reads one data file. It may be used from several goroutines at once
// and holds no resources beyond its source.
type Reader struct {
	c    *container
	opts Options
	rows uint64
}

// Open reads the metadata of a file. The source stays with the caller and must
// outlive the reader and its batches.
func Open(ctx context.Context, src Source, o Options) (*Reader, error) {
	return nil, unsupported("reading, for now")
}

// Rows is the number of rows of the file.
func (r *Reader) Rows() uint64 { return r.rows }

// Version is the format version of the file, for example 2 and 1.
func (r *Reader) Version() (major, minor uint32) { return r.c.major, r.c.minor }

// Fields returns the field list the reader uses: that of the options, else
// that of the file. The caller must not change it.
func (r *Reader) Fields() []*lancepb.Field { return nil }

// Has reports whether the file holds data of the field or of anything below it.
func (r *Reader) Has(field int32) bool { return false }

// Scan returns the rows of a range in batches, in order. A batch belongs to
// the consumer, who releases it. The sequence ends after the first error.
func (r *Reader) Scan(ctx context.Context, o ScanOptions) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		yield(nil, unsupported("scanning, for now"))
	}
}

// Take returns the given rows, in the given order and with repetitions, as one
// batch that the caller releases. An empty fields means all the file has.
func (r *Reader) Take(ctx context.Context, rows []uint64, fields []int32) (arrow.RecordBatch, error) {
	return nil, unsupported("taking rows, for now")
}
