// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// chunkValues decodes the values of the chunks of one page.
type chunkValues struct {
	fixed    fixedCodec
	variable *varCodec
	items    []int // the first buffers are the item validity of these levels of fixed size lists
	packed   bool  // values are rows of several fields
	dict     *dictionary
	indexed  bool // values are indices of dict
}

func newChunkValues(e *enc21pb.CompressiveEncoding, t valueType, indexed bool) (chunkValues, error) {
	v := chunkValues{indexed: indexed}
	var err error
	if t.kind == variableValues && !indexed {
		v.variable, err = newVarCodec(e)
		return v, err
	}
	if t.kind == packedValues && !indexed {
		v.packed = true
		v.fixed, err = newPackedRows(e, t)
		return v, err
	}
	if v.fixed, err = newFixedCodec(e); err != nil {
		return v, err
	}
	if v.items, err = validOf(e, t); err != nil {
		return v, err
	}
	bits := v.fixed.bits()
	switch {
	case indexed && !wordWidth(uint64(bits)):
		err = corrupt("dictionary indices of %d bits", bits)
	case indexed:
	case bits != t.bits(), t.kind == nullValues:
		err = corrupt("values of %d bits, which does not fit the type of the column", bits)
	}
	return v, err
}

func (v *chunkValues) buffers() int {
	n := 1
	if v.fixed != nil {
		n = v.fixed.buffers()
	}
	return n + len(v.items)
}

// append decodes a chunk of n values and appends count of them, from the given
// one on.
func (v *chunkValues) append(bufs [][]byte, n, from, count int, out *sink) error {
	if count == 0 {
		return nil
	}
	if v.variable != nil {
		return v.variable.append(bufs, n, from, count, out)
	}
	valid, bufs := bufs[:len(v.items)], bufs[len(v.items):]
	for i, level := range v.items {
		if len(valid[i]) < (n*out.t.itemsAt(level)+7)/8 {
			return corrupt("validity of %d lists in %d bytes", n, len(valid[i]))
		}
	}
	values, err := v.fixed.values(bufs, n)
	if err != nil {
		return err
	}
	if out.t.kind == boolValues && !v.indexed {
		out.appendItemsValid(v.items, valid, from, count)
		out.bits(values, from, count)
		return nil
	}
	w := v.fixed.bits() / 8
	values = values[from*w : (from+count)*w]
	if v.packed {
		out.packedRows(values, count)
		return nil
	}
	out.appendItemsValid(v.items, valid, from, count)
	if v.indexed {
		return v.dict.append(values, w, out)
	}
	copy(out.fixed(count), values)
	return nil
}
