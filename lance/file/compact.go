// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

const (
	// deflateGain is what general compression must save beside the best light
	// encoding, in 100ths: it costs several times their processor time.
	deflateGain = 20
	// lz4Loss is what LZ4 may be larger than zstd, in 100ths, to be preferred:
	// it is read several times faster.
	lz4Loss = 10
	// plainGain is what any encoding must save, in 100ths, for a page to give up
	// the plain form, which needs no decoding at all.
	plainGain = 5
	// leastGain is the same in bytes: an encoding has a description of its own.
	leastGain = 512
	// deflateVariable is the size of variable values compressed together. Taking
	// one row inflates that much.
	deflateVariable = 32 << 10
	// sampleChunks is the number of chunks compressed to estimate a page.
	sampleChunks = 4
)

// choice is an encoding of the values of a page and its size.
type choice struct {
	values chunkEncoder // nil for plain
	dict   *pageDictionary
	size   int
}

// better returns the smaller of two choices, where the second must save some
// 100ths.
func (c choice) better(o choice, gain int) choice {
	if o.size <= c.size-c.size*gain/100 {
		return o
	}
	return c
}

// choose finds a compact encoding for the values of a page, or one with nil
// values where plain is as good.
func choose(a *accum) choice {
	plain := choice{size: len(a.fixed) + len(a.data) + 4*len(a.offsets)}
	if a.n == 0 || a.itemNull || a.leaf.value.items > 0 {
		return plain
	}
	best := plain
	switch a.leaf.value.kind {
	case fixedValues:
		best = chooseFixed(a, plain.size)
	case variableValues:
		best = chooseVariable(a, plain.size)
	}
	if best.size+leastGain > plain.size {
		return plain
	}
	return plain.better(best, plainGain)
}

func chooseFixed(a *accum, size int) choice {
	w := a.leaf.value.width
	best := lightest(w, a.fixed)
	if d, ok := fixedDictionary(a, min(best.size, size)); ok {
		best = best.better(d, 0)
	}
	flat := chunkEncoder(&plainFixed{a: a})
	general := deflate(flat, a.n, size)
	if w == 4 || w == 8 {
		general = general.better(deflate(&splitChunks{width: w, values: a.fixed}, a.n, size), lz4Loss)
	}
	return best.better(general, deflateGain)
}

// lightest is the best encoding of words that takes no more time to read than
// plain values.
func lightest(width int, values []byte) choice {
	best := choice{size: len(values)}
	if !wordWidth(uint64(width * 8)) {
		return best
	}
	packed := choice{values: &packedChunks{width: width, values: values}, size: packedSize(width, values)}
	best = best.better(packed, 0)
	runs := choice{values: &runChunks{width: width, values: values}, size: runsSize(width, values, best.size)}
	return best.better(runs, deflateGain)
}

func chooseVariable(a *accum, size int) choice {
	best := choice{size: size}
	if d, ok := variableDictionary(a, size); ok {
		best = best.better(d, 0)
	}
	return best.better(deflate(&plainVariable{a: a, target: deflateVariable}, a.n, size), deflateGain)
}

// deflate estimates general compression of n values of some size by chunks from
// all parts of the page.
func deflate(in chunkEncoder, n, size int) choice {
	per := chunkSize(in, n)
	var raw, fast, small int
	var buf []byte
	for i := range min(sampleChunks, n/per) {
		from := (n - per) / sampleChunks * i
		b := in.buffers(from, per)[0]
		buf = schemeLZ4.deflate(buf[:0], b)
		raw, fast = raw+len(b), fast+len(buf)
		buf = schemeZstd.deflate(buf[:0], b)
		small += len(buf)
	}
	s, got := schemeZstd, small
	if fast <= small+small*lz4Loss/100 {
		s, got = schemeLZ4, fast
	}
	return choice{values: &deflated{chunkEncoder: in, scheme: s}, size: int(float64(size) * float64(got) / float64(max(1, raw)))}
}

// chunkSize is the number of values of a first chunk.
func chunkSize(e chunkEncoder, n int) int {
	size := maxMiniValues
	for size > 1 && (size > n || !e.fits(0, size)) {
		size /= 2
	}
	return size
}

// compacted encodes a page as chosen; ok is false where that fails or plain is
// as good.
func (e *pageEncoder) compacted(a *accum, lv pageLevelsOut) (p encodedPage, ok bool) {
	c := choose(a)
	if c.values == nil {
		return p, false
	}
	if p, ok = e.mini(a, c.values, lv); ok && c.dict != nil {
		c.dict.addTo(&p)
	}
	return p, ok
}

// addTo makes the values of a mini-block page indices of a dictionary.
func (d *pageDictionary) addTo(p *encodedPage) {
	l := p.layout.GetLayout().(*enc21pb.PageLayout_MiniBlockLayout).MiniBlockLayout
	l.Dictionary, l.NumDictionaryItems = d.encoding, uint64(d.items)
	buffers := append([][]byte{}, p.buffers[:miniDataBuffer+1]...)
	p.buffers = append(append(buffers, d.block), p.buffers[miniDataBuffer+1:]...)
}
