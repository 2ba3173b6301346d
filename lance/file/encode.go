// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"math"

	"github.com/lakeplane/lake/lance/lancepb/enc21pb"
)

const (
	// miniMaxFixed is the widest fixed value stored in mini-blocks when there
	// are levels. Wider ones fit a chunk too few times.
	miniMaxFixed = 256
	// miniMaxVariable is the longest variable value stored in mini-blocks; it
	// leaves room in a chunk of 32 KiB.
	miniMaxVariable = 4 << 10
	// miniMaxNested replaces both limits where readers exist that go wrong on a
	// full-zip page: those count a null struct around a list as an item of it.
	miniMaxNested = 24 << 10
)

// encodedPage is a page ready to be written. The buffers are valid until the
// next page of the same encoder.
type encodedPage struct {
	layout  *enc21pb.PageLayout
	buffers [][]byte
}

// pageEncoder encodes the pages of one leaf and keeps the memory for it.
type pageEncoder struct {
	leaf    *leaf
	compact bool
	data    []byte // chunks, or zipped values
	meta    []byte
	side    []byte // repetition index, or row index
	rep     []byte // levels of one chunk, packed
	def     []byte
}

// pageLevelsOut are the levels of a page in the numbering of the page.
type pageLevelsOut struct {
	rep, def       []uint16
	maxRep, maxDef uint16
	visible        uint16 // highest level with a value
	layers         []enc21pb.RepDefLayer
	nulls          bool // every value is null
}

// encode chooses the layout of a page:
//
//   - nothing but nulls: constant;
//   - if asked for, a compact encoding in mini-blocks where that is smaller;
//   - no levels and whole bytes: full-zip, which then is the plain array;
//   - small values: mini-block;
//   - anything else: full-zip.
func (e *pageEncoder) encode(a *accum) (encodedPage, error) {
	lv := e.levels(a, e.zipsLists(a))
	t := e.leaf.value
	if a.n > 0 && t.kind == variableValues && e.leaf.outer && a.maxLen > miniMaxNested {
		return e.asDictionary(a, lv)
	}
	switch {
	case a.n == 0 || t.kind == nullValues || lv.nulls && (lv.rep == nil || len(lv.rep) == a.rows):
		// Nulls inside longer lists are not stored as constants: readers exist
		// that take the levels of such a page for its rows.
		return e.constant(lv), nil
	case e.compact && e.small(a):
		if p, ok := e.compacted(a, lv); ok {
			return p, nil
		}
	}
	switch {
	case lv.rep == nil && lv.def == nil && t.kind == fixedValues && !a.itemNull:
		return e.plain(a, lv), nil
	case e.small(a):
		if p, ok := e.mini(a, plainEncoder(a), lv); ok {
			return p, nil
		}
	}
	if t.kind == boolValues {
		return encodedPage{}, unsupported("more than %d empty or null lists in a row inside one list of bool", maxChunkLevels)
	}
	return e.zip(a, lv), nil
}

// zipsLists tells whether lists of fixed values become a full-zip page. Readers
// exist that take the rows of such a page for its values, if a layer has nulls
// in another page and none in this one.
func (e *pageEncoder) zipsLists(a *accum) bool {
	if e.leaf.levels.maxRep == 0 || e.leaf.value.kind != fixedValues {
		return false
	}
	return !e.small(a) || a.longestRun() > a.levelRoom()
}

// asDictionary stores large values below a struct that may be null around a
// list. They do not fit a chunk, and readers exist that go wrong on a full-zip
// page of such a leaf; the items of a dictionary may have any size.
func (e *pageEncoder) asDictionary(a *accum, lv pageLevelsOut) (encodedPage, error) {
	c, ok := a.dictionaryOf(math.MaxUint32, math.MaxInt)
	if ok && (a.leaf.value.wide || len(c.dict.block) <= math.MaxInt32) {
		if p, ok := e.mini(a, c.values, lv); ok {
			c.dict.addTo(&p)
			return p, nil
		}
	}
	return e.zip(a, lv), nil
}

// plainEncoder stores the values of a page as they are.
func plainEncoder(a *accum) chunkEncoder {
	switch a.leaf.value.kind {
	case boolValues:
		return &plainBits{a: a}
	case variableValues:
		return &plainVariable{a: a, target: miniTargetVariable}
	}
	return &plainFixed{a: a}
}

func (e *pageEncoder) small(a *accum) bool {
	fixed, variable := miniMaxFixed, miniMaxVariable
	if e.leaf.outer {
		fixed, variable = miniMaxNested, miniMaxNested
	}
	switch e.leaf.value.kind {
	case boolValues:
		return true
	case fixedValues:
		return e.leaf.value.width <= fixed
	}
	return a.maxLen <= variable
}

