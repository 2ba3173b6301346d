// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package file

import (
	"math/bits"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

const (
	poolMinBits = 12 // 4 KiB: smaller buffers are not worth keeping
	poolMaxBits = 26 // 64 MiB
)

// Pool is an allocator that keeps released buffers for later batches. Scans
// spend much of their time on fresh memory, which must be zeroed and faulted
// in; with a pool they do not. Buffers have undefined content, as the readers
// of this package expect. It may be shared by any number of readers.
//
// Buffers that are never released are left to the garbage collector, and so are
// pooled ones under memory pressure.
type Pool struct {
	classes [poolMaxBits + 1]sync.Pool
	small   memory.GoAllocator
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{} }

func poolClass(size int) int { return bits.Len(uint(max(size, 1) - 1)) }

// Allocate returns a buffer of the given size.
func (p *Pool) Allocate(size int) []byte {
	c := poolClass(size)
	if c < poolMinBits || c > poolMaxBits {
		return p.small.Allocate(size)
	}
	if b, ok := p.classes[c].Get().(*[]byte); ok {
		return (*b)[:size]
	}
	return make([]byte, 1<<c)[:size]
}

// Reallocate returns a buffer of the given size with the content of b, which
// must not be used any more.
func (p *Pool) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	out := p.Allocate(size)
	copy(out, b)
	p.Free(b)
	return out
}

// Free takes a buffer back.
func (p *Pool) Free(b []byte) {
	c := poolClass(cap(b))
	if c < poolMinBits || c > poolMaxBits || cap(b) != 1<<c {
		return
	}
	spoil(b[:cap(b)])
	b = b[:0]
	p.classes[c].Put(&b)
}
