// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

// shortText is how many bytes are compared as two words.
const shortText = 16

// wordMasks keep the first so many bytes of two words that were loaded from
// memory, in either order of bytes.
var wordMasks = func() (masks [shortText + 1]struct{ low, high, bigHigh, bigLow uint64 }) {
	for n := range masks {
		var b [shortText]byte
		for i := range n {
			b[i] = 0xff
		}
		m := &masks[n]
		m.low, m.high = binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
		m.bigHigh, m.bigLow = binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])
	}
	return masks
}()

// textKeys numbers texts. Those of up to 16 bytes are two words, which nothing
// but their length tells apart from others with zeros behind them; longer ones
// are looked up by a hash.
type textKeys[O int32 | int64] struct {
	letters[O]
	numbers
	starts []int  // by number, in kept; the last is the end of it
	kept   []byte // all texts, one after the other

	short     []shortSlot
	shortUsed int
	long      []longSlot
	longUsed  int
}

type shortSlot struct {
	low, high    uint64
	number, size uint32 // number 0: empty
}

type longSlot struct {
	hash   uint64
	number uint32 // 0: empty
}

func newTextKeys[O int32 | int64]() *textKeys[O] {
	return &textKeys[O]{
		starts: []int{0, 0},
		short:  make([]shortSlot, smallTable), long: make([]longSlot, smallTable),
	}
}

func (s *textKeys[O]) number(out []uint32, from int) error {
	offsets := s.offsets[from : from+len(out)+1]
	start := int(offsets[0])
	ends := offsets[1:]
	ends = ends[:len(out)]
	content, short := s.bytes, s.short
	last := shortSlot{size: shortText + 1} // is no text's
	// Offsets that rise from row to row need no other check.
	if start < 0 {
		return outside(start, start, len(content))
	}
	for i, e := range ends {
		size := uint(int(e) - start)
		if size > shortText || start+shortText > len(content) {
			end := int(e)
			if end < start || end > len(content) {
				return outside(start, end, len(content))
			}
			n, err := s.of(content[start:end])
			if err != nil {
				return err
			}
			out[i], start, short = n, end, s.short
			continue
		}
		b := (*[shortText]byte)(content[start:])
		m := &wordMasks[size]
		low, high := binary.LittleEndian.Uint64(b[:8])&m.low, binary.LittleEndian.Uint64(b[8:])&m.high
		start = int(e)
		if low == last.low && high == last.high && uint32(size) == last.size {
			out[i] = last.number
			continue
		}
		slot := &short[hash(low, high)&uint64(len(short)-1)]
		if slot.low != low || slot.high != high || slot.size != uint32(size) || slot.number == 0 {
			var err error
			if slot, err = s.slot(low, high, uint32(size)); err != nil {
				return err
			}
			short = s.short
		}
		last.low, last.high, last.size, last.number = low, high, uint32(size), slot.number
		out[i] = slot.number
	}
	return nil
}

// of is the number of a text.
func (s *textKeys[O]) of(v []byte) (uint32, error) {
	if len(v) > shortText {
		h := hashLong(v)
		if slot := &s.long[h&uint64(len(s.long)-1)]; slot.hash == h && slot.number != 0 && bytes.Equal(s.text(slot.number), v) {
			return slot.number, nil
		}
		return s.ofLong(v, h)
	}
	var room [shortText]byte
	copy(room[:], v)
	slot, err := s.slot(binary.LittleEndian.Uint64(room[:]), binary.LittleEndian.Uint64(room[8:]), uint32(len(v)))
	if err != nil {
		return 0, err
	}
	return slot.number, nil
}

// slot is that of a short text, which has a number then.
func (s *textKeys[O]) slot(low, high uint64, size uint32) (*shortSlot, error) {
	mask := uint64(len(s.short) - 1)
	at := hash(low, high)
	for range maxProbes {
		slot := &s.short[at&mask]
		if slot.low == low && slot.high == high && slot.size == size && slot.number != 0 {
			return slot, nil
		}
		if slot.number == 0 {
			return s.addShort(low, high, size)
		}
		at++
	}
	return nil, ErrEngine
}

func (s *textKeys[O]) addShort(low, high uint64, size uint32) (*shortSlot, error) {
	if s.shortUsed++; s.shortUsed*2 > len(s.short) {
		old := s.short
		s.short = make([]shortSlot, 2*len(old))
		for _, o := range old {
			if o.number != 0 {
				slot := s.empty(o.low, o.high)
				if slot == nil {
					return nil, ErrEngine
				}
				*slot = o
			}
		}
	}
	var b [shortText]byte
	binary.LittleEndian.PutUint64(b[:], low)
	binary.LittleEndian.PutUint64(b[8:], high)
	n, err := s.keep(b[:size])
	slot := s.empty(low, high)
	if err != nil || slot == nil {
		return nil, ErrEngine
	}
	*slot = shortSlot{low, high, n, size}
	return slot, nil
}

