// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/internal/ingest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var mem = memory.DefaultAllocator

// put writes a file for one test.
func put(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func field(name string, dt arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: true}
}

// batch makes rows of JSON.
func batch(t testing.TB, schema *arrow.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	b, _, err := array.RecordFromJSON(mem, schema, strings.NewReader(rows))
	require.NoError(t, err)
	return b
}

// asParquet encodes batches of one schema, each as a row group.
func asParquet(t testing.TB, props *parquet.WriterProperties, batches ...arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(batches[0].Schema(), &out, props, pqarrow.DefaultWriterProps())
	require.NoError(t, err)
	for _, b := range batches {
		require.NoError(t, w.Write(b))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func asStream(t testing.TB, batches ...arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(batches[0].Schema()))
	for _, b := range batches {
		require.NoError(t, w.Write(b))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func asIPCFile(t testing.TB, batches ...arrow.RecordBatch) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := ipc.NewFileWriter(&out, ipc.WithSchema(batches[0].Schema()))
	require.NoError(t, err)
	for _, b := range batches {
		require.NoError(t, w.Write(b))
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// readAll returns a file's rows as JSON lines and the sizes of its batches.
func readAll(t testing.TB, s *ingest.Source) (rows []string, sizes []int64, err error) {
	t.Helper()
	for {
		b, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return rows, sizes, nil
		}
		if err != nil {
			return rows, sizes, err
		}
		require.True(t, b.Schema().Equal(s.Schema()))
		var out strings.Builder
		require.NoError(t, array.RecordToJSON(b, &out))
		rows = append(rows, strings.Split(strings.TrimSpace(out.String()), "\n")...)
		sizes = append(sizes, b.NumRows())
		b.Release()
	}
}

// mustRead opens a file and reads all of it.
func mustRead(t testing.TB, path string, opts ingest.Options) (*ingest.Source, []string) {
	t.Helper()
	s, err := ingest.Open(t.Context(), path, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	rows, _, err := readAll(t, s)
	require.NoError(t, err)
	return s, rows
}

// failure opens and reads a file that is wrong somewhere.
func failure(t testing.TB, path string, opts ingest.Options) error {
	t.Helper()
	s, err := ingest.Open(t.Context(), path, opts)
	if err != nil {
		return err
	}
	defer s.Close()
	_, _, err = readAll(t, s)
	return err
}
