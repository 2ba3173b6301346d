// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slotwire

import (
	"context"
	"slices"
	"sync"

	"github.com/lakeplane/lake/lake"
)

// Align is the alignment of regions and of the buffers in them: that of Arrow.
const Align = 64

// Arena hands out regions of a shared segment. One process owns it; the other
// only says which regions it needs no longer. It is safe for concurrent use.
//
// The lowest free place is taken first, so that the same few pages are used
// again and stay in the processor's caches.
type Arena struct {
	mem []byte

	mu      sync.Mutex
	free    []span      // by position, never touching each other
	used    map[int]int // position to size
	high    int         // end of the highest region since the last Reset
	changed chan struct{}
}

type span struct{ pos, size int }

// NewArena manages a segment.
func NewArena(mem []byte) *Arena {
	a := &Arena{mem: mem, changed: make(chan struct{})}
	a.Reset()
	return a
}

// Reset takes every region back and returns the end of the highest one since
// the last Reset. Nobody may use a region any more.
func (a *Arena) Reset() (high int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	high, a.high = a.high, 0
	a.free = append(a.free[:0], span{0, len(a.mem)})
	a.used = map[int]int{}
	return high
}

// Alloc waits for a free region of size bytes. One that is larger than the
// segment is lake.Exhausted, and so is ctx's end before there was room.
func (a *Arena) Alloc(ctx context.Context, size int) (pos int, mem []byte, err error) {
	size = max(Align, (size+Align-1)/Align*Align)
	if size > len(a.mem) {
		return 0, nil, lake.Errorf(lake.Exhausted, "a batch of %d bytes does not fit the engine's shared memory of %d bytes: select fewer or shorter columns", size, len(a.mem))
	}
	for {
		pos, changed := a.take(size)
		if pos >= 0 {
			return pos, a.mem[pos : pos+size : pos+size], nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, nil, lake.Errorf(lake.Exhausted, "waiting for room in the engine's shared memory: %w", ctx.Err())
		}
	}
}

// take returns -1 and what to wait for when there is no room.
func (a *Arena) take(size int) (pos int, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, s := range a.free {
		if s.size < size {
			continue
		}
		if s.size == size {
			a.free = slices.Delete(a.free, i, i+1)
		} else {
			a.free[i] = span{s.pos + size, s.size - size}
		}
		a.used[s.pos] = size
		a.high = max(a.high, s.pos+size)
		return s.pos, nil
	}
	return -1, a.changed
}

// Free takes a region back. One that is not in use is lake.Corrupt.
func (a *Arena) Free(pos int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	size, ok := a.used[pos]
	if !ok {
		return lake.Errorf(lake.Corrupt, "no region of the shared memory begins at %d", pos)
	}
	delete(a.used, pos)
	i, _ := slices.BinarySearchFunc(a.free, pos, func(s span, pos int) int { return s.pos - pos })
	a.free = slices.Insert(a.free, i, span{pos, size})
	a.join(i)
	a.join(i - 1)
	close(a.changed)
	a.changed = make(chan struct{})
	return nil
}

// join makes one of a free span and the next if they touch.
func (a *Arena) join(i int) {
	if i < 0 || i+1 >= len(a.free) || a.free[i].pos+a.free[i].size != a.free[i+1].pos {
		return
	}
	a.free[i].size += a.free[i+1].size
	a.free = slices.Delete(a.free, i+1, i+2)
}

// InUse is the number of regions handed out.
func (a *Arena) InUse() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.used)
}
