// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package filetest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Difference describes the first difference of two arrays, or returns "".
func Difference(got, want arrow.Array) string {
	if !arrow.TypeEqual(got.DataType(), want.DataType()) {
		return fmt.Sprintf("type %s, want %s", got.DataType(), want.DataType())
	}
	if got.Len() != want.Len() {
		return fmt.Sprintf("%d values, want %d", got.Len(), want.Len())
	}
	for i := range got.Len() {
		if !array.SliceEqual(got, int64(i), int64(i+1), want, int64(i), int64(i+1)) {
			return fmt.Sprintf("value %d of %d is %.200s, want %.200s", i, got.Len(), got.ValueStr(i), want.ValueStr(i))
		}
	}
	if got.NullN() != want.NullN() {
		return fmt.Sprintf("%d nulls, want %d", got.NullN(), want.NullN())
	}
	return ""
}
