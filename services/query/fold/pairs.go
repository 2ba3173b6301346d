// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import "math/bits"

// pairs numbers pairs of numbers, from 1 on: how several keys become one. While
// few of either side are known, there is a table of all pairs.
type pairs struct {
	known [][2]uint32 // by number, from 1 on

	shift  uint     // the bits of a pair's second side in square
	rows   uint32   // the first sides that square has room for
	square []uint32 // 0: not seen
	table  *wordTable
}

const maxSquare = 1 << 18

// number replaces the first sides by the numbers of their pairs with the second
// ones. Neither side is larger than the number that most says.
func (p *pairs) number(first, second []uint32, most [2]int) error {
	if p.table == nil {
		if err := p.widen(most); err != nil {
			return err
		}
	}
	second = second[:len(first)]
	if p.table != nil {
		return p.lookUp(first, second)
	}
	square, shift := p.square, p.shift
	for i, a := range first {
		at := a<<shift | second[i]
		n := square[at]
		if n == 0 {
			var err error
			if n, err = p.add(a, second[i]); err != nil {
				return err
			}
			square[at] = n
		}
		first[i] = n
	}
	return nil
}

func (p *pairs) lookUp(first, second []uint32) error {
	for i, a := range first {
		n, err := p.of(a, second[i])
		if err != nil {
			return err
		}
		first[i] = n
	}
	return nil
}

// widen makes the square large enough, or a table.
func (p *pairs) widen(most [2]int) error {
	if most[0] < int(p.rows) && most[1] < 1<<p.shift && p.square != nil {
		return nil
	}
	shift := uint(bits.Len(uint(most[1])))
	rows := uint32(1) << bits.Len(uint(most[0]))
	if int(rows)<<shift > maxSquare {
		p.square, p.table = nil, &wordTable{}
		for i, k := range p.known {
			if err := p.table.insert(word(k[0], k[1]), uint32(i+1)); err != nil {
				return err
			}
		}
		return nil
	}
	p.shift, p.rows, p.square = shift, rows, make([]uint32, int(rows)<<shift)
	for i, k := range p.known {
		p.square[k[0]<<shift|k[1]] = uint32(i + 1)
	}
	return nil
}

func word(a, b uint32) uint64 { return uint64(a)<<32 | uint64(b) }

// of is the number of a pair, where there is a table.
func (p *pairs) of(a, b uint32) (uint32, error) {
	if n := p.table.find(word(a, b)); n != 0 {
		return n, nil
	}
	n, err := p.add(a, b)
	if err != nil {
		return 0, err
	}
	return n, p.table.insert(word(a, b), n)
}

func (p *pairs) add(a, b uint32) (uint32, error) {
	if len(p.known) >= maxNumbers {
		return 0, ErrEngine
	}
	p.known = append(p.known, [2]uint32{a, b})
	return uint32(len(p.known)), nil
}

// adopt has the number here for each pair of another, whose sides have the
// numbers here that first and second say.
func (p *pairs) adopt(other *pairs, first, second []uint32, most [2]int) ([]uint32, error) {
	to := make([]uint32, len(other.known)+1)
	seconds := make([]uint32, len(other.known)+1)
	for i, k := range other.known {
		to[i+1], seconds[i+1] = first[k[0]], second[k[1]]
	}
	return to, p.number(to[1:], seconds[1:], most)
}

func (p *pairs) size() int {
	size := 8*cap(p.known) + 4*len(p.square)
	if p.table != nil {
		size += p.table.size()
	}
	return size
}
