// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package filetest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Difference describes the first difference of two arrays, or returns "". What
// lies below a null is not compared.
func Difference(got, want arrow.Array) string {
	if !arrow.TypeEqual(got.DataType(), want.DataType()) {
		return fmt.Sprintf("type %s, want %s", got.DataType(), want.DataType())
	}
	if got.Len() != want.Len() {
		return fmt.Sprintf("%d values, want %d", got.Len(), want.Len())
	}
	if array.Equal(got, want) {
		return ""
	}
	for i := range got.Len() {
		if !array.SliceEqual(got, int64(i), int64(i+1), want, int64(i), int64(i+1)) {
			if got.ValueStr(i) == want.ValueStr(i) {
				continue // they differ below a null
			}
			g, w := around(got.ValueStr(i), want.ValueStr(i))
			return fmt.Sprintf("value %d of %d is %s, want %s", i, got.Len(), g, w)
		}
	}
	if got.NullN() != want.NullN() {
		return fmt.Sprintf("%d nulls, want %d", got.NullN(), want.NullN())
	}
	return ""
}

// around cuts two texts to where they differ.
func around(a, b string) (string, string) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	from := max(0, n-60)
	return cut(a, from), cut(b, from)
}

func cut(s string, from int) string {
	s = s[min(from, len(s)):]
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return s
}
