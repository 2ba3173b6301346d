// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import "github.com/apache/arrow-go/v18/arrow"

// BatchSize returns the bytes of the buffers a batch refers to. A slice counts
// the whole of the buffers it is a part of.
func BatchSize(batch arrow.RecordBatch) uint64 {
	var n uint64
	for _, c := range batch.Columns() {
		n += dataSize(c.Data())
	}
	return n
}

func dataSize(d arrow.ArrayData) uint64 {
	var n uint64
	for _, b := range d.Buffers() {
		if b != nil {
			n += uint64(b.Len())
		}
	}
	for _, c := range d.Children() {
		n += dataSize(c)
	}
	return n
}
