// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import (
	"math/bits"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
)

// numberer gives the values of a key column numbers, from 1 on, in the order in
// which they are seen.
type numberer interface {
	// bind takes the column of the next batch.
	bind(a arrow.Array) error
	// number writes the numbers of rows, from row from on, none of them null.
	number(out []uint32, from int) error
	// null is the number of null.
	null() uint32
	// count is how many numbers there are.
	count() int
	// adopt has the number here for each number of another numberer of the same
	// type.
	adopt(other numberer) ([]uint32, error)
	// array has the value of each of the numbers.
	array(dt arrow.DataType, numbers []uint32) (arrow.Array, error)
	// size is about how many bytes the values take.
	size() int
}

// numbers counts them.
type numbers struct {
	last    uint32 // the highest
	nothing uint32 // that of null, 0 before there was one
}

func (n *numbers) count() int { return int(n.last) }

func (n *numbers) null() uint32 {
	if n.nothing == 0 {
		n.nothing = n.next()
	}
	return n.nothing
}

func (n *numbers) next() uint32 {
	n.last++
	return n.last
}

// seed makes it hard to choose values that meet in a table.
var seed = [2]uint64{rand.Uint64() | 1, rand.Uint64() | 1}

// hash mixes two words.
func hash(a, b uint64) uint64 {
	high, low := bits.Mul64(a^seed[0], b^seed[1])
	return high ^ low
}

// maxProbes is how far a value may be from its place in a table. In a table that
// is at most half full, it never is by chance.
const maxProbes = 256

// wordTable has numbers of words.
type wordTable struct {
	slots []wordSlot // a power of two of them
	used  int
}

type wordSlot struct {
	word   uint64
	number uint32 // 0: empty
}

const smallTable = 256

// slot is where a word is or belongs; nil if it is too far away.
func (t *wordTable) slot(word uint64) *wordSlot {
	mask := uint64(len(t.slots) - 1)
	at := hash(word, 0)
	for range maxProbes {
		s := &t.slots[at&mask]
		if s.number == 0 || s.word == word {
			return s
		}
		at++
	}
	return nil
}

// insert gives a word that is not there a number.
func (t *wordTable) insert(word uint64, number uint32) error {
	if t.used*2 >= len(t.slots) {
		if err := t.rehash(max(2*len(t.slots), smallTable)); err != nil {
			return err
		}
	}
	s := t.slot(word)
	if s == nil {
		return ErrEngine
	}
	*s = wordSlot{word, number}
	t.used++
	return nil
}

func (t *wordTable) rehash(size int) error {
	old := t.slots
	t.slots = make([]wordSlot, size)
	for _, o := range old {
		if o.number != 0 {
			s := t.slot(o.word)
			if s == nil {
				return ErrEngine
			}
			*s = o
		}
	}
	return nil
}

// find is the number of a word, 0 if it has none.
func (t *wordTable) find(word uint64) uint32 {
	if len(t.slots) == 0 {
		return 0
	}
	if s := t.slot(word); s != nil {
		return s.number
	}
	return 0
}

func (t *wordTable) size() int { return 16 * len(t.slots) }
