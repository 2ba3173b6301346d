// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"hash/maphash"
	"sync/atomic"
)

// filter is a Bloom filter. Most of what a commit looks up is not there: a
// token that nobody used before, a key that it is about to create. To learn that
// from the memtable costs more than all else that a commit does before its
// write. It is safe for concurrent use: a name that was added is seen by
// everybody who takes the name's stripe afterwards.
//
// A filter does not grow. With ten bits a name it is wrong about one absent
// name in a hundred, with fewer more often; being wrong costs the lookup that
// would have been made without it.
type filter struct {
	words []atomic.Uint64
}

const (
	// tokenFilterBits are for the tokens of one window: 1 MiB.
	tokenFilterBits = 1 << 23
	// keyFilterBits are for the keys of the database: 2 MiB.
	keyFilterBits = 1 << 24

	filterProbes = 4
)

// newFilter returns an empty filter. bits is a power of two.
func newFilter(bits int) *filter { return &filter{make([]atomic.Uint64, bits/64)} }

// hashSeed is of this process: filters are not stored.
var hashSeed = maphash.MakeSeed()

func (f *filter) add(name string) {
	h := maphash.String(hashSeed, name)
	for range filterProbes {
		word, bit := f.at(h)
		if word.Load()&bit == 0 {
			word.Or(bit)
		}
		h = next(h)
	}
}

// has reports false when the name was never added.
func (f *filter) has(name string) bool {
	h := maphash.String(hashSeed, name)
	for range filterProbes {
		if word, bit := f.at(h); word.Load()&bit == 0 {
			return false
		}
		h = next(h)
	}
	return true
}

func (f *filter) at(h uint64) (word *atomic.Uint64, bit uint64) {
	return &f.words[h>>6&uint64(len(f.words)-1)], 1 << (h & 63)
}

// next returns the hash of the next probe: a step of a full-period generator
// (Knuth's MMIX), whose high bits are folded in since its low ones are weak.
func next(h uint64) uint64 {
	h = h*6364136223846793005 + 1442695040888963407
	return h ^ h>>32
}
