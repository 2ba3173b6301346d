// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/schema"
)

// A compact file in memory, and one row of it.
func Example() {
	s := arrow.NewSchema([]arrow.Field{{Name: "city", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for i := range 10000 {
		b.Field(0).(*array.StringBuilder).Append([]string{"Oslo", "Lima", "Kyoto"}[i%3])
	}
	rec := b.NewRecordBatch()
	defer rec.Release()

	fields, err := schema.FromArrow(s)
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	w, err := file.NewWriter(&out, s, fields, file.WriterOptions{Compact: true})
	if err != nil {
		panic(err)
	}
	if err := w.Write(rec); err != nil {
		panic(err)
	}
	written, err := w.Close()
	if err != nil {
		panic(err)
	}

	ctx := context.Background()
	r, err := file.Open(ctx, file.Bytes(out.Bytes()), file.Options{})
	if err != nil {
		panic(err)
	}
	taken, err := r.Take(ctx, []uint64{4711}, nil)
	if err != nil {
		panic(err)
	}
	defer taken.Release()
	fmt.Println(written.Rows, "rows in less than 4 KB:", written.Size < 4096)
	fmt.Println(taken.Column(0))
	// Output:
	// 10000 rows in less than 4 KB: true
	// ["Lima"]
}