// empty is where a short text belongs that is not there.
func (s *textKeys[O]) empty(low, high uint64) *shortSlot {
	at := hash(low, high)
	for range maxProbes {
		if slot := &s.short[at&uint64(len(s.short)-1)]; slot.number == 0 {
			return slot
		}
		at++
	}
	return nil
}

// hashLong is of a text of more than 16 bytes.
func hashLong(v []byte) uint64 {
	h := uint64(len(v))
	end := v[len(v)-shortText:]
	for ; len(v) > shortText; v = v[shortText:] {
		h = hash(h^binary.LittleEndian.Uint64(v[:8]), binary.LittleEndian.Uint64(v[8:16]))
	}
	return hash(h^binary.LittleEndian.Uint64(end), binary.LittleEndian.Uint64(end[8:]))
}

// ofLong is the number of a text that has such a hash.
func (s *textKeys[O]) ofLong(v []byte, h uint64) (uint32, error) {
	for at := range uint64(maxProbes) {
		slot := &s.long[(h+at)&uint64(len(s.long)-1)]
		if slot.number == 0 {
			return s.addLong(v, h)
		}
		if slot.hash == h && bytes.Equal(s.text(slot.number), v) {
			return slot.number, nil
		}
	}
	return 0, ErrEngine
}

func (s *textKeys[O]) addLong(v []byte, h uint64) (uint32, error) {
	if s.longUsed++; s.longUsed*2 > len(s.long) {
		old := s.long
		s.long = make([]longSlot, 2*len(old))
		for _, o := range old {
			if o.number != 0 && !s.putLong(o) {
				return 0, ErrEngine
			}
		}
	}
	n, err := s.keep(v)
	if err != nil || !s.putLong(longSlot{h, n}) {
		return 0, ErrEngine
	}
	return n, nil
}

func (s *textKeys[O]) putLong(o longSlot) bool {
	for at := range uint64(maxProbes) {
		if slot := &s.long[(o.hash+at)&uint64(len(s.long)-1)]; slot.number == 0 {
			*slot = o
			return true
		}
	}
	return false
}

// keep gives a text that is not there a number.
func (s *textKeys[O]) keep(v []byte) (uint32, error) {
	if s.count() >= maxNumbers || len(s.kept)+len(v) > maxBytes {
		return 0, ErrEngine
	}
	n := s.next()
	s.starts = longer(s.starts, int(n), len(s.kept)) // those of null too
	s.kept = append(s.kept, v...)
	s.starts = append(s.starts, len(s.kept))
	return n, nil
}

// text is that of a number.
func (s *textKeys[O]) text(n uint32) []byte { return s.kept[s.starts[n]:s.starts[n+1]] }

func (s *textKeys[O]) adopt(other numberer) ([]uint32, error) {
	o := other.(*textKeys[O])
	to := make([]uint32, o.count()+1)
	var err error
	for n := 1; n < len(to); n++ {
		if uint32(n) == o.nothing {
			to[n] = s.null()
		} else if to[n], err = s.of(o.text(uint32(n))); err != nil {
			return nil, err
		}
	}
	return to, nil
}

func (s *textKeys[O]) array(dt arrow.DataType, numbers []uint32) (arrow.Array, error) {
	return texts(dt, len(numbers), func(i int) ([]byte, bool) {
		if numbers[i] == s.nothing {
			return nil, false
		}
		return s.text(numbers[i]), true
	})
}

func (s *textKeys[O]) size() int {
	return 8*cap(s.starts) + cap(s.kept) + 24*len(s.short) + 16*len(s.long)
}

// texts is an array of texts, utf8 or large_utf8.
func texts(dt arrow.DataType, n int, value func(i int) (v []byte, ok bool)) (arrow.Array, error) {
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	defer b.Release()
	b.Reserve(n)
	appender := b.(array.StringLikeBuilder)
	for i := range n {
		v, ok := value(i)
		switch {
		case !ok:
			b.AppendNull()
		case !utf8.Valid(v):
			return nil, lake.Errorf(lake.Corrupt, "it has text that is not UTF-8")
		default:
			appender.Append(string(v))
		}
	}
	return b.NewArray(), nil
}
