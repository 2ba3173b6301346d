// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import "github.com/apache/arrow-go/v18/arrow"

// selection are the rows that count for some aggregates: those where a column is
// not null and a filter is true. Either may be -1, for none.
type selection struct {
	column, filter int

	// Of the chunk at hand: which rows, and how many.
	rows  mask
	count int
	// groups are the numbers of the rows' groups, 0 for those that do not count;
	// nil without groups.
	groups   []uint32
	silenced [chunkRows]uint32
	// runs are those of the groups, where there are few.
	runs     []run
	runsRoom [maxRuns]run

	// counts has a number for each group: of the rows that count, or, where all
	// is set, of those among all's that do not. Few columns have nulls, so most
	// are counted by not counting.
	counts []int64
	all    *selection
}

// load works out the n rows of a chunk from row from on; g are the numbers of
// their groups. That of all rows is loaded first.
func (s *selection) load(views []view, from, n int, g []uint32, all *selection) {
	s.rows.fill(n)
	s.count = n
	if s.filter >= 0 {
		v := views[s.filter]
		s.rows.and(v.array.Data().Buffers()[1].Bytes(), v.offset+from, n)
		s.exclude(v, from, n)
	}
	if s.column >= 0 {
		s.exclude(views[s.column], from, n)
	}
	if s.filter >= 0 || s.column >= 0 && views[s.column].valid != nil {
		s.count = s.rows.ones(n)
	}
	if s.groups = g; g != nil && s.count < n {
		s.groups = silence(s.silenced[:], g, &s.rows)
	}
	if s.runs = nil; g != nil {
		if s != all && s.count == n {
			s.runs = all.runs
		} else {
			s.runs = runsOf(s.groups, s.runsRoom[:])
		}
	}
	s.tally(n, g)
}

// exclude leaves the nulls of a column out.
func (s *selection) exclude(v view, from, n int) {
	if v.valid != nil {
		s.rows.and(v.valid, v.offset+from, n)
	}
}

// tally counts the chunk's rows.
func (s *selection) tally(n int, g []uint32) {
	switch {
	case g == nil && s.all != nil:
		s.counts[1] += int64(n - s.count)
	case g == nil:
		s.counts[1] += int64(s.count)
	case s.all == nil && s.runs != nil:
		for _, r := range s.runs {
			s.counts[r.group] += int64(r.to - r.from)
		}
	case s.all == nil:
		tally(s.counts, s.groups)
	case s.count < n:
		for i, k := range s.groups {
			if k == 0 {
				s.counts[g[i]]++
			}
		}
	}
}

// tally counts how often each number occurs.
func tally(counts []int64, g []uint32) {
	for _, k := range g {
		counts[k]++
	}
}

// of is how many rows of a group count.
func (s *selection) of(k int) int64 {
	if s.all != nil {
		return s.all.counts[k] - s.counts[k]
	}
	return s.counts[k]
}

func (s *selection) grow(groups int) { s.counts = longer(s.counts, groups, 0) }

func (s *selection) merge(other *selection, to []uint32) {
	for k := 1; k < len(other.counts) && k < len(to); k++ {
		s.counts[to[k]] += other.counts[k]
	}
}

// longer is a slice with room for groups numbered from 1 to groups, those that
// are new with a value to begin with.
func longer[T any](s []T, groups int, fresh T) []T {
	for len(s) <= groups {
		s = append(s, fresh)
	}
	return s
}

// chosen are the values of a chunk that count, moved together into room if some
// do not.
func chosen[T number](values []T, room *[]T, s *selection) []T {
	if s.count == len(values) {
		return values
	}
	if *room == nil {
		*room = make([]T, chunkRows+65)
	}
	return pick(*room, values, &s.rows)
}

// accumulator is what some aggregates need of a column, a state for each group.
type accumulator interface {
	// bind takes the column of the next batch.
	bind(a arrow.Array) error
	// add folds the n rows of a chunk from row from on that the selection says.
	add(from, n int, s *selection) error
	// grow makes states for groups numbered up to groups.
	grow(groups int)
	// merge folds the states of another accumulator of the same type; to has the
	// number here for each of its groups.
	merge(other accumulator, to []uint32) error
	// size is about how many bytes the states take.
	size() int
	// result has the value of f, of which the states are, for groups numbered
	// from 1 on; rows says how many values each has.
	result(f Func, dt arrow.DataType, groups int, rows *selection) (arrow.Array, error)
}
