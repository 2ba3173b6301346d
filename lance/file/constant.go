// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// constantPage reads a page whose values are all null or, since 2.2, all the
// same value where they are not null. Only levels are stored, if anything is.
type constantPage struct {
	bufs   *pageBuffers
	leaf   *leaf
	levels pageLevels
	rows   uint64
	value  []byte // nil for null

	rep, def []uint16 // all levels of the page; nil where not stored
	allNull  bool     // every entry is null, without stored levels
}

func openConstant(x *enc21pb.ConstantLayout, bufs *pageBuffers, rows uint64, l *leaf) (*constantPage, error) {
	p := &constantPage{bufs: bufs, leaf: l, rows: rows}
	var err error
	if p.levels, err = l.levels.parseLayers(x.GetLayers()); err != nil {
		return nil, err
	}
	// The number of buffers says what they are: the value, if it is not inline
	// and not null, before both levels, if any are stored.
	n := len(bufs.sizes)
	if n > 3 || x.InlineValue != nil && n%2 == 1 {
		return nil, corrupt("a constant page of %d buffers", n)
	}
	if n >= 2 {
		if err := p.readLevels(x, n-2); err != nil {
			return nil, err
		}
	}
	if err := p.readValue(x, n%2 == 1); err != nil {
		return nil, err
	}
	return p, p.check()
}

// readLevels reads both level buffers, in full.
func (p *constantPage) readLevels(x *enc21pb.ConstantLayout, first int) error {
	var err error
	if p.rep, err = p.levelBuffer(first, x.GetRepCompression(), x.GetNumRepValues()); err != nil {
		return err
	}
	p.def, err = p.levelBuffer(first+1, x.GetDefCompression(), x.GetNumDefValues())
	return err
}

func (p *constantPage) levelBuffer(i int, e *enc21pb.CompressiveEncoding, n uint64) ([]uint16, error) {
	b, err := p.bufs.whole(i)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	if e == nil {
		out := make([]uint16, len(b)/2)
		copy(bytesOf(out), b)
		return out, nil
	}
	// Even runs of one value need a byte per 255 levels.
	if n > uint64(len(b))*packBlock {
		return nil, corrupt("%d levels in %d bytes", n, len(b))
	}
	out := make([]uint16, n)
	return out, blockLevels(e, b, int(n), out)
}

// readValue finds the constant: inline, in a buffer of its own, or none.
func (p *constantPage) readValue(x *enc21pb.ConstantLayout, buffer bool) error {
	t := p.leaf.value
	if x.InlineValue != nil {
		p.value = x.GetInlineValue()
		if t.kind == boolValues && t.items == 0 && len(p.value) == 1 || t.kind == fixedValues && len(p.value) == t.width {
			return nil
		}
		return corrupt("constant of %d bytes, which does not fit the type of the column", len(p.value))
	}
	if buffer {
		return p.readScalar(0)
	}
	return nil
}

// readScalar reads a constant from its buffer: the number of Arrow buffers, the
// length of each, and the buffers of an array of one value.
func (p *constantPage) readScalar(i int) error {
	b, err := p.bufs.whole(i)
	if err != nil || len(b) == 0 {
		return err
	}
	var parts [3][]byte
	n := 0
	if len(b) >= 4 {
		n = int(binary.LittleEndian.Uint32(b))
	}
	if n < 1 || n > len(parts) || len(b) < 4+4*n {
		return corrupt("constant of %d buffers in %d bytes", n, len(b))
	}
	rest := b[4+4*n:]
	for k := range n {
		size := binary.LittleEndian.Uint32(b[4+4*k:])
		if uint64(size) > uint64(len(rest)) {
			return corrupt("constant buffer of %d bytes in %d", size, len(rest))
		}
		parts[k], rest = rest[:size], rest[size:]
	}
	return p.setScalar(parts[:n])
}

