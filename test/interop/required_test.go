// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/file/filetest"
)

// TestStockReadsRequiredFieldsOfNullableStructs: tables may have required fields
// below fields that may be null, and null values there.
func TestStockReadsRequiredFieldsOfNullableStructs(t *testing.T) {
	stock := startStock(t)
	strict := 0
	for seed := range 3 * seeds() {
		g := &filetest.Generator{R: rand.New(rand.NewPCG(uint64(seed), 11)), Mem: memory.DefaultAllocator, MaxDepth: 1 + seed%3}
		s := g.Schema(1 + g.R.IntN(4))
		if !requiredBelowNullable(s.Fields(), false) {
			continue
		}
		strict++
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			batch := g.Batch(s, 1+g.R.IntN(500))
			writeOwn(t, filepath.Join(dir, "t.lance"), s, file.WriterOptions{}, batch)
			readsBack(t, stock, dir, s, columns(t, s, []arrow.RecordBatch{batch}))
		})
	}
	if strict < 3 {
		t.Errorf("only %d of the tables have such fields", strict)
	}
}

func requiredBelowNullable(fields []arrow.Field, below bool) bool {
	for _, f := range fields {
		if below && !f.Nullable {
			return true
		}
		switch t := f.Type.(type) {
		case *arrow.StructType:
			if requiredBelowNullable(t.Fields(), below || f.Nullable) {
				return true
			}
		case *arrow.ListType:
			if requiredBelowNullable(t.Fields(), below || f.Nullable) {
				return true
			}
		}
	}
	return false
}
