// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import (
	"encoding/binary"
	"math/bits"
)

const (
	// chunkRows are the rows that are worked on at a time: their values and
	// numbers stay in the cache from one accumulator to the next.
	chunkRows  = 4096
	chunkWords = chunkRows / 64
)

// mask has a bit for each row of a chunk.
type mask [chunkWords]uint64

// fill sets the first n bits and clears the rest of the words they reach into.
func (m *mask) fill(n int) {
	for i := range n / 64 {
		m[i] = ^uint64(0)
	}
	if n%64 != 0 {
		m[n/64] = 1<<(n%64) - 1
	}
}

// and clears those of the first n bits that are not set in a bitmap, from its
// bit at on.
func (m *mask) and(bitmap []byte, at, n int) {
	for i := range (n + 63) / 64 {
		m[i] &= wordAt(bitmap, at+i*64)
	}
}

// wordAt are 64 bits of a bitmap, with zeros behind its end.
func wordAt(bitmap []byte, at int) uint64 {
	b, shift := bitmap[min(at/8, len(bitmap)):], at%8
	if len(b) > 8 {
		return binary.LittleEndian.Uint64(b)>>shift | uint64(b[8])<<(64-shift)
	}
	var word uint64
	for i, c := range b {
		if i == 8 {
			break
		}
		word |= uint64(c) << (8 * i)
	}
	return word >> shift
}

// ones counts the bits that are set among the first n.
func (m *mask) ones(n int) (count int) {
	for _, w := range m[:(n+63)/64] {
		count += bits.OnesCount64(w)
	}
	return count
}

// runs calls f for the runs of bits that are alike among the first n.
func (m *mask) runs(n int, f func(set bool, from, to int) error) error {
	for from := 0; from < n; {
		set := m[from/64]>>(from%64)&1 == 1
		to := m.end(set, from, n)
		if err := f(set, from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// end is where the run of bits ends that begins at from.
func (m *mask) end(set bool, from, n int) int {
	for at := from; at < n; at = (at/64 + 1) * 64 {
		w := m[at/64]
		if set {
			w = ^w
		}
		if w >>= at % 64; w != 0 {
			return min(at+bits.TrailingZeros64(w), n)
		}
	}
	return n
}

// pick moves the values whose bits are set to the front of dst, which has room
// for one more.
func pick[T any](dst, src []T, m *mask) []T {
	n := 0
	for at := 0; at < len(src); at += 64 {
		w, part := m[at/64], src[at:min(at+64, len(src))]
		switch {
		case w == ^uint64(0):
			n += copy(dst[n:], part)
		case bits.OnesCount64(w) < 8:
			for ; w != 0; w &= w - 1 {
				dst[n] = part[bits.TrailingZeros64(w)]
				n++
			}
		default: // without asking: what is not wanted is written over
			to := dst[n : n+len(part)+1]
			k := uint(0)
			for _, v := range part {
				if k < uint(len(to)) {
					to[k] = v
				}
				k += uint(w & 1)
				w >>= 1
			}
			n += int(k)
		}
	}
	return dst[:n]
}

// silence is g with 0 for the rows whose bits are not set.
func silence(dst, g []uint32, m *mask) []uint32 {
	dst = dst[:len(g)]
	for at := 0; at < len(g); at += 64 {
		w, from, to := m[at/64], g[at:min(at+64, len(g))], dst[at:min(at+64, len(g))]
		to = to[:len(from)]
		for i, n := range from {
			to[i] = n & -uint32(w&1)
			w >>= 1
		}
	}
	return dst
}
