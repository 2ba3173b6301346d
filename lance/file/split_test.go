// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lance/file/filetest"
)

// TestSparseListsStayInMiniBlocks holds the shapes that would need full-zip
// pages if a chunk could not take long runs of empty lists: stock LanceDB 0.31.0
// does not read those below a struct that may be null.
func TestSparseListsStayInMiniBlocks(t *testing.T) {
	for _, c := range filetest.SparseColumns {
		for _, compact := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", c.Name, compact), func(t *testing.T) {
				mem := checked(t)
				s := arrow.NewSchema([]arrow.Field{c.Field}, nil)
				col := c.Array(mem)
				defer col.Release()
				rec := array.NewRecordBatch(s, []arrow.Array{col}, int64(col.Len()))
				defer rec.Release()
				b, _ := writeFile(t, s, WriterOptions{Compact: compact}, rec)
				r := openBytes(t, b, false, mem)
				names, err := r.Encodings()
				if err != nil {
					t.Fatal(err)
				}
				if names["full_zip_layout"] > 0 || names["mini_block_layout"] == 0 {
					t.Errorf("layouts: %v", names)
				}
				got := scanTable(t, r, ScanOptions{}, mem)
				defer releaseAll(got)
				same(t, s, got, []arrow.Array{col})
				checkRanges(t, rand.New(rand.NewPCG(1, 1)), r, s, []arrow.Array{col}, mem)
				checkTake(t, rand.New(rand.NewPCG(1, 1)), r, s, []arrow.Array{col}, mem)
			})
		}
	}
}
