// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import (
	"bytes"
	"encoding/binary"
)

// text is a text that is kept, and its first 16 bytes as words that compare as
// the bytes do.
type text struct {
	high, low uint64
	bytes     []byte
	known     bool
}

// extremeText is the smallest or the largest text, byte by byte.
type extremeText struct {
	letters[int32]
	largest bool
	best    []text
	kept    int // bytes
	ones    [chunkRows]uint32
}

// maxText is the longest text that is kept.
const maxText = maxBytes / 4

func (s *extremeText) add(from, n int, sel *selection) error {
	g := sel.groups
	if g == nil {
		if sel.count == n {
			return s.addAll(from, n)
		}
		g = silence(s.ones[:], allOne[:n], &sel.rows)
	}
	offsets := s.offsets[from : from+n+1]
	ends := offsets[1:]
	ends = ends[:n]
	g, offsets = g[:n], offsets[:n]
	for i, k := range g {
		if k == 0 {
			continue
		}
		start, end, b := int(offsets[i]), int(ends[i]), &s.best[k]
		if uint(start) <= uint(end) && end-start >= 8 && end <= len(s.bytes) {
			high := binary.BigEndian.Uint64(s.bytes[start:])
			if high != b.high && (high > b.high) != s.largest && b.known {
				continue
			}
		}
		if err := s.consider(b, from+i); err != nil {
			return err
		}
	}
	return nil
}

// allOne is the one group that there is without keys.
var allOne = func() (one [chunkRows]uint32) {
	for i := range one {
		one[i] = 1
	}
	return one
}()

// addAll is add without groups, of all rows.
func (s *extremeText) addAll(from, n int) error {
	ends := s.offsets[from+1 : from+1+n]
	start, b, content := int(s.offsets[from]), &s.best[1], s.bytes
	// Less than this is no use, or, of the smallest, more: turn is what makes one
	// of the other.
	turn := uint64(0)
	if !s.largest {
		turn = ^turn
	}
	best, known := b.high^turn, b.known
	for i, e := range ends {
		at := start
		start = int(e)
		if size := start - at; uint(at) <= uint(start) && size >= 8 && start <= len(content) && known {
			if high := binary.BigEndian.Uint64(content[at:]) ^ turn; high < best {
				continue
			}
		}
		if err := s.consider(b, from+i); err != nil {
			return err
		}
		best, known = b.high^turn, b.known
	}
	return nil
}

// consider looks at a text from its beginning on.
func (s *extremeText) consider(b *text, row int) error {
	v, err := s.at(row)
	if err != nil {
		return err
	}
	high, low := s.words(v, int(s.offsets[row]))
	if b.known {
		if s.largest && (high < b.high || high == b.high && low < b.low) {
			return nil
		}
		if !s.largest && (high > b.high || high == b.high && low > b.low) {
			return nil
		}
	}
	return s.offer(b, v, high, low)
}

// words are the first 16 bytes of a text that begins at a byte of the column,
// with zeros behind its end.
func (s *extremeText) words(v []byte, at int) (high, low uint64) {
	if at+16 > len(s.bytes) {
		var room [16]byte
		copy(room[:], v)
		return binary.BigEndian.Uint64(room[:]), binary.BigEndian.Uint64(room[8:])
	}
	b := s.bytes[at : at+16]
	m := &wordMasks[min(len(v), 16)]
	return binary.BigEndian.Uint64(b) & m.bigHigh, binary.BigEndian.Uint64(b[8:]) & m.bigLow
}

// offer takes a text if it is better than the best one. Their words do not say
// that it is not.
func (s *extremeText) offer(b *text, v []byte, high, low uint64) error {
	if b.known {
		order := bytes.Compare(v, b.bytes)
		if order == 0 || order > 0 != s.largest {
			return nil
		}
	}
	if len(v) > maxText {
		return ErrEngine
	}
	s.kept += len(v) - len(b.bytes)
	*b = text{high, low, append(b.bytes[:0], v...), true}
	return nil
}

func (s *extremeText) grow(groups int) { s.best = longer(s.best, groups, text{}) }

func (s *extremeText) merge(other accumulator, to []uint32) error {
	o := other.(*extremeText)
	for k := 1; k < len(to); k++ {
		if b := o.best[k]; b.known {
			if err := s.offer(&s.best[to[k]], b.bytes, b.high, b.low); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *extremeText) size() int { return 48*cap(s.best) + 2*s.kept }
