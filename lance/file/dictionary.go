// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// dictionary is the decoded dictionary of a page.
type dictionary struct {
	n     int
	fixed []byte // values of the column's width, or
	run   varRun // variable values
}

// parseDictionary decodes the dictionary buffer of a page of values of type t.
func parseDictionary(e *enc21pb.CompressiveEncoding, b []byte, n uint64, t valueType) (*dictionary, error) {
	// Every item has at least one bit, or an offset, in the inflated buffer;
	// the decoders check that.
	if n > maxBlockBytes {
		return nil, corrupt("dictionary of %d items", n)
	}
	d := &dictionary{n: int(n)}
	var err error
	if t.kind == variableValues {
		if d.run, err = blockVariable(e, b, d.n); err != nil {
			return nil, err
		}
		return d, d.run.ordered(d.n)
	}
	var bits int
	if d.fixed, bits, err = blockFixed(e, b, d.n); err != nil {
		return nil, err
	}
	if t.kind != fixedValues || bits != t.width*8 {
		return nil, corrupt("dictionary of %d bits per item for values of %d bytes", bits, t.width)
	}
	return d, nil
}

// ordered checks all positions of a run of n values once.
func (r varRun) ordered(n int) error {
	prev := r.at(0)
	for i := range n {
		p := r.at(i + 1)
		if p < prev {
			return corrupt("value offsets decrease")
		}
		prev = p
	}
	if prev > uint64(len(r.data)) {
		return corrupt("value ends at %d of %d bytes", prev, len(r.data))
	}
	return nil
}

// append appends the items with the given indices of width bytes each.
func (d *dictionary) append(indices []byte, width int, out *sink) error {
	n := len(indices) / width
	if out.t.kind == variableValues {
		return d.appendVariable(indices, width, n, out)
	}
	w := out.t.width
	dst := out.fixed(n)
	for i := range n {
		k := index(indices, width, i)
		if k >= uint64(d.n) {
			return corrupt("dictionary index %d of %d", k, d.n)
		}
		copy(dst[i*w:(i+1)*w], d.fixed[int(k)*w:])
	}
	return nil
}

func index(b []byte, width, i int) uint64 {
	switch width {
	case 1:
		return uint64(b[i])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b[i*2:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b[i*4:]))
	}
	return binary.LittleEndian.Uint64(b[i*8:])
}

func (d *dictionary) appendVariable(indices []byte, width, n int, out *sink) error {
	total := 0
	for i := range n {
		k := index(indices, width, i)
		if k >= uint64(d.n) {
			return corrupt("dictionary index %d of %d", k, d.n)
		}
		total += int(d.run.at(int(k)+1) - d.run.at(int(k)))
		if err := out.room(total); err != nil {
			return err
		}
	}
	out.growOffsets(n)
	dst := out.growBuf(total)
	at := 0
	for i := range n {
		k := int(index(indices, width, i))
		at += copy(dst[at:], d.run.data[d.run.at(k):d.run.at(k+1)])
		out.putOffset(out.n+1+i, uint64(out.used+at))
	}
	out.used += total
	out.n += n
	return nil
}
