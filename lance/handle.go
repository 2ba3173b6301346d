// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lance/file"
)

// handle is an open data file that is closed when its last reference is
// dropped. References are held by the cache, by cursors that read, and by every
// Arrow buffer that points into the mapping. The last kind is what makes it
// safe to unmap: a batch may outlive its scan, dataset and cache, and touching
// it after the file is unmapped would kill the process.
//
// A handle is the allocator of such buffers, of which only Free is ever called:
// that is how the Arrow library tells that a buffer is no longer in use.
type handle struct {
	obj    Object
	reader *file.Reader
	mapped []byte // nil when the object is not mapped
	refs   atomic.Int64
}

var _ memory.Allocator = (*handle)(nil)

// newHandle takes over obj and returns a handle with one reference.
func newHandle(obj Object, reader *file.Reader) *handle {
	h := &handle{obj: obj, reader: reader}
	if m, ok := obj.(interface{ Bytes() []byte }); ok {
		h.mapped = m.Bytes()
	}
	h.refs.Store(1)
	return h
}

// farColumns is how many columns of a file that is not in memory are read at
// once. Their pages are fetched from afar, and waiting for them costs no
// processor.
const farColumns = 16

// columnsAtOnce is how many columns are worth reading at a time.
func (h *handle) columnsAtOnce() int {
	if h.mapped != nil {
		return 1
	}
	return farColumns
}

// retain adds a reference; the caller must hold one.
func (h *handle) retain() {
	if h.refs.Add(1) < 2 {
		panic("lance: a closed file was retained")
	}
}

// release drops a reference. The error of closing a file that was only read
// tells nothing that could be acted on.
func (h *handle) release() {
	switch n := h.refs.Add(-1); {
	case n == 0:
		_ = h.obj.Close()
	case n < 0:
		panic("lance: a file was released too often")
	}
}

// Free implements [memory.Allocator].
func (h *handle) Free([]byte) { h.release() }

// Allocate implements [memory.Allocator]. Pinned buffers never grow.
func (h *handle) Allocate(int) []byte { panic("lance: allocation from a mapped file") }

// Reallocate implements [memory.Allocator]. Pinned buffers never grow.
func (h *handle) Reallocate(int, []byte) []byte { panic("lance: allocation from a mapped file") }

// holds reports whether b points into the mapping.
func (h *handle) holds(b []byte) bool {
	if len(h.mapped) == 0 || cap(b) == 0 {
		return false
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(h.mapped)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return at >= start && at < start+uintptr(len(h.mapped))
}

// adopt returns the array with the given type, which must lay out like its
// own, and with every buffer that points into the mapping pinned. The caller
// keeps its reference to a and owns one to the result.
func (h *handle) adopt(a arrow.Array, want arrow.DataType) (arrow.Array, error) {
	data, err := h.adoptData(a.Data(), want)
	if err != nil {
		return nil, err
	}
	defer data.Release()
	return array.MakeFromData(data), nil
}

func (h *handle) adoptData(d arrow.ArrayData, want arrow.DataType) (arrow.ArrayData, error) {
	if d.DataType().ID() != want.ID() || want.ID() == arrow.DICTIONARY {
		return nil, corrupt("a data file holds type %s, the table has %s", d.DataType(), want)
	}
	children, err := h.adoptChildren(d, want)
	defer func() {
		for _, c := range children {
			c.Release()
		}
	}()
	if err != nil {
		return nil, err
	}
	buffers := make([]*memory.Buffer, len(d.Buffers()))
	for i, b := range d.Buffers() {
		if buffers[i] = b; b != nil && h.holds(b.Bytes()) {
			h.retain()
			buffers[i] = memory.NewBufferWithAllocator(b.Bytes(), h)
			defer buffers[i].Release() // NewData takes its own reference
		}
	}
	return array.NewData(want, d.Len(), buffers, children, d.NullN(), d.Offset()), nil
}

// adoptChildren returns the children in the order of the wanted type. Fields
// of a struct that the file does not have become null.
func (h *handle) adoptChildren(d arrow.ArrayData, want arrow.DataType) ([]arrow.ArrayData, error) {
	nested, ok := want.(arrow.NestedType)
	if !ok {
		return nil, nil
	}
	fields := nested.Fields()
	out := make([]arrow.ArrayData, 0, len(fields))
	for i, f := range fields {
		at := i
		if st, ok := d.DataType().(*arrow.StructType); ok {
			if at, ok = st.FieldIdx(f.Name); !ok {
				out = append(out, nullData(f.Type, d.Offset()+d.Len()))
				continue
			}
		}
		if at >= len(d.Children()) {
			return out, corrupt("a data file lacks the child %q of type %s", f.Name, want)
		}
		child, err := h.adoptData(d.Children()[at], f.Type)
		if err != nil {
			return out, err
		}
		out = append(out, child)
	}
	return out, nil
}

// nullData returns n nulls of a type, which the caller owns.
func nullData(dt arrow.DataType, n int) arrow.ArrayData {
	a := array.MakeArrayOfNull(memory.DefaultAllocator, dt, n)
	defer a.Release()
	a.Data().Retain()
	return a.Data()
}
