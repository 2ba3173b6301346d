// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import "sync"

// registry gives Go values numbers that C code may hold. A number that was
// never given out, or was dropped, finds nothing: C never holds a Go pointer.
type registry[T any] struct {
	mu   sync.Mutex
	last uint64
	held map[uint64]T
}

// add returns the value's number, which is never 0 and never used again.
func (r *registry[T]) add(v T) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		r.held = map[uint64]T{}
	}
	r.last++
	r.held[r.last] = v
	return r.last
}

func (r *registry[T]) get(id uint64) (T, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.held[id]
	return v, ok
}

// drop forgets the number and returns what it stood for.
func (r *registry[T]) drop(id uint64) (T, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.held[id]
	delete(r.held, id)
	return v, ok
}

// size is the number of values held.
func (r *registry[T]) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.held)
}
