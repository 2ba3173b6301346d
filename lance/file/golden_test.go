// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/file/filetest"
)

// TestSamplesOfStock reads files that stock LanceDB wrote and compares them
// with the rows it was given. The samples are made by `go test ./test/interop
// -run WriteSamples -update`.
func TestSamplesOfStock(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "stock", "*.lance"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".lance")
		for _, mapped := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/mapped=%t", name, mapped), func(t *testing.T) {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				s, want := readIPCFile(t, strings.TrimSuffix(path, ".lance")+".arrow")
				defer releaseAll(want)
				mem := checked(t)
				r := openBytes(t, b, mapped, mem)
				major, minor := r.Version()
				if !strings.HasSuffix(name, fmt.Sprintf("%d.%d", major, minor)) {
					t.Errorf("version %d.%d", major, minor)
				}
				got := scanTable(t, r, ScanOptions{BatchRows: 77}, mem)
				defer releaseAll(got)
				for i, f := range s.Fields() {
					if d := filetest.Difference(got[i], want[i]); d != "" {
						t.Errorf("column %s: %s", f.Name, d)
					}
				}
			})
		}
	}
}

func readIPCFile(t *testing.T, path string) (*arrow.Schema, []arrow.Array) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := ipc.NewFileReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var batches []arrow.RecordBatch
	for i := range r.NumRecords() {
		b, err := r.RecordBatch(i)
		if err != nil {
			t.Fatal(err)
		}
		b.Retain()
		batches = append(batches, b)
	}
	return r.Schema(), concat(t, r.Schema(), batches, memory.DefaultAllocator)
}
