// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/internal/untrusted"
	"github.com/lakeplane/lake/lake"
)

// checkArray refuses an array whose lengths or offsets point outside its
// buffers or whose text is not UTF-8. Files may hold such arrays, and every
// later reader relies on there being none.
func checkArray(arr arrow.Array) error {
	if err := checkStrings(arr); err != nil { // first, since it says which value
		return err
	}
	if err := untrusted.Check(arr); err != nil {
		return lake.Errorf(lake.Invalid, "the data is damaged: %w", err)
	}
	return nil
}

// checkStrings refuses text that is not UTF-8. It panics on offsets outside of
// their buffers.
func checkStrings(arr arrow.Array) error {
	switch a := arr.(type) {
	case *array.String:
		return checkUTF8(a.Len(), a.Value)
	case *array.LargeString:
		return checkUTF8(a.Len(), a.Value)
	case *array.StringView:
		return checkUTF8(a.Len(), a.Value)
	case *array.Dictionary:
		return checkStrings(a.Dictionary())
	case *array.Struct:
		for i := range a.NumField() {
			if err := checkStrings(a.Field(i)); err != nil {
				return err
			}
		}
	case array.ListLike:
		return checkStrings(a.ListValues())
	case array.ExtensionArray:
		return checkStrings(a.Storage())
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
