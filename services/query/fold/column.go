// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// integer are the Go types of whole numbers in Arrow.
type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// number are the Go types that are computed with.
type number interface {
	integer | float32 | float64
}

// view is a column of the batch at hand.
type view struct {
	array arrow.Array
	// valid is the bitmap of what is not null, from bit offset on; nil where
	// nothing is null.
	valid  []byte
	offset int
}

func viewOf(a arrow.Array) view {
	v := view{array: a, offset: a.Data().Offset()}
	if a.NullN() > 0 {
		v.valid = a.NullBitmapBytes()
	}
	return v
}

// source gives the values of a column. What it gives is only good until the
// next call.
type source[T number] interface {
	bind(a arrow.Array) error
	slice(from, n int) []T
}

// stored is a source of values that lie in a buffer as they are.
type stored[T number] struct{ values []T }

func (s *stored[T]) bind(a arrow.Array) (err error) {
	s.values, err = valuesOf[T](a)
	return err
}

// valuesOf are the values of an array of fixed width, one for each row.
func valuesOf[T arrow.FixedWidthType](a arrow.Array) ([]T, error) {
	values := arrow.GetValues[T](a.Data(), 1)
	if len(values) < a.Len() {
		return nil, lake.Errorf(lake.Corrupt, "there are %d values for %d rows", len(values), a.Len())
	}
	return values, nil
}

func (s *stored[T]) slice(from, n int) []T { return s.values[from : from+n] }

// booleans are a source of 0 and 1.
type booleans struct {
	bitmap []byte
	offset int
	bytes  [chunkRows]uint8
}

func (b *booleans) bind(a arrow.Array) error {
	b.offset, b.bitmap = a.Data().Offset(), nil
	if buffer := a.Data().Buffers()[1]; buffer != nil {
		b.bitmap = buffer.Bytes()
	}
	if need := b.offset + a.Len(); len(b.bitmap) < (need+7)/8 {
		return lake.Errorf(lake.Corrupt, "there are %d bytes for %d bits", len(b.bitmap), need)
	}
	return nil
}

func (b *booleans) slice(from, n int) []uint8 {
	out := b.bytes[:n]
	for at := 0; at < n; at += 64 {
		w := wordAt(b.bitmap, b.offset+from+at)
		for i := at; i < min(at+64, n); i++ {
			out[i] = uint8(w & 1)
			w >>= 1
		}
	}
	return out
}

// letters is a column of texts.
type letters[O int32 | int64] struct {
	offsets []O // one more than there are rows
	bytes   []byte
}

func (l *letters[O]) bind(a arrow.Array) error {
	data := a.Data()
	l.bytes = nil
	if b := data.Buffers()[2]; b != nil {
		l.bytes = b.Bytes()
	}
	if b := data.Buffers()[1]; b == nil || len(arrow.GetData[O](b.Bytes())) <= data.Offset()+data.Len() {
		return lake.Errorf(lake.Corrupt, "there are too few offsets for %d texts", data.Len())
	}
	l.offsets = arrow.GetOffsets[O](data, 1)
	return nil
}

// at is a text, if its offsets are sound.
func (l *letters[O]) at(row int) ([]byte, error) {
	from, to := int64(l.offsets[row]), int64(l.offsets[row+1])
	if from < 0 || to < from || to > int64(len(l.bytes)) {
		return nil, outside(int(from), int(to), len(l.bytes))
	}
	return l.bytes[from:to], nil
}

func outside(from, to, n int) error {
	return lake.Errorf(lake.Corrupt, "a text from byte %d to %d is not within %d", from, to, n)
}
