// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/lakeplane/lake/lake"
)

// countedFile counts the bytes read, for progress.
type countedFile struct {
	*os.File
	size int64
	read atomic.Int64
}

func openCounted(path string) (*countedFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // checked before opening: a pipe would block
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &countedFile{File: f, size: info.Size()}, nil
}

// Read implements io.Reader.
func (f *countedFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.read.Add(int64(n))
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *countedFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	f.read.Add(int64(n))
	return n, err
}

// WriteTo hides the one of os.File, which would not count.
func (f *countedFile) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{f})
}

// rewind starts another pass.
func (f *countedFile) rewind() error {
	_, err := f.Seek(0, io.SeekStart)
	f.read.Store(0)
	return err
}

// format is a way to read a file.
type format struct {
	name string
	open func(ctx context.Context, f *countedFile, path string, opts Options) (reader, error)
}

var (
	parquetFormat = format{"Parquet", openParquet}
	ipcFile       = format{"Arrow IPC file", openIPCFile}
	ipcStream     = format{"Arrow IPC stream", openIPCStream}
	csvFormat     = format{"CSV", openCSV}
)

// magics are the first bytes of the formats that have some.
var magics = []struct {
	bytes  string
	format format
}{
	{"PAR1", parquetFormat},
	{"ARROW1\x00\x00", ipcFile},
	{"\xff\xff\xff\xff", ipcStream},
}

// byName are the formats a file name announces.
var byName = map[string]format{
	".parquet": parquetFormat, ".pq": parquetFormat, ".parq": parquetFormat,
	".arrow": ipcFile, ".feather": ipcFile, ".ipc": ipcFile, ".arrows": ipcStream,
	".csv": csvFormat, ".tsv": csvFormat, ".txt": csvFormat,
}

// detect finds a file's format and refuses what cannot be one.
func detect(f *countedFile, path string) (format, error) {
	head := make([]byte, 8)
	n, err := f.File.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return format{}, lake.Errorf(lake.Invalid, "cannot be read: %w", err)
	}
	head = head[:n]
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			return m.format, nil
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("PARE")):
		return format{}, lake.Errorf(lake.Invalid, "the Parquet file has an encrypted footer, which is not supported")
	case bytes.HasPrefix(head, []byte("FEA1")):
		return format{}, lake.Errorf(lake.Invalid, "Feather version 1 is not supported: write it again as an Arrow IPC file")
	}
	named, known := byName[extensionOf(path)]
	switch {
	case !known:
		return format{}, lake.Errorf(lake.Invalid, "neither its first bytes (%s) nor its name say what it is: want a Parquet, Arrow IPC or CSV file (.csv, .tsv)", show(head))
	case named.name != csvFormat.name:
		return format{}, lake.Errorf(lake.Invalid, "not a %s: it starts with %s", named.name, show(head))
	}
	return named, nil
}

// extensionOf is the lower-case extension of a file's name, without .gz.
func extensionOf(path string) string {
	return filepath.Ext(strings.TrimSuffix(strings.ToLower(path), ".gz"))
}

func isGzip(path string) bool { return strings.EqualFold(filepath.Ext(path), ".gz") }

func show(head []byte) string {
	if len(head) == 0 {
		return "nothing, it is empty"
	}
	return fmt.Sprintf("%q", head)
}
