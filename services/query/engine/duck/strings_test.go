// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package duck

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// atTheEdge copies bytes to the end of a page behind which there is none: who
// reads one byte too many does not come back.
func atTheEdge(t *testing.T, b []byte) []byte {
	t.Helper()
	page := unix.Getpagesize()
	room := (len(b) + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, room+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(mem)) })
	require.NoError(t, unix.Mprotect(mem[room:], unix.PROT_NONE))
	copy(mem[room-len(b):], b)
	return mem[room-len(b) : room : room]
}

// TestStringsAreReadNoFurtherThanTheyGo reads strings of all small lengths,
// the last of which end with their buffer, as text and as bytes, with offsets
// that begin anywhere, and bits beside them.
func TestStringsAreReadNoFurtherThanTheyGo(t *testing.T) {
	e := newEngine(t, Options{Threads: 1})
	for _, unit := range []string{"abcdefghijklmnopq", "ä€abc\U0001F980", "\x00\x7f "} {
		for _, last := range []int{0, 1, 3, 4, 7, 12, 13, 20} {
			var want []string
			for n := range 40 {
				want = append(want, fit(unit, n))
			}
			want = append(want, fit(unit, last))
			for _, skip := range []int{0, 5} {
				text := strings.Join(want, "")
				ends := make([]int32, 1, len(want)+1)
				bits := make([]byte, (len(want)+7)/8)
				for i, s := range want {
					ends = append(ends, ends[i]+int32(len(s)))
					bits[i/8] |= byte(i%3%2) << (i % 8)
				}
				bytes := memory.NewBufferBytes(atTheEdge(t, []byte(text)))
				offsets := memory.NewBufferBytes(atTheEdge(t, bytesOf(ends)))
				flags := memory.NewBufferBytes(atTheEdge(t, bits))
				n := len(want) - skip
				column := func(dt arrow.DataType, buffers ...*memory.Buffer) arrow.Array {
					return array.MakeFromData(array.NewData(dt, n, append([]*memory.Buffer{nil}, buffers...), nil, 0, skip))
				}
				schema := arrow.NewSchema([]arrow.Field{
					{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "b", Type: arrow.BinaryTypes.Binary}, {Name: "f", Type: arrow.FixedWidthTypes.Boolean},
				}, nil)
				batch := array.NewRecordBatch(schema, []arrow.Array{
					column(arrow.BinaryTypes.String, offsets, bytes), column(arrow.BinaryTypes.Binary, offsets, bytes), column(arrow.FixedWidthTypes.Boolean, flags),
				}, int64(n))
				out, _ := ask(t, e, "SELECT s, b, f FROM ns.t", "t", newTable(schema, batch))
				at := skip
				for _, b := range out {
					for i := range int(b.NumRows()) {
						where := fmt.Sprintf("%q, %d, %d: row %d", unit, last, skip, at)
						require.Equal(t, want[at], b.Column(0).(*array.String).Value(i), where)
						require.Equal(t, want[at], string(b.Column(1).(*array.Binary).Value(i)), where)
						require.Equal(t, at%3 == 1, b.Column(2).(*array.Boolean).Value(i), where)
						at++
					}
				}
				require.Equal(t, len(want), at)
			}
		}
	}
}

// fit repeats a text to about n bytes, without cutting a character.
func fit(unit string, n int) string {
	var b strings.Builder
	for b.Len() < n {
		for _, r := range unit {
			if b.Len() >= n {
				break
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}
