// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
)

// parquetColumn reads a top-level column, some rows at a time.
type parquetColumn interface {
	NextBatch(rows int64) (*arrow.Chunked, error)
	Release()
}

// parquetReader reads all columns of a Parquet file in step.
//
// The columns are driven one by one, so that an error names its column and a
// column that ends early is noticed: the record reader of the library takes it
// for the end of the file.
type parquetReader struct {
	file *file.Reader
	// arrowReader opens columns.
	arrowReader *pqarrow.FileReader
	arrow       *arrow.Schema
	columns     []parquetColumn
	batchRows   int64
	total       int64
	done        int64
}

func openParquet(ctx context.Context, f *countedFile, _ string, opts Options) (reader, error) {
	// io.SectionReader keeps the library from closing the file.
	source := io.NewSectionReader(f, 0, f.size)
	pf, err := file.NewParquetReader(source, file.WithReadProps(&parquet.ReaderProperties{BufferedStreamEnabled: true, BufferSize: 1 << 20}))
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "not a whole Parquet file, the footer is missing or damaged: %w", err)
	}
	r := &parquetReader{file: pf}
	if err := r.open(ctx, opts); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *parquetReader) open(ctx context.Context, opts Options) error {
	var bytes int64
	for i := range r.file.NumRowGroups() {
		group := r.file.MetaData().RowGroup(i)
		r.total += group.NumRows()
		bytes += group.TotalByteSize()
	}
	if r.total < 0 || bytes < 0 {
		return lake.Errorf(lake.Invalid, "the Parquet footer is damaged: it counts %d rows in %d bytes", r.total, bytes)
	}
	r.batchRows = rowsPerBatch(r.total, bytes, int64(opts.BatchRows))
	if err := checkStoredSchema(r.file.MetaData().KeyValueMetadata()); err != nil {
		return err
	}
	fr, err := pqarrow.NewFileReader(r.file, pqarrow.ArrowReadProperties{BatchSize: r.batchRows}, allocator)
	if err != nil {
		return lake.Errorf(lake.Invalid, "the Parquet schema cannot be read: %w", err)
	}
	r.arrowReader = fr
	if r.arrow, err = fr.Schema(); err != nil {
		return lake.Errorf(lake.Invalid, "the Parquet schema cannot be read: %w", err)
	}
	return r.openColumns(ctx, fr, opts)
}

// checkStoredSchema refuses a file whose Arrow schema, which many writers put
// beside Parquet's own, is damaged. Decoding it, the Arrow library allocates what
// its counts ask for, which can be more memory than there is.
func checkStoredSchema(entries metadata.KeyValueMetadata) error {
	text := entries.FindValue("ARROW:schema")
	if text == nil {
		return nil
	}
	wire, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(*text, "="))
	if err == nil {
		_, err = untrusted.DecodeSchema(wire)
	}
	if err != nil {
		return lake.Errorf(lake.Invalid, "the Arrow schema stored in the file is damaged: %w", err)
	}
	return nil
}

// rowsPerBatch keeps a batch near batchBytes, judged by the mean row.
func rowsPerBatch(rows, bytes, most int64) int64 {
	if most <= 0 {
		most = lake.MaxAppendRows
	}
	if rows == 0 || bytes == 0 {
		return most
	}
	return max(1, min(most, batchBytes*rows/bytes))
}

// openColumns makes a reader for each top-level column. Columns that will not
// be used are not opened, so that a type nobody wants does no harm.
func (r *parquetReader) openColumns(ctx context.Context, fr *pqarrow.FileReader, opts Options) error {
	fields := r.arrow.Fields()
	renamed, _ := tableNames(fieldNames(r.arrow))
	chosen, err := choose(renamed, opts.Columns)
	if err != nil {
		return err
	}
	r.columns = make([]parquetColumn, len(fields))
	for _, i := range chosen {
		if _, err := tableType(fields[i].Type); err != nil && opts.Target == nil {
			continue // the plan refuses it; else the table's own schema decides
		}
		if r.columns[i], err = r.openColumn(ctx, fr, i, 0); err != nil {
			return columnError(fields[i].Name, err)
		}
	}
	r.fixSchema()
	return nil
}

func fieldNames(s *arrow.Schema) []string {
	names := make([]string, s.NumFields())
	for i, f := range s.Fields() {
		names[i] = f.Name
	}
	return names
}

