// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"math/bits"
)

// The levels of a nullable column that is in no list are 0 and 1. What is here
// looks at four of them at a time, as the quarters of a word.

// quarters has a 1 in each quarter of a word.
const quarters = 0x0001_0001_0001_0001

// gather is multiplied with a word whose quarters are bits, to have the four
// bits side by side in the upper quarter: bit 16i moves to bit 48+i.
const gather = 1<<48 | 1<<33 | 1<<18 | 1<<3

// onlyBits reports whether no level is above 1.
func onlyBits(def []uint16) bool {
	var all uint64
	b := bytesOf(def)
	for ; len(b) >= 8; b = b[8:] {
		all |= binary.LittleEndian.Uint64(b)
	}
	for _, d := range def[len(def)&^3:] {
		all |= uint64(d)
	}
	return all&^quarters == 0
}

// countBits counts the levels that are 1, where none is above that.
func countBits(def []uint16) (n int) {
	b := bytesOf(def)
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	for _, d := range def[len(def)&^3:] {
		n += int(d)
	}
	return n
}

// packZeros writes bit i where def[i] is 0, where no level is above 1.
func packZeros(out []byte, def []uint16) {
	b := bytesOf(def)
	for i := range len(def) / 8 {
		low := binary.LittleEndian.Uint64(b[16*i:]) * gather >> 48 & 15
		high := binary.LittleEndian.Uint64(b[16*i+8:]) * gather >> 48 & 15
		out[i] = ^byte(low | high<<4)
	}
	for i := len(def) &^ 7; i < len(def); i++ {
		out[i>>3] |= byte(1-def[i]) << (i & 7)
	}
}
