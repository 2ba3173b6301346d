// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

// levelScheme numbers the definition levels of one leaf.
//
// Nesting is stored as two levels per entry. The repetition level of an entry
// is 0 inside the innermost list and r where the r-th list, counted from the
// inside, starts. The definition level is 0 for a value and else names the
// layer that is null or empty. Layers are counted from the inside, so that
// small numbers are close to the value.
//
// Pages number only the levels they need. The scheme is the full numbering,
// one level for each item or struct layer and two for each list layer (null,
// then empty); levels of all pages are translated to it, so that batches may
// span pages that differ.
type levelScheme struct {
	lists    []bool   // per layer, inner first: is it a list
	nullable []bool   // per layer: may it be null
	base     []uint16 // per layer: its first level
	// visible is, after passing 0, 1, … lists, the highest level that still
	// stands for an element at that stage; higher ones belong to the lists
	// further out.
	visible []uint16
	maxRep  uint16 // number of list layers
	maxDef  uint16
}

// number gives the layers their levels.
func (s levelScheme) number() levelScheme {
	s.base = make([]uint16, len(s.lists))
	next := uint16(1)
	for i, list := range s.lists {
		s.base[i] = next
		if list {
			s.visible = append(s.visible, next-1)
			s.maxRep++
			next++
		}
		next++
	}
	s.maxDef = next - 1
	s.visible = append(s.visible, s.maxDef)
	return s
}

// pageLevels translates the levels of one page.
type pageLevels struct {
	// toScheme maps a level of the page to one of the scheme.
	toScheme []uint16
	// visible is the highest page level that stands for a value of the page.
	visible  uint16
	identity bool
}

// parseLayers checks the layers of a page against the scheme.
func (s levelScheme) parseLayers(layers []enc21pb.RepDefLayer) (pageLevels, error) {
	if len(layers) != len(s.lists) {
		return pageLevels{}, corrupt("a page has %d layers, the column %d", len(layers), len(s.lists))
	}
	p := pageLevels{toScheme: make([]uint16, 1, s.maxDef+1)}
	sawList := false
	for i, l := range layers {
		list, null, empty := layerMeaning(l)
		if list != s.lists[i] || l == enc21pb.RepDefLayer_REPDEF_UNSPECIFIED || l > enc21pb.RepDefLayer_REPDEF_NULL_AND_EMPTY_LIST {
			return pageLevels{}, corrupt("layer %d of a page is %v, which does not fit the type of the column", i, l)
		}
		if list && !sawList {
			sawList, p.visible = true, uint16(len(p.toScheme)-1)
		}
		if null {
			p.toScheme = append(p.toScheme, s.base[i])
		}
		if empty {
			p.toScheme = append(p.toScheme, s.base[i]+1)
		}
	}
	if !sawList {
		p.visible = uint16(len(p.toScheme) - 1)
	}
	p.identity = len(p.toScheme) == int(s.maxDef)+1
	return p, nil
}

func layerMeaning(l enc21pb.RepDefLayer) (list, null, empty bool) {
	switch l {
	case enc21pb.RepDefLayer_REPDEF_ALL_VALID_LIST:
		return true, false, false
	case enc21pb.RepDefLayer_REPDEF_NULLABLE_ITEM:
		return false, true, false
	case enc21pb.RepDefLayer_REPDEF_NULLABLE_LIST:
		return true, true, false
	case enc21pb.RepDefLayer_REPDEF_EMPTYABLE_LIST:
		return true, false, true
	case enc21pb.RepDefLayer_REPDEF_NULL_AND_EMPTY_LIST:
		return true, true, true
	}
	return false, false, false
}

// levelBuffer collects the levels of a batch of one leaf, in scheme numbering.
type levelBuffer struct {
	scheme levelScheme
	n      int      // entries
	rep    []uint16 // empty when no layer is a list
	def    []uint16 // empty while every entry is a value
}

func (b *levelBuffer) reset() { b.n, b.rep, b.def = 0, b.rep[:0], b.def[:0] }

// append adds entries. rep must be nil exactly when the scheme has no list;
// def may be nil for "all values". Levels out of range are corrupt.
func (b *levelBuffer) append(n int, rep, def []uint16, p *pageLevels) error {
	if b.scheme.maxRep > 0 {
		if len(rep) != n {
			return corrupt("%d repetition levels for %d entries", len(rep), n)
		}
		for _, r := range rep {
			if r > b.scheme.maxRep {
				return corrupt("repetition level %d, the column has %d lists", r, b.scheme.maxRep)
			}
		}
		b.rep = append(b.rep, rep...)
	}
	if def == nil {
		b.appendValues(n)
		return nil
	}
	b.fill()
	at := len(b.def)
	b.def = append(b.def, def...)
	if err := p.translate(b.def[at:]); err != nil {
		return err
	}
	b.n += n
	return nil
}

