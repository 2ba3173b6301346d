// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Four levels at a time are what one at a time are.
func TestBitLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := rapid.SliceOf(rapid.Uint16Range(0, 1)).Draw(t, "def")
		from := rapid.IntRange(0, len(def)).Draw(t, "from") // where words are not aligned
		def = def[from:]
		nulls, want := 0, make([]byte, (len(def)+7)/8)
		for i, d := range def {
			nulls += int(d)
			if d == 0 {
				want[i/8] |= 1 << (i % 8)
			}
		}
		require.True(t, onlyBits(def))
		require.Equal(t, nulls, countBits(def))
		got := make([]byte, len(want))
		packZeros(got, def)
		require.Equal(t, want, got)
		if len(def) > 0 {
			at := rapid.IntRange(0, len(def)-1).Draw(t, "at")
			def[at] = rapid.Uint16Range(2, 65535).Draw(t, "bad")
			require.False(t, onlyBits(def))
		}
	})
}

func BenchmarkBitLevels(b *testing.B) {
	const rows = 1 << 16
	buf := levelBuffer{scheme: levelScheme{lists: []bool{false}, nullable: []bool{true}}.number()}
	page := pageLevels{toScheme: []uint16{0, 1}, visible: 1, identity: true}
	def := make([]uint16, rows)
	for i := range def {
		if i%20 == 3 {
			def[i] = 1
		}
	}
	bits := make([]byte, rows/8)
	b.SetBytes(rows)
	for b.Loop() {
		buf.reset()
		require.NoError(b, buf.append(rows, nil, def, &page))
		clear(bits)
		u := unraveler{b: &buf}
		u.items(func(int) []byte { return bits })
	}
}
