// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// varCodec decodes variable-width values, in chunks or one by one.
type varCodec struct {
	wide   bool   // positions of 8 bytes
	scheme scheme // 0, or how the first buffer of a chunk is compressed
	table  *fsstTable
}

// newVarCodec returns the codec of variable-width values. FSST applies to the
// values, general compression to the buffer.
func newVarCodec(e *enc21pb.CompressiveEncoding) (*varCodec, error) {
	c := &varCodec{}
	if g := e.GetGeneral(); g != nil {
		var err error
		if c.scheme, err = parseScheme(g.GetCompression()); err != nil {
			return nil, err
		}
		e = g.GetValues()
	}
	if f := e.GetFsst(); f != nil {
		var err error
		if c.table, err = parseFSST(f.GetSymbolTable()); err != nil {
			return nil, err
		}
		if !c.table.on {
			c.table = nil
		}
		e = f.GetValues()
	}
	v := e.GetVariable()
	if v == nil || v.GetValues() != nil {
		return nil, unsupported("encoding %s of variable-width values", encodingName(e))
	}
	var err error
	c.wide, err = offsetWidth(v)
	return c, err
}

func offsetWidth(v *enc21pb.Variable) (wide bool, err error) {
	bits := v.GetOffsets().GetFlat().GetBitsPerValue()
	if bits != 32 && bits != 64 {
		return false, unsupported("encoding %s with %d bits for the offsets of values", encodingName(v.GetOffsets()), bits)
	}
	return bits == 64, nil
}

// append decodes a chunk of n values and appends count of them.
func (c *varCodec) append(bufs [][]byte, n, from, count int, out *sink) error {
	b := bufs[0]
	if c.scheme != 0 {
		var err error
		if b, err = c.scheme.inflate(b); err != nil {
			return err
		}
	}
	run := varRun{pos: b, wide: c.wide, data: b}
	if err := run.check(n); err != nil {
		return err
	}
	if c.table != nil {
		return out.appendFSST(run, c.table, from, count)
	}
	return out.append(run, from, count)
}

// appendFSST appends values [from, from+n) of a run of compressed values.
func (s *sink) appendFSST(r varRun, t *fsstTable, from, n int) error {
	if n == 0 {
		return nil
	}
	first, last := r.at(from), r.at(from+n)
	if first > last || last > uint64(len(r.data)) {
		return corrupt("value offsets %d to %d in %d bytes", first, last, len(r.data))
	}
	room := int(last-first) * fsstMaxSymbol
	if err := s.room(room); err != nil {
		return err
	}
	s.growOffsets(n)
	dst := s.growBuf(room)
	at, prev := 0, first
	for i := range n {
		end := r.at(from + 1 + i)
		if end < prev || end > last {
			return corrupt("value offsets decrease")
		}
		size, err := t.expand(dst[at:], r.data[prev:end])
		if err != nil {
			return err
		}
		at, prev = at+size, end
		s.putOffset(s.n+1+i, uint64(s.used+at))
	}
	s.used += at
	s.n += n
	return nil
}

// value appends one value that was stored on its own.
func (c *varCodec) value(b []byte, out *sink) error {
	if c.scheme != 0 {
		var err error
		if b, err = c.scheme.inflate(b); err != nil {
			return err
		}
	}
	if c.table == nil {
		return out.value(b)
	}
	if err := out.room(len(b) * fsstMaxSymbol); err != nil {
		return err
	}
	n, err := c.table.expand(out.growBuf(len(b)*fsstMaxSymbol), b)
	if err != nil {
		return err
	}
	out.used += n
	out.growOffsets(1)
	out.putOffset(out.n+1, uint64(out.used))
	out.n++
	return nil
}