// appendValues adds n entries without a definition level.
func (b *levelBuffer) appendValues(n int) {
	if len(b.def) > 0 {
		b.def = append(b.def, make([]uint16, n)...)
	}
	b.n += n
}

// fill makes def as long as the number of entries so far.
func (b *levelBuffer) fill() {
	if len(b.def) < b.n {
		b.def = append(b.def, make([]uint16, b.n-len(b.def))...)
	}
}

func (p *pageLevels) translate(def []uint16) error {
	top := uint16(len(p.toScheme) - 1)
	if p.identity && top == 1 && onlyBits(def) {
		return nil
	}
	for i, d := range def {
		if d > top {
			return corrupt("definition level %d, the page has %d", d, top)
		}
		def[i] = p.toScheme[d]
	}
	return nil
}

// unravel walks the layers of a levelBuffer from the inside to the outside and
// gives the validity and the offsets of each.
type unraveler struct {
	b     *levelBuffer
	layer int
	stage int // lists passed
}

// items writes the validity of the next layer, which must not be a list, for
// the entries that are elements at this stage. It returns the number of
// elements and of nulls; bits is nil when there are no nulls. The memory of
// bits comes from alloc, which is asked for zeroed bytes at most once.
func (u *unraveler) items(alloc func(n int) []byte) (bits []byte, n, nulls int) {
	level, visible := u.b.scheme.base[u.layer], u.b.scheme.visible[u.stage]
	u.layer++
	if len(u.b.def) == 0 {
		return nil, u.b.n, 0
	}
	if u.b.scheme.maxDef == 1 { // a nullable value in no list: by far the most common
		if nulls = countBits(u.b.def); nulls == 0 {
			return nil, len(u.b.def), 0
		}
		bits = alloc(int(bitutil.BytesForBits(int64(len(u.b.def)))))
		packZeros(bits, u.b.def)
		return bits, len(u.b.def), nulls
	}
	for _, d := range u.b.def {
		if d <= visible {
			n++
			if d >= level {
				nulls++
			}
		}
	}
	if nulls == 0 {
		return nil, n, 0
	}
	bits = alloc(int(bitutil.BytesForBits(int64(n))))
	if n == len(u.b.def) {
		packBelow(bits, u.b.def, level)
		return bits, n, nulls
	}
	at := 0
	for _, d := range u.b.def {
		if d <= visible {
			if d < level {
				bits[at>>3] |= 1 << (at & 7)
			}
			at++
		}
	}
	return bits, n, nulls
}

// packBelow sets bit i where def[i] < level.
func packBelow(bits []byte, def []uint16, level uint16) {
	full := len(def) &^ 7
	for i := 0; i < full; i += 8 {
		d := def[i : i+8 : i+8]
		var b byte
		for j, v := range d {
			// The difference is negative, with its top bit set, when v < level.
			b |= byte((uint32(v)-uint32(level))>>31) << j
		}
		bits[i>>3] = b
	}
	for i := full; i < len(def); i++ {
		if def[i] < level {
			bits[i>>3] |= 1 << (i & 7)
		}
	}
}

// joinItems makes one entry of each n, the items of a fixed size list, whose
// layer is the next. It reports whether the items agree on the layers from it on
// outwards; there must be no list among the layers.
func (u *unraveler) joinItems(n int) bool {
	b, level := u.b, u.b.scheme.base[u.layer]
	if len(b.def) == 0 {
		b.n /= n
		return true
	}
	kept := len(b.def) / n
	for i := range kept {
		first := b.def[i*n]
		for _, d := range b.def[i*n : (i+1)*n] {
			if d != first && (d >= level || first >= level) {
				return false
			}
		}
		b.def[i] = first
	}
	b.def, b.n = b.def[:kept], kept
	return true
}

// lists consumes the next layer, which must be a list. It calls emit for each
// list with the index of its first element and whether it is valid, and returns
// the number of lists and of elements.
func (u *unraveler) lists(emit func(start int, valid bool)) (lists, elements int) {
	b, s := u.b, u.b.scheme
	null, visible := s.base[u.layer], s.visible[u.stage+1]
	empty := null + 1
	hasDef := len(b.def) > 0
	kept := 0
	for i, r := range b.rep {
		if r == 0 {
			elements++
			continue
		}
		var d uint16
		if hasDef {
			d = b.def[i]
			b.def[kept] = d
		}
		b.rep[kept] = r - 1
		kept++
		if d > visible {
			continue
		}
		lists++
		emit(elements, d < null || d == empty)
		if d < null {
			elements++
		}
	}
	b.rep, b.n = b.rep[:kept], kept
	if hasDef {
		b.def = b.def[:kept]
	}
	u.layer, u.stage = u.layer+1, u.stage+1
	return lists, elements
}
