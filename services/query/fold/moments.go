// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

// moment describes numbers: how many, their mean, and the sum of the squares of
// their differences from it.
type moment struct{ count, mean, squares float64 }

// join is the description of both.
func (m moment) join(o moment) moment {
	switch {
	case o.count == 0:
		return m
	case m.count == 0:
		return o
	}
	count, delta := m.count+o.count, o.mean-m.mean
	return moment{
		count:   count,
		mean:    m.mean + delta*(o.count/count),
		squares: m.squares + o.squares + delta*delta*m.count*(o.count/count),
	}
}

// step adds one number.
func (m *moment) step(v float64) {
	m.count++
	delta := v - m.mean
	m.mean += delta / m.count
	m.squares += delta * (v - m.mean)
}

// part sums up a group's numbers of one chunk, by their differences from a
// number that is close to them: squares of large numbers would drown what they
// differ by. Of equal numbers, all differences are exactly 0.
type part struct{ about, count, sum, squares float64 }

func (p *part) moment() moment {
	shift := p.sum / p.count
	return moment{p.count, p.about + shift, max(p.squares-p.sum*shift, 0)}
}

// deviations are the moments of numbers.
type deviations[T number] struct {
	source[T]
	states []moment
	// parts are those of the chunk at hand, where there are few groups. known
	// are those of them that have seen a number, and unknown how many have not.
	parts   []part
	known   []bool
	unknown int
	room    []T
}

// fewGroups is how many groups there may be to look at all of them after each
// chunk.
const fewGroups = chunkRows / 8

func (s *deviations[T]) add(from, n int, sel *selection) error {
	values := s.slice(from, n)
	switch {
	case sel.groups == nil:
		if values = chosen(values, &s.room, sel); len(values) > 0 {
			s.states[1] = s.states[1].join(momentOf(values))
		}
	case sel.runs != nil:
		for _, r := range sel.runs {
			if r.group != 0 {
				s.join(r.group, momentOf(values[r.from:r.to]))
			}
		}
	case len(s.states) > fewGroups:
		values = values[:len(sel.groups)]
		for i, k := range sel.groups {
			s.states[k].step(float64(values[i]))
		}
	default:
		s.addParts(values, sel.groups)
	}
	return nil
}

// momentOf looks at the numbers twice: for their mean, and about it.
func momentOf[T number](values []T) moment {
	about := float64(values[0])
	mean := about + sumAbout(values, about)/float64(len(values))
	return moment{float64(len(values)), mean, squaresAbout(values, mean)}
}

func sumAbout[T number](values []T, about float64) float64 {
	var a, b, c, d float64
	for len(values) >= 4 {
		v := values[:4]
		a += float64(v[0]) - about
		b += float64(v[1]) - about
		c += float64(v[2]) - about
		d += float64(v[3]) - about
		values = values[4:]
	}
	for _, v := range values {
		a += float64(v) - about
	}
	return (a + b) + (c + d)
}

func squaresAbout[T number](values []T, about float64) float64 {
	var a, b, c, d float64
	for len(values) >= 4 {
		v := values[:4]
		p, q, r, s := float64(v[0])-about, float64(v[1])-about, float64(v[2])-about, float64(v[3])-about
		a += p * p
		b += q * q
		c += r * r
		d += s * s
		values = values[4:]
	}
	for _, v := range values {
		p := float64(v) - about
		a += p * p
	}
	return (a + b) + (c + d)
}

// addParts sums up the chunk by groups, and then joins that to the states.
func (s *deviations[T]) addParts(values []T, groups []uint32) {
	values = values[:len(groups)]
	if s.unknown > 0 {
		s.meet(values, groups)
	}
	parts := s.parts
	for i, k := range groups {
		p := &parts[k]
		d := float64(values[i]) - p.about
		p.count++
		p.sum += d
		p.squares += d * d
	}
	for k := range parts {
		if p := &parts[k]; p.count > 0 {
			s.states[k] = s.states[k].join(p.moment())
			*p = part{about: s.states[k].mean}
		}
	}
}

// meet lets each group begin about its first number.
func (s *deviations[T]) meet(values []T, groups []uint32) {
	for i, k := range groups {
		if !s.known[k] {
			s.known[k], s.parts[k].about = true, float64(values[i])
			s.unknown--
		}
	}
}

func (s *deviations[T]) grow(groups int) {
	s.states = longer(s.states, groups, moment{})
	if groups >= fewGroups {
		s.parts, s.known, s.unknown = nil, nil, 0
		return
	}
	if len(s.known) == 0 { // number 0 need not be known
		s.known = append(s.known, true)
	}
	s.unknown += max(groups+1-len(s.known), 0)
	s.parts, s.known = longer(s.parts, groups, part{}), longer(s.known, groups, false)
}

// join adds to a group's state.
func (s *deviations[T]) join(k uint32, of moment) {
	m := &s.states[k]
	if *m = m.join(of); m.count == 0 || s.parts == nil {
		return
	}
	s.parts[k].about = m.mean
	if !s.known[k] {
		s.known[k] = true
		s.unknown--
	}
}

func (s *deviations[T]) merge(other accumulator, to []uint32) error {
	o := other.(*deviations[T])
	for k := 1; k < len(to); k++ {
		s.join(to[k], o.states[k])
	}
	return nil
}

func (s *deviations[T]) size() int { return 24*cap(s.states) + 33*cap(s.parts) }
