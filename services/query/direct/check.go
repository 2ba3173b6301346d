// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lake"
)

// check holds an array, also deep inside, against what readers of Arrow rely on,
// as the SQL engine does with what it is handed: files are not always what their
// schema says. What is wrong is lake.Corrupt.
func check(a arrow.Array) error {
	if a.Len() == 0 {
		return nil
	}
	switch a := a.(type) {
	case *array.String:
		return checkTexts(a, a.ValueOffsets())
	case *array.LargeString:
		return checkTexts(a, a.ValueOffsets())
	case *array.Binary:
		return checkOffsets(a.ValueOffsets(), contentOf(a))
	case *array.LargeBinary:
		return checkOffsets(a.ValueOffsets(), contentOf(a))
	case array.ExtensionArray:
		return check(a.Storage())
	case *array.Struct:
		for i := range a.NumField() {
			if err := check(a.Field(i)); err != nil {
				return err
			}
		}
	case *array.List:
		return checkLists(a, a.Offsets())
	case *array.LargeList:
		return checkLists(a, a.Offsets())
	case *array.Map:
		return checkLists(a, a.Offsets())
	case *array.FixedSizeList:
		return checkInside(a)
	}
	return nil
}

// contentOf is how long the values of an array of texts or bytes are.
func contentOf(a arrow.Array) int {
	if content := a.Data().Buffers()[2]; content != nil {
		return content.Len()
	}
	return 0
}

// checkOffsets wants them to rise within what they point into.
func checkOffsets[O int32 | int64](offsets []O, most int) error {
	last := offsets[0]
	falls := last < 0
	for _, at := range offsets {
		falls = falls || at < last
		last = at
	}
	if falls || int64(last) > int64(most) {
		return lake.Errorf(lake.Corrupt, "its offsets fall, or leave the %d they point into", most)
	}
	return nil
}

func checkLists[O int32 | int64](a array.ListLike, offsets []O) error {
	at := a.Data().Offset()
	if err := checkOffsets(offsets[at:at+a.Len()+1], a.ListValues().Len()); err != nil {
		return err
	}
	return checkInside(a)
}

// checkInside looks at those values of a list that its rows have.
func checkInside(a array.ListLike) error {
	from, _ := a.ValueOffsets(0)
	_, to := a.ValueOffsets(a.Len() - 1)
	if to > int64(a.ListValues().Len()) {
		return lake.Errorf(lake.Corrupt, "its lists need %d values, there are %d", to, a.ListValues().Len())
	}
	values := array.NewSlice(a.ListValues(), from, to)
	defer values.Release()
	return check(values)
}

// texts are the arrays whose values are text in one buffer.
type texts interface {
	arrow.Array
	Value(int) string
	ValueBytes() []byte
}

func checkTexts[O int32 | int64](a texts, offsets []O) error {
	if err := checkOffsets(offsets, contentOf(a)); err != nil || ascii(a.ValueBytes()) {
		return err
	}
	for i := range a.Len() {
		if a.IsValid(i) && !utf8.ValidString(a.Value(i)) {
			return lake.Errorf(lake.Corrupt, "it has text that is not UTF-8")
		}
	}
	return nil
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
