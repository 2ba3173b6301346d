// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

// offset is the type of an Arrow offset.
type offset interface{ ~int32 | ~int64 }

// offsets collects the ends of variable-length values.
type offsets[O offset] struct {
	ends []O
}

func (o *offsets[O]) push(end int) {
	if len(o.ends) == 0 {
		o.ends = append(o.ends, 0)
	}
	o.ends = append(o.ends, O(end))
}

func (o *offsets[O]) take() *memory.Buffer {
	if len(o.ends) == 0 {
		o.ends = append(o.ends, 0)
	}
	out := memory.NewBufferBytes(bytesOf(o.ends))
	o.ends = make([]O, 0, len(o.ends))
	return out
}

// strings appends text or binary values.
type stringsOf[O offset] struct {
	validity
	offsets[O]
	dt   arrow.DataType
	data []byte
}

func (a *stringsOf[O]) add(v []vector, from, n int) error {
	a.validity.add(v[0], from, n)
	for i := from; i < from+n; i++ {
		if v[0].valid(i) {
			a.data = append(a.data, stringAt(v[0].data, i)...)
		}
		a.push(len(a.data))
	}
	return nil
}

func (a *stringsOf[O]) measure(v []vector, from, n int) int {
	return n*4 + textBytes(v[0], from, n)
}

func textBytes(v vector, from, n int) int {
	size := 0
	entries := values[stringEntry](v)
	for i := from; i < from+n; i++ {
		if v.valid(i) {
			size += int(entries[i].length)
		}
	}
	return size
}

func (a *stringsOf[O]) finish() arrow.ArrayData {
	ends := a.offsets.take()
	return a.validity.finish(a.dt, []*memory.Buffer{ends, take(&a.data)}, nil)
}

// fixedBlobs appends blobs that all have the same size.
type fixedBlobs struct {
	validity
	dt    arrow.DataType
	width int
	data  []byte
}

func (a *fixedBlobs) add(v []vector, from, n int) error {
	a.validity.add(v[0], from, n)
	for i := from; i < from+n; i++ {
		if !v[0].valid(i) {
			a.data = grow(a.data, a.width)
			continue
		}
		b := stringAt(v[0].data, i)
		if len(b) != a.width {
			return lake.Errorf(lake.Corrupt, "a value of %d bytes in a column of %d-byte values", len(b), a.width)
		}
		a.data = append(a.data, b...)
	}
	return nil
}

func (a *fixedBlobs) measure(_ []vector, _, n int) int { return n * a.width }

func (a *fixedBlobs) finish() arrow.ArrayData {
	return a.validity.finish(a.dt, []*memory.Buffer{take(&a.data)}, nil)
}

// formatted appends values of type S as text.
type formatted[S any] struct {
	validity
	offsets[int32]
	dt     arrow.DataType
	format func([]byte, S) []byte
	data   []byte
}

func (a *formatted[S]) add(v []vector, from, n int) error {
	a.validity.add(v[0], from, n)
	src := values[S](v[0])
	for i := from; i < from+n; i++ {
		if v[0].valid(i) {
			a.data = a.format(a.data, src[i])
		}
		a.push(len(a.data))
	}
	return nil
}

// formattedBytes is a fair guess at the text of a formatted value.
const formattedBytes = 40

func (a *formatted[S]) measure(_ []vector, _, n int) int { return n * formattedBytes }

func (a *formatted[S]) finish() arrow.ArrayData {
	ends := a.offsets.take()
	return a.validity.finish(a.dt, []*memory.Buffer{ends, take(&a.data)}, nil)
}
