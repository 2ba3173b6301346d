// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lance/lancepb"
)

// benchDataset has equal fragments, which share one data file's bytes.
func benchDataset(b *testing.B, fragments int, perFragment int64) *Dataset {
	b.Helper()
	m, err := NewManifest(vecSchema(), testCommit())
	if err != nil {
		b.Fatal(err)
	}
	st := newPoisonStorage()
	batch := rows(0, perFragment)
	r, err := array.NewRecordReader(batch.Schema(), []arrow.RecordBatch{batch})
	if err != nil {
		b.Fatal(err)
	}
	frag, err := WriteFragment(b.Context(), st, m.Fields(), r)
	if err != nil {
		b.Fatal(err)
	}
	raw := st.objects[dataDir+frag.Files[0].Path]
	all := make([]*lancepb.DataFragment, fragments)
	for i := range all {
		name := fmt.Sprintf("%d.lance", i)
		st.objects[dataDir+name] = raw
		all[i] = testFragment(uint64(perFragment), name)
		all[i].Files[0] = &lancepb.DataFile{
			Path: name, Fields: frag.Files[0].Fields, ColumnIndices: frag.Files[0].ColumnIndices,
			FileMajorVersion: 2, FileMinorVersion: 1, FileSizeBytes: frag.Files[0].FileSizeBytes,
		}
	}
	if m, err = m.Append(all, testCommit()); err != nil {
		b.Fatal(err)
	}
	d, err := Open(b.Context(), st, m, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = d.Close() })
	return d
}

func scanAll(b *testing.B, d *Dataset, o ScanOptions) (rows, batches int64) {
	b.Helper()
	s, err := d.Scan(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for {
		batch, err := s.Next(b.Context())
		if errors.Is(err, io.EOF) {
			return rows, batches
		}
		if err != nil {
			b.Fatal(err)
		}
		rows += batch.NumRows()
		batches++
		batch.Release()
	}
}

// BenchmarkScan reads tables that differ in how many rows one append brought.
func BenchmarkScan(b *testing.B) {
	for _, c := range []struct {
		fragments int
		rows      int64
	}{{2_000, 10}, {20, 1_000}, {2, 50_000}} {
		b.Run(fmt.Sprintf("%dx%d", c.fragments, c.rows), func(b *testing.B) {
			d := benchDataset(b, c.fragments, c.rows)
			scanAll(b, d, ScanOptions{}) // open the files
			b.ReportAllocs()
			var rows, batches int64
			for b.Loop() {
				rows, batches = scanAll(b, d, ScanOptions{})
			}
			b.ReportMetric(float64(rows*int64(b.N))/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.fragments), "ns/fragment")
			b.ReportMetric(float64(batches), "batches")
		})
	}
}
