// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// span is a range of elements of an array, the end excluded.
type span struct{ from, to int }

// shredder turns the nesting of an array into the levels of one leaf. It walks
// from the root to the leaf and keeps, for every entry so far, its levels in
// the numbering of the leaf's scheme, and the elements of the current array
// that entries stand for, in order.
type shredder struct {
	scheme levelScheme
	layer  int // layers still to visit, counted from the inside
	stage  int // list layers still to visit

	n        int      // entries
	rep, def []uint16 // nil while all zero
	elements []span

	spare    [2][]uint16 // memory for the next list layer
	children []span
}

// start begins with the rows [from, to) of a root array.
func (s *shredder) start(from, to int) {
	s.layer, s.stage = len(s.scheme.lists), int(s.scheme.maxRep)
	s.n = to - from
	s.rep, s.def = nil, nil
	s.elements = append(s.elements[:0], span{from, to})
}

// items visits a layer that is not a list: a struct or the leaf.
func (s *shredder) items(a arrow.Array) {
	s.layer--
	if a.NullN() == 0 {
		return
	}
	level, visible := s.scheme.base[s.layer], s.scheme.visible[s.stage]
	s.needDef()
	i := 0
	// The array of the null type has no bitmap to ask.
	all := a.DataType().ID() == arrow.NULL
	for _, e := range s.elements {
		for k := e.from; k < e.to; k++ {
			for s.def[i] > visible {
				i++
			}
			if s.def[i] == 0 && (all || a.IsNull(k)) {
				s.def[i] = level
			}
			i++
		}
	}
}

func (s *shredder) needDef() {
	if s.def == nil {
		s.def = make([]uint16, s.n)
	}
}

// lists visits a list layer and moves on to the items.
func (s *shredder) lists(a array.ListLike) {
	s.layer--
	list := uint16(s.stage)
	visible := s.scheme.visible[s.stage]
	s.stage--
	null := s.scheme.base[s.layer]
	g := listGrower{rep: s.spare[0][:0], def: s.spare[1][:0], spans: s.children[:0]}
	i := 0
	for _, e := range s.elements {
		for k := e.from; k < e.to; k++ {
			for s.defAt(i) > visible {
				g.special(s.repAt(i), s.def[i])
				i++
			}
			rep := max(s.repAt(i), list)
			from, to := a.ValueOffsets(k)
			switch d := s.defAt(i); {
			case d != 0:
				g.special(rep, d)
			case a.IsNull(k):
				g.special(rep, null)
			case from == to:
				g.special(rep, null+1)
			default:
				g.items(rep, int(from), int(to))
			}
			i++
		}
	}
	for ; i < s.n; i++ {
		g.special(s.repAt(i), s.defAt(i))
	}
	s.adopt(g)
}

func (s *shredder) repAt(i int) uint16 {
	if s.rep == nil {
		return 0
	}
	return s.rep[i]
}

func (s *shredder) defAt(i int) uint16 {
	if s.def == nil {
		return 0
	}
	return s.def[i]
}

// adopt makes what a list layer produced the current state.
func (s *shredder) adopt(g listGrower) {
	s.spare[0], s.spare[1] = s.rep, s.def
	s.children, s.elements = s.elements, g.spans
	s.rep, s.n = g.rep, len(g.rep)
	s.def = nil
	if g.specials {
		s.def = g.def
	} else {
		s.spare[1] = g.def
	}
}

// listGrower collects the entries behind a list layer.
type listGrower struct {
	rep, def []uint16
	spans    []span
	specials bool
}

// special adds an entry without items.
func (g *listGrower) special(rep, def uint16) {
	g.rep = append(g.rep, rep)
	g.def = append(g.def, def)
	g.specials = true
}

// items adds the items [from, to) of one list, at least one.
func (g *listGrower) items(rep uint16, from, to int) {
	n := len(g.rep)
	g.rep = extend(g.rep, to-from)
	g.def = extend(g.def, to-from)
	g.rep[n] = rep
	if k := len(g.spans); k > 0 && g.spans[k-1].to == from {
		g.spans[k-1].to = to
		return
	}
	g.spans = append(g.spans, span{from, to})
}

// extend appends n zeros.
func extend(b []uint16, n int) []uint16 {
	at := len(b)
	if cap(b)-at < n {
		grown := make([]uint16, at, max(2*cap(b), at+n))
		copy(grown, b)
		b = grown
	}
	b = b[:at+n]
	clear(b[at:])
	return b
}
