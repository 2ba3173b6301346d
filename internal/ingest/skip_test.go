// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/ingest"
	"github.com/lakeplane/lake/lake"
)

// mixed has types of every layout, with nulls.
var mixed = arrow.NewSchema([]arrow.Field{
	field("i", arrow.PrimitiveTypes.Int64), field("f", arrow.PrimitiveTypes.Float32), field("b", arrow.FixedWidthTypes.Boolean),
	field("s", arrow.BinaryTypes.String), field("t", &arrow.TimestampType{Unit: arrow.Microsecond}), field("l", arrow.ListOf(arrow.PrimitiveTypes.Int32)),
	field("st", arrow.StructOf(field("x", arrow.PrimitiveTypes.Int16), field("y", arrow.BinaryTypes.String))),
	field("v", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)),
}, nil)

// mixedRows makes n rows from a number on; about a third of the values is null.
func mixedRows(t testing.TB, from, n int) arrow.RecordBatch {
	t.Helper()
	var rows []string
	for i := from; i < from+n; i++ {
		fields := []string{
			fmt.Sprintf(`"i": %d`, i), fmt.Sprintf(`"f": %d.5`, i), fmt.Sprintf(`"b": %t`, i%2 == 0), fmt.Sprintf(`"s": "text %d"`, i*i),
			fmt.Sprintf(`"t": "2026-01-01 00:00:%02d.500000"`, i%60), fmt.Sprintf(`"l": [%d, null, %d]`, i, -i),
			fmt.Sprintf(`"st": {"x": %d, "y": "%d"}`, i%100, i), fmt.Sprintf(`"v": [%d, 0.5]`, i),
		}
		var kept []string
		for k, f := range fields {
			if (i*7+k*3)%5 > 1 || k == 7 { // Parquet has no null of a fixed-size list
				kept = append(kept, f)
			}
		}
		rows = append(rows, "{"+strings.Join(kept, ",")+"}")
	}
	return batch(t, mixed, "["+strings.Join(rows, ",")+"]")
}

// encodings are the batches that follow, as an append would send them.
func encodings(t testing.TB, s *ingest.Source) (sizes []int64, encoded [][]byte) {
	t.Helper()
	for {
		b, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return sizes, encoded
		}
		require.NoError(t, err)
		p, err := ipc.GetRecordBatchPayload(b)
		require.NoError(t, err)
		meta := p.Meta()
		out := bytes.NewBuffer(bytes.Clone(meta.Bytes()))
		meta.Release()
		require.NoError(t, p.SerializeBody(out))
		p.Release()
		sizes, encoded = append(sizes, b.NumRows()), append(encoded, out.Bytes())
		b.Release()
	}
}

func csvOf(n int) []byte {
	var out strings.Builder
	out.WriteString("a,b,c\n")
	for i := range n {
		fmt.Fprintf(&out, "%d,\"te,xt\n%d\",%s\n", i, i, strings.Repeat("1.5", i%2))
	}
	return []byte(out.String())
}

func gzipped(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(data)
	_ = w.Close()
	return out.Bytes()
}

// TestSkippedRowsLeaveTheRestAsItWas: whatever number of batches is skipped,
// the others are encoded as in a whole pass. Otherwise an append that is sent
// again would not be known again.
func TestSkippedRowsLeaveTheRestAsItWas(t *testing.T) {
	snappy := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDataPageSize(200))
	plain := parquet.NewWriterProperties(parquet.WithDictionaryDefault(false), parquet.WithMaxRowGroupLength(17))
	batches := []arrow.RecordBatch{mixedRows(t, 0, 40), mixedRows(t, 40, 3), mixedRows(t, 43, 57)}
	wide := arrow.NewSchema(append(mixed.Fields()[:7], field("v", arrow.ListOf(arrow.PrimitiveTypes.Float32)), field("none", arrow.PrimitiveTypes.Int8)), nil)
	for name, test := range map[string]struct {
		path   string
		target *arrow.Schema
	}{
		"parquet with dictionaries": {put(t, "a.parquet", asParquet(t, snappy, batches...)), nil},
		"parquet, plain":            {put(t, "b.parquet", asParquet(t, plain, batches...)), nil},
		"parquet into a table":      {put(t, "b.parquet", asParquet(t, plain, batches...)), wide},
		"ipc file":                  {put(t, "c.arrow", asIPCFile(t, batches...)), nil},
		"ipc stream":                {put(t, "d.arrows", asStream(t, batches...)), nil},
		"csv":                       {put(t, "e.csv", csvOf(100)), nil},
		"csv, compressed":           {put(t, "f.csv.gz", gzipped(csvOf(100))), nil},
	} {
		t.Run(name, func(t *testing.T) {
			opts := ingest.Options{BatchRows: 8, Target: test.target}
			open := func() *ingest.Source {
				s, err := ingest.Open(t.Context(), test.path, opts)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				return s
			}
			sizes, want := encodings(t, open())
			require.Greater(t, len(want), 12)
			var skipped int64
			for i := range len(want) + 1 {
				s := open()
				require.NoError(t, s.Skip(t.Context(), skipped))
				restSizes, rest := encodings(t, s)
				require.Equal(t, sizes[i:], append([]int64{}, restSizes...), "after %d rows", skipped)
				require.Equal(t, want[i:], append([][]byte{}, rest...), "after %d rows", skipped)
				if i < len(want) {
					skipped += sizes[i]
				}
			}
			require.Equal(t, int64(100), skipped)
			err := open().Skip(t.Context(), 101)
			require.True(t, lake.Is(err, lake.Invalid), "%v", err)
			require.ErrorContains(t, err, "rows, which are fewer than")
		})
	}
}

func TestSkipInTwoSteps(t *testing.T) {
	path := put(t, "a.parquet", asParquet(t, parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(10)), mixedRows(t, 0, 60)))
	s, err := ingest.Open(t.Context(), path, ingest.Options{BatchRows: 4})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Skip(t.Context(), 8))
	b, err := s.Next(t.Context())
	require.NoError(t, err)
	b.Release()
	require.NoError(t, s.Skip(t.Context(), 24))
	b, err = s.Next(t.Context())
	require.NoError(t, err)
	defer b.Release()
	require.Equal(t, `36`, b.Column(0).(*array.Int64).ValueStr(0))
}
