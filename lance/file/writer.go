// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lance/lancepb"
)

// WriterOptions says how to write a file. The zero value is the default.
type WriterOptions struct {
	// PageBytes is the size at which the pages of a column are cut, in bytes of
	// plain values. Default: 8 MiB. It bounds the memory of the writer to
	// about that much per leaf column.
	PageBytes int64
	// Metadata is the schema metadata stored in the file. Default: that of the
	// Arrow schema.
	Metadata map[string][]byte
}

// Written describes a finished file, for its entry in a manifest.
type Written struct {
	// Rows is the number of rows, Size the number of bytes.
	Rows, Size uint64
	// Fields are the ids of the leaf fields, ColumnIndices their columns.
	Fields, ColumnIndices []int32
	// Major and Minor are the format version.
	Major, Minor uint32
}

// Writer writes one data file. It is not safe for concurrent use.
type Writer struct{}

// NewWriter starts a file on w. The fields are the Lance fields of the schema,
// with the ids of the dataset; see the schema package. They fail with a
// [lake.Invalid] error where they do not match.
func NewWriter(w io.Writer, s *arrow.Schema, fields []*lancepb.Field, o WriterOptions) (*Writer, error) {
	return nil, unsupported("writing, for now")
}

// Write appends the rows of a batch, whose schema must be that of the writer
// up to metadata. The batch is not kept.
func (w *Writer) Write(rec arrow.RecordBatch) error { return nil }

// Close writes the remaining pages and the metadata. It does not close the
// underlying writer. After an error the file must be thrown away.
func (w *Writer) Close() (Written, error) { return Written{}, nil }
