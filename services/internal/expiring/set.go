// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package expiring keeps keys for as long as they matter, in bounded memory.
package expiring

import (
	"container/heap"
	"iter"
	"time"
)

// Set holds keys, each until a time of its own, and at most so many. Where it is
// full the key that expires first makes room: of what is forgotten, that
// matters for the shortest time. Its clock is the caller's, who passes the same
// one to every call. It is not safe for concurrent use.
type Set[K comparable] struct {
	most int
	at   map[K]int // where in the order
	// order is a heap: the key that expires first is at its head.
	order order[K]
}

// NewSet returns an empty set of at most so many keys, one or more.
func NewSet[K comparable](most int) *Set[K] {
	s := &Set[K]{most: most, at: map[K]int{}}
	s.order.at = s.at
	return s
}

// Add keeps a key until a time, or for longer where an earlier Add said so. A
// time that is over, or a full set of keys that all expire later, keeps nothing.
func (s *Set[K]) Add(now time.Time, key K, until time.Time) {
	s.forget(now)
	if i, ok := s.at[key]; ok {
		if e := &s.order.entries[i]; until.After(e.until) {
			e.until = until
			heap.Fix(&s.order, i)
		}
		return
	}
	if !until.After(now) {
		return
	}
	if len(s.at) >= s.most {
		if !until.After(s.order.entries[0].until) {
			return
		}
		heap.Pop(&s.order)
	}
	heap.Push(&s.order, entry[K]{key, until})
}

// Until returns until when a key is kept; ok is false for one that is not.
func (s *Set[K]) Until(now time.Time, key K) (until time.Time, ok bool) {
	i, ok := s.at[key]
	if !ok || !s.order.entries[i].until.After(now) {
		return time.Time{}, false
	}
	return s.order.entries[i].until, true
}

// Len is how many keys are kept.
func (s *Set[K]) Len(now time.Time) int {
	s.forget(now)
	return len(s.at)
}

// All yields the keys and until when they are kept, in no order. The set must
// not be changed meanwhile.
func (s *Set[K]) All(now time.Time) iter.Seq2[K, time.Time] {
	s.forget(now)
	return func(yield func(K, time.Time) bool) {
		for _, e := range s.order.entries {
			if !yield(e.key, e.until) {
				return
			}
		}
	}
}

// forget drops what has expired.
func (s *Set[K]) forget(now time.Time) {
	for len(s.order.entries) > 0 && !s.order.entries[0].until.After(now) {
		heap.Pop(&s.order)
	}
}

type entry[K comparable] struct {
	key   K
	until time.Time
}

// order is the heap, which notes where each key is.
type order[K comparable] struct {
	entries []entry[K]
	at      map[K]int
}

func (o *order[K]) Len() int           { return len(o.entries) }
func (o *order[K]) Less(i, j int) bool { return o.entries[i].until.Before(o.entries[j].until) }

func (o *order[K]) Swap(i, j int) {
	o.entries[i], o.entries[j] = o.entries[j], o.entries[i]
	o.at[o.entries[i].key], o.at[o.entries[j].key] = i, j
}

func (o *order[K]) Push(x any) {
	e := x.(entry[K])
	o.at[e.key] = len(o.entries)
	o.entries = append(o.entries, e)
}

func (o *order[K]) Pop() any {
	last := len(o.entries) - 1
	e := o.entries[last]
	delete(o.at, e.key)
	o.entries[last] = entry[K]{}
	o.entries = o.entries[:last]
	return e
}
