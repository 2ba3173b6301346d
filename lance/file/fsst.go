// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import "encoding/binary"

const (
	fsstMagic     = 0x46535354 // "FSST", the upper half of the header
	fsstTableSize = 8 + 256*8 + 256
	fsstEscape    = 255
	fsstMaxSymbol = 8
)

// fsstTable is a decoded symbol table: each code stands for up to 8 bytes, code
// 255 for the literal byte behind it.
type fsstTable struct {
	on      bool // else values are stored as they are
	symbols [256][fsstMaxSymbol]byte
	lengths [256]uint8
}

func parseFSST(b []byte) (*fsstTable, error) {
	if len(b) != fsstTableSize {
		return nil, corrupt("FSST table of %d bytes, not %d", len(b), fsstTableSize)
	}
	head := binary.LittleEndian.Uint64(b)
	if head>>32 != fsstMagic {
		return nil, corrupt("FSST table without its magic number")
	}
	t := &fsstTable{on: head&(1<<24) != 0}
	n := int(head & 255)
	for i := range n {
		copy(t.symbols[i][:], b[8+i*8:])
		t.lengths[i] = b[8+n*8+i]
		if t.lengths[i] > fsstMaxSymbol {
			return nil, corrupt("FSST symbol of %d bytes", t.lengths[i])
		}
	}
	return t, nil
}

// expand decodes in to dst, which must have room for len(in)*8 bytes, and
// returns the number of bytes written.
func (t *fsstTable) expand(dst, in []byte) (int, error) {
	at := 0
	for i := 0; i < len(in); i++ {
		c := in[i]
		if c == fsstEscape {
			if i++; i == len(in) {
				return 0, corrupt("FSST value ends in an escape")
			}
			dst[at] = in[i]
			at++
			continue
		}
		*(*[fsstMaxSymbol]byte)(dst[at:]) = t.symbols[c]
		at += int(t.lengths[c])
	}
	return at, nil
}