// openColumn makes a reader of field i that begins with a row group.
func (r *parquetReader) openColumn(ctx context.Context, fr *pqarrow.FileReader, i, first int) (parquetColumn, error) {
	leaves, err := r.leaves(i)
	if err != nil {
		return nil, err
	}
	if len(leaves) == 1 {
		c := r.file.MetaData().Schema.Column(leaves[0])
		if c.PhysicalType() == parquet.Types.Int96 && c.MaxRepetitionLevel() == 0 && len(c.ColumnPath()) == 1 {
			return &int96Column{file: r.file, leaf: leaves[0], group: first}, nil
		}
	}
	groups := make([]int, 0, r.file.NumRowGroups())
	for g := first; g < r.file.NumRowGroups(); g++ {
		groups = append(groups, g)
	}
	readers, _, err := fr.GetFieldReaders(ctx, leaves, groups)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "%w", err)
	}
	if len(readers) != 1 {
		return nil, lake.Errorf(lake.Invalid, "the Parquet schema is damaged: %d readers for one column", len(readers))
	}
	return readers[0], nil
}

// leaves are the leaf columns of top-level field i.
func (r *parquetReader) leaves(i int) ([]int, error) {
	s := r.file.MetaData().Schema
	if i >= s.Root().NumFields() {
		return nil, lake.Errorf(lake.Invalid, "the Parquet schema and the Arrow schema stored in the file differ")
	}
	root := s.Root().Field(i)
	var out []int
	for leaf := range s.NumColumns() {
		if s.ColumnRoot(leaf) == root {
			out = append(out, leaf)
		}
	}
	return out, nil
}

// fixSchema gives columns the type they are read as where it is not the
// library's.
func (r *parquetReader) fixSchema() {
	fields := r.arrow.Fields()
	for i, c := range r.columns {
		if _, ok := c.(*int96Column); ok {
			fields[i].Type = int96Type
		} else if c != nil {
			fields[i].Type = r.textType(&r.arrowReader.Manifest.Fields[i], fields[i].Type)
			fields[i].Type = twoLevelType(r.file.MetaData().Schema.Root().Field(i), fields[i].Type)
		}
	}
	r.arrow = arrow.NewSchema(fields, nil)
}

func (r *parquetReader) schema() *arrow.Schema { return r.arrow }
func (r *parquetReader) rows() int64           { return r.total }

func (r *parquetReader) close() error {
	for _, c := range r.columns {
		if c != nil {
			c.Release()
		}
	}
	return r.file.Close()
}

func (r *parquetReader) next(context.Context) (arrow.RecordBatch, error) {
	want := min(r.batchRows, r.total-r.done)
	if want == 0 {
		return nil, io.EOF
	}
	return r.take(want)
}

// take reads exactly want rows of every column.
func (r *parquetReader) take(want int64) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(r.columns))
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, c := range r.columns {
		var err error
		if columns[i], err = r.read(c, want, r.arrow.Field(i)); err != nil {
			return nil, columnError(r.arrow.Field(i).Name, err)
		}
	}
	r.done += want
	return array.NewRecordBatch(r.arrow, columns, want), nil
}

// read takes exactly want rows of a column. A column nobody reads is null.
func (r *parquetReader) read(c parquetColumn, want int64, f arrow.Field) (arr arrow.Array, err error) {
	if c == nil {
		return array.MakeArrayOfNull(allocator, f.Type, int(want)), nil
	}
	where := fmt.Sprintf("rows %d to %d", r.done+1, r.done+want)
	defer func() {
		if p := recover(); p != nil {
			err = lake.Errorf(lake.Invalid, "%s: the data is damaged: %v", where, p)
		}
	}()
	chunks, err := c.NextBatch(want)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "%s: the data is damaged or cut off: %w", where, err)
	}
	defer chunks.Release()
	if got := int64(chunks.Len()); got != want {
		return nil, lake.Errorf(lake.Invalid, "%s: the column ends after %d rows, the footer counts %d", where, r.done+got, r.total)
	}
	whole, err := array.Concatenate(chunks.Chunks(), allocator)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "%s: %w", where, err)
	}
	defer whole.Release()
	return asText(unwrapTwoLevel(clearNulls(whole), f.Type), f.Type), nil
}
