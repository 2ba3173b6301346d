// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// texts are the arrays whose values are text in one buffer.
type texts interface {
	arrow.Array
	Value(int) string
	ValueBytes() []byte
}

// isText reports whether all text in the array, also deep inside, is UTF-8.
// Readers of Arrow rely on it, and files are not always what their schema says.
func isText(a arrow.Array) bool {
	switch a := a.(type) {
	case *array.String:
		return validText(a)
	case *array.LargeString:
		return validText(a)
	case array.ExtensionArray:
		return isText(a.Storage())
	case *array.Struct:
		for i := range a.NumField() {
			if !isText(a.Field(i)) {
				return false
			}
		}
	case array.ListLike:
		return validInside(a)
	}
	return true
}

func validText(a texts) bool {
	if ascii(a.ValueBytes()) {
		return true
	}
	for i := range a.Len() {
		if a.IsValid(i) && !utf8.ValidString(a.Value(i)) {
			return false
		}
	}
	return true
}

// validInside looks at those values of a list that its rows have.
func validInside(a array.ListLike) bool {
	if a.Len() == 0 {
		return true
	}
	from, _ := a.ValueOffsets(0)
	_, to := a.ValueOffsets(a.Len() - 1)
	values := array.NewSlice(a.ListValues(), from, to)
	defer values.Release()
	return isText(values)
}

// highBits is the bit in each of eight bytes that ASCII does not use.
const highBits = 0x8080808080808080

// ascii reports whether all bytes are ASCII, which most text is, 32 at a time.
func ascii(b []byte) bool {
	for len(b) >= 32 {
		word := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) | binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if word&highBits != 0 {
			return false
		}
		b = b[32:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
