// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lake"
)

// maxRecordBytes bounds one CSV record, so that a quote nobody closes does not
// pull the rest of the file into memory.
const maxRecordBytes = lake.MaxAppendBytes

// csvReader reads a CSV file in two passes: one to learn the types, unless a
// table gives them, and one to read the rows.
type csvReader struct {
	file    *countedFile
	path    string
	opts    Options
	comma   rune
	records *csvRecords
	columns []csvColumn
	arrow   *arrow.Schema
	builder *array.RecordBuilder
	total   int64
}

// csvColumn is a column and how its fields are parsed.
type csvColumn struct {
	name       string
	dt         arrow.DataType
	append     appendFunc
	holdsEmpty bool // a quoted empty field is a value
}

func openCSV(ctx context.Context, f *countedFile, path string, opts Options) (reader, error) {
	r := &csvReader{file: f, path: path, opts: opts, comma: opts.Delimiter, total: -1}
	if err := r.start(); err != nil {
		return nil, err
	}
	first, err := r.records.read()
	if errors.Is(err, io.EOF) {
		return nil, lake.Errorf(lake.Invalid, "it is empty: want a header and rows")
	}
	if err != nil {
		return nil, err
	}
	if err := r.chooseTypes(ctx, csvHeader(first, opts.NoHeader)); err != nil {
		return nil, err
	}
	fields := make([]arrow.Field, len(r.columns))
	for i, c := range r.columns {
		fields[i] = arrow.Field{Name: c.name, Type: c.dt, Nullable: true}
	}
	r.arrow = arrow.NewSchema(fields, nil)
	r.builder = array.NewRecordBuilder(allocator, r.arrow)
	return r, r.restart()
}

// csvHeader returns the columns' names.
func csvHeader(first []string, none bool) []string {
	names := make([]string, len(first))
	for i, name := range first {
		if names[i] = strings.Clone(name); none {
			names[i] = fmt.Sprintf("column%d", i)
		}
	}
	return names
}

// start opens a pass over the file.
func (r *csvReader) start() error {
	if err := r.file.rewind(); err != nil {
		return err
	}
	text, err := r.text()
	if err != nil {
		return err
	}
	head, err := text.Peek(sampleBytes)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return lake.Errorf(lake.Invalid, "cannot be read: %w", err)
	}
	if err := checkText(head); err != nil {
		return err
	}
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		_, _ = text.Discard(len(byteOrderMark))
		head = head[len(byteOrderMark):]
	}
	end := lineEnd(head)
	if r.comma == 0 {
		r.comma = findDelimiter(head, end, extensionOf(r.path) == ".tsv")
	}
	r.records = newCSVRecords(text, r.comma, end)
	return nil
}

// restart opens a pass and skips the header.
func (r *csvReader) restart() error {
	if err := r.start(); err != nil {
		return err
	}
	if r.opts.NoHeader {
		return nil
	}
	_, err := r.records.read()
	return err
}

// text is the file's text, decompressed.
func (r *csvReader) text() (*bufio.Reader, error) {
	plain := bufio.NewReaderSize(r.file, sampleBytes)
	if !isGzip(r.path) {
		return plain, nil
	}
	unpacked, err := gzip.NewReader(plain)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "not a gzip file: %w", err)
	}
	return bufio.NewReaderSize(unpacked, sampleBytes), nil
}

func (r *csvReader) schema() *arrow.Schema { return r.arrow }
func (r *csvReader) rows() int64           { return r.total }

func (r *csvReader) close() error {
	if r.builder != nil {
		r.builder.Release()
	}
	return nil
}

func (r *csvReader) next(context.Context) (arrow.RecordBatch, error) {
	most := int64(r.opts.BatchRows)
	if most <= 0 {
		most = lake.MaxAppendRows
	}
	rows, size := int64(0), 0
	for rows < most && size < batchBytes {
		record, err := r.records.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := r.add(record); err != nil {
			return nil, err
		}
		for _, field := range record {
			size += len(field) + 8
		}
		rows++
	}
	if rows == 0 {
		return nil, io.EOF
	}
	return r.builder.NewRecordBatch(), nil
}

func (r *csvReader) add(record []string) error {
	for i, text := range record {
		if text == "" && !(r.records.quoted[i] && r.columns[i].holdsEmpty) {
			r.builder.Field(i).AppendNull()
			continue
		}
		if err := r.columns[i].append(r.builder.Field(i), text); err != nil {
			return lake.Errorf(lake.Invalid, "line %d: column %q: %w", r.records.lineOf(i), r.columns[i].name, err)
		}
	}
	return nil
}
