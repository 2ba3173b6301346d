// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"bufio"
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
)

// ipcFileReader reads the random access form. The whole file's framing was
// checked before; the arrays are checked as they are converted.
type ipcFileReader struct {
	r        *ipc.FileReader
	position int
}

func openIPCFile(_ context.Context, f *countedFile, _ string, _ Options) (reader, error) {
	err := untrusted.CheckFile(f.File, f.size)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "the Arrow IPC file is damaged or cut off: %w", err)
	}
	r, err := ipc.NewFileReader(f, ipc.WithAllocator(allocator), ipc.WithBodySizeLimit(untrusted.MaxBody))
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "the Arrow IPC file is damaged or cut off: %w", err)
	}
	return &ipcFileReader{r: r}, nil
}

func (r *ipcFileReader) schema() *arrow.Schema { return r.r.Schema() }
func (r *ipcFileReader) rows() int64           { return -1 }
func (r *ipcFileReader) close() error          { return r.r.Close() }

func (r *ipcFileReader) next(context.Context) (arrow.RecordBatch, error) {
	if r.position >= r.r.NumRecords() {
		return nil, io.EOF
	}
	b, err := r.r.RecordBatchAt(r.position)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "record batch %d: %w", r.position, err)
	}
	r.position++
	return b, nil
}

// ipcStreamReader reads the streaming form.
type ipcStreamReader struct {
	r    *ipc.Reader
	seen int
}

func openIPCStream(_ context.Context, f *countedFile, _ string, _ Options) (reader, error) {
	r, err := untrusted.NewReader(bufio.NewReaderSize(f, 1<<20), f.size, ipc.WithAllocator(allocator))
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "the Arrow IPC stream is damaged or cut off: %w", err)
	}
	return &ipcStreamReader{r: r}, nil
}

func (r *ipcStreamReader) schema() *arrow.Schema { return r.r.Schema() }
func (r *ipcStreamReader) rows() int64           { return -1 }

func (r *ipcStreamReader) close() error {
	r.r.Release()
	return nil
}

func (r *ipcStreamReader) next(context.Context) (arrow.RecordBatch, error) {
	if r.r.Next() {
		r.seen++
		b := r.r.RecordBatch()
		b.Retain()
		return b, nil
	}
	if err := r.r.Err(); err != nil {
		return nil, lake.Errorf(lake.Invalid, "record batch %d: the stream is damaged or cut off: %w", r.seen, err)
	}
	return nil, io.EOF
}