// levels translates the levels of the scheme to those the page needs. With all,
// every layer that may be null gets a level even without nulls.
func (e *pageEncoder) levels(a *accum, all bool) pageLevelsOut {
	s := e.leaf.levels
	out := pageLevelsOut{maxRep: s.maxRep}
	if s.maxRep > 0 {
		out.rep = a.rep
	}
	used := make([]bool, s.maxDef+1)
	values := 0
	for _, d := range a.def {
		used[d] = true
		if d == 0 {
			values++
		}
	}
	hasDef := values < len(a.def)
	if e.leaf.outer || all {
		hasDef = true
		if len(a.def) < a.entries {
			a.def = extend(a.def, a.entries-len(a.def))
			values = a.entries
		}
	}
	toPage := out.setLayers(s, used, hasDef, all)
	if !hasDef {
		return out
	}
	out.nulls = values == 0
	out.def = a.def
	for i, d := range out.def {
		out.def[i] = toPage[d]
	}
	return out
}

// setLayers names the layers and returns the page level of each scheme level.
func (out *pageLevelsOut) setLayers(s levelScheme, used []bool, hasDef, all bool) []uint16 {
	toPage := make([]uint16, s.maxDef+1)
	var next uint16
	level := func(d uint16) { next++; toPage[d] = next }
	sawList := false
	for i, list := range s.lists {
		null := used[s.base[i]]
		if !list {
			// Readers exist that take the number of values for the number of
			// structs around lists when not all pages have nulls in that layer.
			if null || (all || sawList) && s.nullable[i] {
				level(s.base[i])
				out.layers = append(out.layers, enc21pb.RepDefLayer_REPDEF_NULLABLE_ITEM)
			} else {
				out.layers = append(out.layers, enc21pb.RepDefLayer_REPDEF_ALL_VALID_ITEM)
			}
			continue
		}
		if !sawList {
			sawList, out.visible = true, next
		}
		// Early readers go wrong on a list layer without a level of its own
		// beside layers that have one, so it gets one even if unused.
		empty := used[s.base[i]+1] || hasDef && !null
		if null {
			level(s.base[i])
		}
		if empty {
			level(s.base[i] + 1)
		}
		out.layers = append(out.layers, listLayer(null, empty))
	}
	if !sawList {
		out.visible = next
	}
	out.maxDef = next
	return toPage
}

func listLayer(null, empty bool) enc21pb.RepDefLayer {
	switch {
	case null && empty:
		return enc21pb.RepDefLayer_REPDEF_NULL_AND_EMPTY_LIST
	case null:
		return enc21pb.RepDefLayer_REPDEF_NULLABLE_LIST
	case empty:
		return enc21pb.RepDefLayer_REPDEF_EMPTYABLE_LIST
	}
	return enc21pb.RepDefLayer_REPDEF_ALL_VALID_LIST
}

// constant stores levels only, as plain 16-bit values, and not even those when
// there is just one layer to be null.
func (e *pageEncoder) constant(lv pageLevelsOut) encodedPage {
	layout := &enc21pb.ConstantLayout{Layers: lv.layers}
	p := encodedPage{layout: &enc21pb.PageLayout{Layout: &enc21pb.PageLayout_ConstantLayout{ConstantLayout: layout}}}
	if len(lv.layers) > 1 {
		p.buffers = [][]byte{bytesOf(lv.rep), bytesOf(lv.def)}
	}
	return p
}

// valueEncoding describes plain fixed values.
func valueEncoding(t valueType, itemNull bool) *enc21pb.CompressiveEncoding {
	if t.kind == boolValues {
		return flatEncoding(1)
	}
	item := flatEncoding(t.itemWidth * 8)
	if t.items == 0 {
		return item
	}
	for i := len(t.dims) - 1; i >= 0; i-- {
		list := &enc21pb.FixedSizeList{ItemsPerValue: uint64(t.dims[i]), HasValidity: itemNull, Values: item}
		item = &enc21pb.CompressiveEncoding{Compression: &enc21pb.CompressiveEncoding_FixedSizeList{FixedSizeList: list}}
		itemNull = false // of the lists inside
	}
	return item
}

func flatEncoding(bits int) *enc21pb.CompressiveEncoding {
	f := &enc21pb.Flat{BitsPerValue: uint64(bits)}
	return &enc21pb.CompressiveEncoding{Compression: &enc21pb.CompressiveEncoding_Flat{Flat: f}}
}

func variableEncoding(offsetBits int) *enc21pb.CompressiveEncoding {
	v := &enc21pb.Variable{Offsets: flatEncoding(offsetBits)}
	return &enc21pb.CompressiveEncoding{Compression: &enc21pb.CompressiveEncoding_Variable{Variable: v}}
}

// levelEncoding describes levels packed to width bits.
func levelEncoding(width int) *enc21pb.CompressiveEncoding {
	p := &enc21pb.OutOfLineBitpacking{UncompressedBitsPerValue: 16, Values: flatEncoding(width)}
	return &enc21pb.CompressiveEncoding{Compression: &enc21pb.CompressiveEncoding_OutOfLineBitpacking{OutOfLineBitpacking: p}}
}
