// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// appender copies rows of one result column into Arrow buffers. It reads the
// column's vectors in pre-order: v[0] is its own, its children's follow.
type appender interface {
	// add appends rows from..from+n.
	add(v []vector, from, n int) error
	// measure is about how many bytes add would append.
	measure(v []vector, from, n int) int
	// finish returns what was appended and starts anew.
	finish() arrow.ArrayData
	// nulls is the number of nulls appended since finish.
	nulls() int
}

// validity collects a validity bitmap.
type validity struct {
	bits []byte
	rows int
	null int
}

func (b *validity) nulls() int { return b.null }

func (b *validity) add(v vector, from, n int) {
	b.bits = grow(b.bits, (b.rows+n+7)/8-len(b.bits))
	if v.validity == nil {
		bitutil.SetBitsTo(b.bits, int64(b.rows), int64(n), true)
	} else {
		src := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v.validity))), len(v.validity)*8)
		bitutil.CopyBitmap(src, from, n, b.bits, b.rows)
		b.null += n - bitutil.CountSetBits(src, from, n)
	}
	b.rows += n
}

// grow lengthens b by n zero bytes.
func grow(b []byte, n int) []byte {
	if n <= 0 {
		return b
	}
	return append(b, make([]byte, n)...)
}

// finish makes the array and starts anew, with room for as much again.
func (b *validity) finish(dt arrow.DataType, buffers []*memory.Buffer, kids []arrow.ArrayData) arrow.ArrayData {
	all := append([]*memory.Buffer{nil}, buffers...)
	if b.null > 0 {
		all[0] = memory.NewBufferBytes(b.bits)
	}
	data := array.NewData(dt, b.rows, all, kids, b.null, 0)
	bits := b.bits[:0]
	if b.null > 0 {
		bits = make([]byte, 0, len(b.bits))
	}
	*b = validity{bits: bits}
	return data
}

// take hands a buffer over and returns an empty one of the same capacity.
func take(b *[]byte) *memory.Buffer {
	out := memory.NewBufferBytes(*b)
	*b = make([]byte, 0, len(*b))
	return out
}

// bytesOf views values as bytes, for appending.
func bytesOf[T any](s []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(zero)))
}

// copied appends values whose representation is the same on both sides.
type copied struct {
	validity
	dt    arrow.DataType
	width int
	data  []byte
}

func (a *copied) add(v []vector, from, n int) error {
	a.validity.add(v[0], from, n)
	src := unsafe.Slice((*byte)(unsafe.Add(v[0].data, from*a.width)), n*a.width)
	a.data = append(a.data, src...)
	return nil
}

func (a *copied) measure(_ []vector, _, n int) int { return n * a.width }

func (a *copied) finish() arrow.ArrayData {
	return a.validity.finish(a.dt, []*memory.Buffer{take(&a.data)}, nil)
}

// converted appends values of type S as values of type D. Nulls are not
// converted: what lies under them is arbitrary.
type converted[S, D any] struct {
	validity
	dt      arrow.DataType
	convert func(S) (D, error)
	data    []byte
}

func (a *converted[S, D]) add(v []vector, from, n int) error {
	a.validity.add(v[0], from, n)
	src := values[S](v[0])
	start := len(a.data)
	var zero D
	a.data = grow(a.data, n*int(unsafe.Sizeof(zero)))
	dst := unsafe.Slice((*D)(unsafe.Pointer(&a.data[start])), n)
	for i := range n {
		if !v[0].valid(from + i) {
			continue
		}
		d, err := a.convert(src[from+i])
		if err != nil {
			return err
		}
		dst[i] = d
	}
	return nil
}

func (a *converted[S, D]) measure(_ []vector, _, n int) int {
	var zero D
	return n * int(unsafe.Sizeof(zero))
}

func (a *converted[S, D]) finish() arrow.ArrayData {
	return a.validity.finish(a.dt, []*memory.Buffer{take(&a.data)}, nil)
}

// bools packs bytes into bits.
type bools struct {
	validity
	dt   arrow.DataType
	data []byte
}

func (a *bools) add(v []vector, from, n int) error {
	at := a.rows
	a.validity.add(v[0], from, n)
	a.data = grow(a.data, (at+n+7)/8-len(a.data))
	for i, b := range values[byte](v[0])[from : from+n] {
		if b != 0 {
			bitutil.SetBit(a.data, at+i)
		}
	}
	return nil
}

func (a *bools) measure(_ []vector, _, n int) int { return (n + 7) / 8 }

func (a *bools) finish() arrow.ArrayData {
	return a.validity.finish(a.dt, []*memory.Buffer{take(&a.data)}, nil)
}

// nothings counts rows of a column that is null by type.
type nothings struct {
	dt   arrow.DataType
	rows int
}

func (a *nothings) add(_ []vector, _, n int) error { a.rows += n; return nil }
func (a *nothings) measure([]vector, int, int) int { return 0 }
func (a *nothings) nulls() int                     { return a.rows }

func (a *nothings) finish() arrow.ArrayData {
	data := array.NewData(a.dt, a.rows, []*memory.Buffer{nil}, nil, a.rows, 0)
	a.rows = 0
	return data
}
