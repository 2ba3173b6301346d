// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import "math"

// extreme is the smallest or the largest value of numbers. NaN is larger than
// all others. Of equal ones the first stays, as in the engine: 0 and -0.
type extreme[T number] struct {
	source[T]
	largest bool
	// best begin as the value that any other is at least as good as.
	best  []T
	worst T
	room  []T
}

func newExtreme[T number](from source[T], largest bool) *extreme[T] {
	s := &extreme[T]{source: from, largest: largest}
	switch w := any(&s.worst).(type) {
	case *float32:
		*w = float32(worstReal(largest))
	case *float64:
		*w = worstReal(largest)
	default:
		s.worst = worstInteger[T](largest)
	}
	return s
}

func worstReal(largest bool) float64 {
	if largest {
		return math.Inf(-1)
	}
	return math.NaN()
}

// worstInteger is the least of an integer type, or the most.
func worstInteger[T number](largest bool) T {
	most := T(0) - 1
	if most < 0 { // signed: look for the power of two that has no positive
		least := T(1)
		for least > 0 {
			least *= 2
		}
		if largest {
			return least
		}
		return -(least + 1)
	}
	if largest {
		return 0
	}
	return most
}

func (s *extreme[T]) add(from, n int, sel *selection) error {
	values := s.slice(from, n)
	switch {
	case sel.groups == nil:
		s.consider(1, chosen(values, &s.room, sel))
	case sel.runs != nil:
		for _, r := range sel.runs {
			s.consider(r.group, values[r.from:r.to])
		}
	case s.largest:
		raise(s.best, values, sel.groups)
	default:
		lower(s.best, values, sel.groups)
	}
	return nil
}

// consider looks at values of one group.
func (s *extreme[T]) consider(k uint32, values []T) {
	if s.largest {
		s.best[k] = largest(s.best[k], values)
	} else {
		s.best[k] = smallest(s.best[k], values)
	}
}

// The loops below ask the one question that is false for nearly every value,
// and for no NaN on either side.

func largest[T number](best T, values []T) T {
	for _, v := range values {
		if !(v <= best) && larger(v, best) {
			best = v
		}
	}
	return best
}

func smallest[T number](best T, values []T) T {
	for _, v := range values {
		if !(v >= best) && larger(best, v) {
			best = v
		}
	}
	return best
}

func raise[T number](best []T, values []T, groups []uint32) {
	values = values[:len(groups)]
	for i, k := range groups {
		if v, b := values[i], best[k]; !(v <= b) && larger(v, b) {
			best[k] = v
		}
	}
}

func lower[T number](best []T, values []T, groups []uint32) {
	values = values[:len(groups)]
	for i, k := range groups {
		if v, b := values[i], best[k]; !(v >= b) && larger(b, v) {
			best[k] = v
		}
	}
}

// larger orders as the engine does: what is not itself is NaN.
func larger[T number](a, b T) bool {
	return a > b || a != a && b == b
}

func (s *extreme[T]) grow(groups int) { s.best = longer(s.best, groups, s.worst) }

func (s *extreme[T]) merge(other accumulator, to []uint32) error {
	o := other.(*extreme[T])
	for k := 1; k < len(to); k++ {
		if s.largest {
			raise(s.best, o.best[k:k+1], to[k:k+1])
		} else {
			lower(s.best, o.best[k:k+1], to[k:k+1])
		}
	}
	return nil
}

func (s *extreme[T]) size() int { return 8 * cap(s.best) }
