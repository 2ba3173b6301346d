// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"encoding/binary"
	"math"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

const (
	// dictSample is the number of values looked at before a dictionary is tried.
	dictSample = 2048
	// dictRepeats is how often a value of the sample must occur on average.
	dictRepeats = 3
	// maxDictItems bounds a dictionary, which readers keep in memory.
	maxDictItems = 1 << 16
)

// pageDictionary is the distinct values of a page.
type pageDictionary struct {
	items    int
	block    []byte
	encoding *enc21pb.CompressiveEncoding
}

// indexer numbers distinct values in the order they come.
type indexer[K comparable] struct {
	seen    map[K]uint32
	indices []uint32
}

// add numbers a value and tells whether it is new.
func (x *indexer[K]) add(k K) bool {
	i, ok := x.seen[k]
	if !ok {
		i = uint32(len(x.seen))
		x.seen[k] = i
	}
	x.indices = append(x.indices, i)
	return !ok
}

// repetitive tells whether the values of a sample occur often enough.
func repetitive[K comparable](n int, value func(i int) K) bool {
	seen := make(map[K]struct{}, dictSample)
	step := max(1, n/dictSample)
	looked := 0
	for i := 0; i < n; i += step {
		seen[value(i)] = struct{}{}
		looked++
	}
	return len(seen)*dictRepeats <= looked
}

// fixedDictionary makes a dictionary of values of 4, 8 or 16 bytes, if it is
// smaller than limit.
func fixedDictionary(a *accum, limit int) (choice, bool) {
	switch a.leaf.value.width {
	case 4:
		return wordDictionary(a, limit, func(i int) uint32 { return binary.LittleEndian.Uint32(a.fixed[i*4:]) })
	case 8:
		return wordDictionary(a, limit, func(i int) uint64 { return binary.LittleEndian.Uint64(a.fixed[i*8:]) })
	case 16:
		return wordDictionary(a, limit, func(i int) [16]byte { return [16]byte(a.fixed[i*16:]) })
	}
	return choice{}, false
}

func wordDictionary[K comparable](a *accum, limit int, value func(i int) K) (choice, bool) {
	if !repetitive(a.n, value) {
		return choice{}, false
	}
	w := a.leaf.value.width
	x := indexer[K]{seen: map[K]uint32{}, indices: make([]uint32, 0, a.n)}
	var items []byte
	for i := range a.n {
		if x.add(value(i)) {
			if items = append(items, a.fixed[i*w:(i+1)*w]...); len(x.seen) > maxDictItems || len(items) > limit {
				return choice{}, false
			}
		}
	}
	return indexed(&pageDictionary{items: len(x.seen), block: items, encoding: flatEncoding(w * 8)}, x.indices), true
}

// variableDictionary makes a dictionary of variable values, if it is smaller
// than limit.
func variableDictionary(a *accum, limit int) (choice, bool) {
	value := func(i int) string { return string(a.data[a.valueStart(i):a.offsets[i]]) }
	if !repetitive(a.n, value) {
		return choice{}, false
	}
	return a.dictionaryOf(maxDictItems, limit)
}

// dictionaryOf makes a dictionary of variable values with at most so many items
// and bytes.
func (a *accum) dictionaryOf(most, limit int) (choice, bool) {
	x := indexer[string]{seen: map[string]uint32{}, indices: make([]uint32, 0, a.n)}
	var ends []uint64
	var data []byte
	for i := range a.n {
		v := a.data[a.valueStart(i):a.offsets[i]]
		if k, ok := x.seen[string(v)]; ok { // does not allocate
			x.indices = append(x.indices, k)
			continue
		}
		x.add(string(v))
		data = append(data, v...)
		if ends = append(ends, uint64(len(data))); len(ends) > most || len(data) > limit {
			return choice{}, false
		}
	}
	return indexed(&pageDictionary{items: len(ends), block: variableBlock(ends, data, a.leaf.value.wide), encoding: variableEncoding(offsetBits(a.leaf.value))}, x.indices), true
}

func offsetBits(t valueType) int {
	if t.wide {
		return 64
	}
	return 32
}

// variableBlock is the form parseVariableBlock reads: the bits of an offset and
// the start of the bytes, then the offsets, then the bytes.
func variableBlock(ends []uint64, data []byte, wide bool) []byte {
	le := binary.LittleEndian
	if wide {
		b := le.AppendUint64(make([]byte, 0, 24+8*len(ends)+len(data)), 64)
		b = le.AppendUint64(b, uint64(24+8*len(ends)))
		b = le.AppendUint64(b, 0)
		for _, end := range ends {
			b = le.AppendUint64(b, end)
		}
		return append(b, data...)
	}
	b := le.AppendUint32(make([]byte, 0, 12+4*len(ends)+len(data)), 32)
	b = le.AppendUint32(b, uint32(12+4*len(ends)))
	b = le.AppendUint32(b, 0)
	for _, end := range ends {
		b = le.AppendUint32(b, uint32(end))
	}
	return append(b, data...)
}

// indexed is a dictionary and its indices in their lightest form.
func indexed(d *pageDictionary, indices []uint32) choice {
	width, values := narrow(indices, d.items)
	c := lightest(width, values)
	if c.values == nil {
		c.values = flatChunks(width, values)
	}
	c.dict, c.size = d, c.size+len(d.block)
	return c
}

// narrow stores indices below items in words of 1, 2 or 4 bytes.
func narrow(indices []uint32, items int) (width int, b []byte) {
	switch {
	case items <= math.MaxUint8+1:
		b = make([]byte, len(indices))
		for i, v := range indices {
			b[i] = byte(v)
		}
		return 1, b
	case items <= math.MaxUint16+1:
		w := make([]uint16, len(indices))
		for i, v := range indices {
			w[i] = uint16(v)
		}
		return 2, bytesOf(w)
	}
	return 4, bytesOf(indices)
}

// flatChunks stores words as they are.
func flatChunks(width int, values []byte) chunkEncoder {
	l := &leaf{value: valueType{kind: fixedValues, width: width, itemWidth: width}}
	return &plainFixed{a: &accum{leaf: l, fixed: values}}
}
