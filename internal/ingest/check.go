// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lake"
)

// checkArray refuses an array whose offsets point outside its buffers or whose
// text is not UTF-8. Files may hold such arrays, and every later reader relies
// on there being none.
func checkArray(arr arrow.Array) error {
	switch a := arr.(type) {
	case *array.String: // its own validation would print the bytes at fault
		return checkUTF8(a.Len(), a.Value)
	case *array.LargeString:
		return checkUTF8(a.Len(), a.Value)
	case *array.StringView:
		return checkUTF8(a.Len(), a.Value)
	}
	if v, ok := arr.(interface{ ValidateFull() error }); ok {
		if err := v.ValidateFull(); err != nil {
			return lake.Errorf(lake.Invalid, "the data is damaged: %w", err)
		}
	}
	return checkChildren(arr)
}

func checkChildren(arr arrow.Array) error {
	switch a := arr.(type) {
	case *array.Dictionary:
		return checkArray(a.Dictionary())
	case *array.Struct:
		for i := range a.NumField() {
			if err := checkArray(a.Field(i)); err != nil {
				return err
			}
		}
	case array.ListLike:
		return checkArray(a.ListValues())
	case array.ExtensionArray:
		return checkArray(a.Storage())
	}
	return nil
}

func checkUTF8(n int, value func(int) string) error {
	for i := range n {
		if !utf8.ValidString(value(i)) {
			return lake.Errorf(lake.Invalid, "value %d is not UTF-8 text: store it as binary", i+1)
		}
	}
	return nil
}
