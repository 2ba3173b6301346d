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
}

// maxText is the longest text that is kept.
const maxText = maxBytes / 4

func (s *extremeText) add(from, n int, sel *selection) error {
	if sel.count == 0 {
		return nil
	}
	for i := range n {
		k := uint32(1)
		if sel.groups != nil {
			k = sel.groups[i]
		} else if sel.rows[i/64]>>(i%64)&1 == 0 {
			k = 0
		}
		if k == 0 {
			continue
		}
		v, err := s.at(from + i)
		if err != nil {
			return err
		}
		high, low := s.words(v, int(s.offsets[from+i]))
		b := &s.best[k]
		if b.known {
			if s.largest {
				if high < b.high || high == b.high && low < b.low {
					continue
				}
			} else if high > b.high || high == b.high && low > b.low {
				continue
			}
		}
		if err := s.offer(b, v, high, low); err != nil {
			return err
		}
	}
	return nil
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
