// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package untrusted

import flatbuffers "github.com/google/flatbuffers/go"

// fbTable adds to a flatbuffers table what Inspect needs. Its methods panic on
// offsets outside of the buffer.
type fbTable struct{ flatbuffers.Table }

// root returns the table a flatbuffer begins with.
func root(b []byte) fbTable {
	return fbTable{flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}}
}

// at returns the position of a field, 0 when it is absent.
func (t fbTable) at(slot flatbuffers.VOffsetT) flatbuffers.UOffsetT {
	if o := t.Offset(slot); o != 0 {
		return flatbuffers.UOffsetT(o) + t.Pos
	}
	return 0
}

func (t fbTable) int64(slot flatbuffers.VOffsetT) int64 {
	if at := t.at(slot); at != 0 {
		return t.GetInt64(at)
	}
	return 0
}

func (t fbTable) child(slot flatbuffers.VOffsetT) (fbTable, bool) {
	at := t.at(slot)
	if at == 0 {
		return fbTable{}, false
	}
	return fbTable{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at)}}, true
}

// size returns the length of a string field.
func (t fbTable) size(slot flatbuffers.VOffsetT) int {
	if at := t.at(slot); at != 0 {
		return int(t.GetUOffsetT(t.Indirect(at)))
	}
	return 0
}

// each calls f with the tables of a vector field.
func (t fbTable) each(slot flatbuffers.VOffsetT, f func(fbTable) error) error {
	o := t.Offset(slot)
	if o == 0 {
		return nil
	}
	start := t.Vector(flatbuffers.UOffsetT(o))
	for i := range t.VectorLen(flatbuffers.UOffsetT(o)) {
		entry := t.Indirect(start + flatbuffers.UOffsetT(4*i))
		if err := f(fbTable{flatbuffers.Table{Bytes: t.Bytes, Pos: entry}}); err != nil {
			return err
		}
	}
	return nil
}

// vector returns the place and the length of a vector field of elements of size bytes; a
// vector that leaves the header panics.
func (t fbTable) vector(slot flatbuffers.VOffsetT, size int) (start flatbuffers.UOffsetT, count int) {
	o := t.Offset(slot)
	if o == 0 {
		return 0, 0
	}
	start, count = t.Vector(flatbuffers.UOffsetT(o)), t.VectorLen(flatbuffers.UOffsetT(o))
	_ = t.Bytes[int(start) : int(start)+count*size]
	return start, count
}
