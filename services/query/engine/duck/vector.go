// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

// #include "result.h"
import "C"

import "unsafe"

// vector is one vector of a result chunk, read in place. It is valid until the
// chunk is destroyed.
type vector struct {
	data     unsafe.Pointer
	validity []uint64 // nil: no nulls
	length   int
}

// chunkReader finds the vectors of chunks of one result type.
type chunkReader struct {
	shapes  []C.int32_t
	sizes   []C.int64_t
	columns int
	found   []C.lake_vec
	vectors []vector
}

func newChunkReader(types []logical) *chunkReader {
	r := &chunkReader{columns: len(types)}
	for _, t := range types {
		r.add(t)
	}
	r.found = make([]C.lake_vec, len(r.shapes)+1)
	r.vectors = make([]vector, len(r.shapes))
	return r
}

func (r *chunkReader) add(t logical) {
	shape, kids := C.int32_t(C.LAKE_LEAF), t.children
	switch t.id {
	case tList:
		shape = C.LAKE_OF_LIST
	case tMap:
		// A map is a list of structs with two fields.
		shape, kids = C.LAKE_OF_LIST, []logical{mapEntry(t)}
	case tArray:
		shape = C.LAKE_OF_ARRAY
	case tStruct:
		shape = C.int32_t(len(kids))
	}
	r.shapes = append(r.shapes, shape)
	r.sizes = append(r.sizes, C.int64_t(t.size))
	for _, k := range kids {
		r.add(k)
	}
}

// mapEntry is the struct a map is a list of.
func mapEntry(t logical) logical {
	return logical{id: tStruct, names: []string{"key", "value"}, children: t.children}
}

// read returns the vectors of the chunk in pre-order. The slice is reused.
func (r *chunkReader) read(c chunk) []vector {
	if len(r.shapes) == 0 {
		return nil
	}
	C.lake_describe(c.c, &r.shapes[0], &r.sizes[0], C.int32_t(r.columns), &r.found[0])
	for i := range r.vectors {
		f := r.found[i]
		v := vector{data: f.data, length: int(f.length)}
		if f.validity != nil {
			v.validity = unsafe.Slice((*uint64)(unsafe.Pointer(f.validity)), (v.length+63)/64)
		}
		r.vectors[i] = v
	}
	return r.vectors
}

func (v vector) valid(i int) bool {
	return v.validity == nil || v.validity[i>>6]>>(i&63)&1 != 0
}

// values views a vector's data as fixed-width values.
func values[T any](v vector) []T { return unsafe.Slice((*T)(v.data), v.length) }

// listEntry is duckdb_list_entry.
type listEntry struct{ offset, length uint64 }

// stringEntry is duckdb_string_t: short strings are inside, long ones behind a
// pointer.
type stringEntry struct {
	length uint32
	prefix [4]byte
	rest   [8]byte
}

const inlineBytes = 12

// stringAt returns the bytes of string i, in DuckDB's memory.
func stringAt(data unsafe.Pointer, i int) []byte {
	e := (*stringEntry)(unsafe.Add(data, uintptr(i)*unsafe.Sizeof(stringEntry{})))
	if e.length <= inlineBytes {
		return unsafe.Slice(&e.prefix[0], e.length)
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&e.rest)), e.length)
}
