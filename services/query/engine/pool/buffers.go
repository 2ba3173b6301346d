// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// copies holds memory for results on their way to the client. Results are
// large and short-lived: making and clearing new memory for each costs more
// than copying it. Memory whose batch is never released is left to the garbage
// collector.
var copies = sync.Pool{New: func() any { b := make([]byte, reusable); return &b }}

// reusable is a little more than an engine's batches usually are. Larger ones
// get memory of their own, and so do those so small that it would be wasted.
const (
	reusable = 2<<20 + 256<<10
	small    = 256 << 10
)

// private is memory for one batch, which the buffers made of it share.
type private struct {
	mem   []byte
	whole *[]byte // to be used again, or nil
	users atomic.Int64
}

func newPrivate(size int) *private {
	p := &private{}
	p.users.Store(1)
	if size > reusable || size < small {
		p.mem = make([]byte, size)
		return p
	}
	p.whole = copies.Get().(*[]byte)
	p.mem = (*p.whole)[:size]
	return p
}

// buffer wraps a part of the memory.
func (p *private) buffer(b []byte) *memory.Buffer {
	p.users.Add(1)
	return memory.NewBufferWithAllocator(b, p)
}

// Free implements memory.Allocator: it is called once for each buffer, and by
// the maker.
func (p *private) Free([]byte) {
	if p.users.Add(-1) == 0 && p.whole != nil {
		copies.Put(p.whole)
		p.whole = nil
	}
}

// Allocate implements memory.Allocator. Nobody grows a buffer of a result.
func (p *private) Allocate(n int) []byte { return make([]byte, n) }

// Reallocate implements memory.Allocator. Nobody grows a buffer of a result.
func (p *private) Reallocate(n int, b []byte) []byte { return append(make([]byte, 0, n), b...)[:n] }