func (p *constantPage) setScalar(parts [][]byte) error {
	t := p.leaf.value
	last := parts[len(parts)-1]
	switch {
	case t.kind == variableValues && len(parts) >= 2:
		offs := varRun{pos: parts[len(parts)-2], wide: t.wide, data: last}
		if err := offs.check(1); err != nil {
			return err
		}
		from, to := offs.at(0), offs.at(1)
		if from > to || to > uint64(len(last)) {
			return corrupt("constant at %d to %d of %d bytes", from, to, len(last))
		}
		p.value = last[from:to:to]
		if p.value == nil {
			p.value = []byte{}
		}
	case t.kind == fixedValues && len(last) >= t.width:
		p.value = last[:t.width]
	case t.kind == boolValues && t.items == 0 && len(last) >= 1:
		p.value = last[:1]
	default:
		return unsupported("constant of %d buffers for type %s", len(parts), p.leaf.node.Type)
	}
	return nil
}

// check tests the levels against each other and the number of rows.
func (p *constantPage) check() error {
	if p.rep == nil && p.def == nil {
		if p.leaf.levels.maxRep > 0 && p.rows > 0 {
			return corrupt("a constant page of lists without levels")
		}
		p.allNull = p.value == nil
		if p.allNull && len(p.levels.toScheme) != 2 && p.leaf.value.kind != nullValues {
			return corrupt("a page of nulls does not say which layer is null")
		}
		return nil
	}
	if p.rep != nil && p.def != nil && len(p.rep) != len(p.def) {
		return corrupt("%d repetition and %d definition levels", len(p.rep), len(p.def))
	}
	rows := uint64(len(p.def))
	if p.leaf.levels.maxRep > 0 {
		_, _, rows = cutRows(p.rep, p.leaf.levels.maxRep, 0, 0, 0)
	}
	if rows != p.rows || p.leaf.levels.maxRep == 0 && p.rep != nil {
		return corrupt("levels of %d rows in a page of %d", rows, p.rows)
	}
	return nil
}

func (p *constantPage) prepare() int { return -1 }

func (p *constantPage) span(from, to uint64) (buffer int, off, n uint64, err error) {
	return 0, 0, 0, nil
}

func (p *constantPage) read(from, to uint64, out *leafBatch) error {
	if to > p.rows || from > to {
		return corrupt("rows %d to %d of a page with %d", from, to, p.rows)
	}
	n := int(to - from)
	if p.rep == nil && p.def == nil {
		return p.readFlat(n, out)
	}
	lo, hi := int(from), int(to)
	var rep, def []uint16
	if p.rep != nil {
		lo, hi, _ = cutRows(p.rep, p.leaf.levels.maxRep, 0, from, to)
		rep = p.rep[lo:hi]
	}
	visible := hi - lo
	if p.def != nil {
		def = p.def[lo:hi]
		visible = p.levels.countVisible(def)
	}
	if err := out.levels.append(hi-lo, rep, def, &p.levels); err != nil {
		return err
	}
	return p.repeat(visible, out.values)
}

func (p *constantPage) readFlat(n int, out *leafBatch) error {
	if !p.allNull {
		out.levels.appendValues(n)
		return p.repeat(n, out.values)
	}
	def := make([]uint16, n)
	level := uint16(len(p.levels.toScheme) - 1)
	for i := range def {
		def[i] = level
	}
	if err := out.levels.append(n, nil, def, &p.levels); err != nil {
		return err
	}
	out.values.skip(n)
	return nil
}

// repeat appends the constant n times.
func (p *constantPage) repeat(n int, out *sink) error {
	switch {
	case p.value == nil:
		out.skip(n)
	case out.t.kind == boolValues:
		b := make([]byte, (n+7)/8)
		if p.value[0]&1 == 1 {
			fillRun(b, []byte{0xff})
		}
		out.bits(b, 0, n)
	case out.t.kind == fixedValues:
		out.appendItemsValid(nil, nil, 0, n)
		fillRun(out.fixed(n), p.value)
	default:
		for range n {
			if err := out.value(p.value); err != nil {
				return err
			}
		}
	}
	return nil
}
