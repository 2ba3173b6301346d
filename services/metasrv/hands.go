// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import "sync/atomic"

// idleHands is how many goroutines wait for more to do.
const idleHands = 64

// hands run the parts of appends on goroutines that are used again: decoding and
// staging need more stack than a new goroutine has, and growing it costs a
// twentieth of a small append. Make them with newHands.
type hands struct {
	tasks chan func()
	idle  atomic.Int32
	over  chan struct{} // closed when none is to wait any more
}

func newHands() *hands { return &hands{tasks: make(chan func()), over: make(chan struct{})} }

// do runs f on another goroutine.
func (h *hands) do(f func()) {
	select {
	case h.tasks <- f:
	default:
		go h.work(f)
	}
}

func (h *hands) work(f func()) {
	for f != nil {
		f()
		f = h.next()
	}
}

// next waits for something to do; nil when there are hands enough.
func (h *hands) next() (f func()) {
	defer h.idle.Add(-1)
	if h.idle.Add(1) > idleHands {
		return nil
	}
	select {
	case f = <-h.tasks:
	case <-h.over:
	}
	return f
}

// rest sends those who wait home. What is done afterwards is done all the same.
func (h *hands) rest() { close(h.over) }
