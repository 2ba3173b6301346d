// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/lakeplane/lake/lake"
)

// admission lets appends in while the process has room for what they may turn
// out to be.
type admission struct {
	opts    AppendOptions
	slots   *semaphore.Weighted
	bytes   *semaphore.Weighted
	metrics *metrics
}

func newAdmission(opts AppendOptions, m *metrics) *admission {
	return &admission{
		opts: opts, metrics: m,
		slots: semaphore.NewWeighted(int64(opts.Concurrent)),
		bytes: semaphore.NewWeighted(opts.BufferedBytes),
	}
}

// enter waits for a slot and for the bytes that the append may turn out to
// have. It fails with lake.Exhausted when the wait is over.
func (a *admission) enter(ctx context.Context, bytes int64) (*permit, error) {
	if err := a.acquire(ctx, bytes); err != nil {
		return nil, err
	}
	a.metrics.admitted("admitted")
	a.metrics.hold(1, bytes)
	return &permit{admission: a, held: bytes}, nil
}

func (a *admission) acquire(ctx context.Context, bytes int64) error {
	// Nearly always there is room, and then no timer is needed, whose time may be
	// over on a busy machine before anybody has looked.
	if a.slots.TryAcquire(1) {
		if a.bytes.TryAcquire(bytes) {
			return nil
		}
		a.slots.Release(1)
	}
	wait, cancel := context.WithTimeout(ctx, a.opts.Wait)
	defer cancel()
	if a.slots.Acquire(wait, 1) != nil {
		return a.refuse(ctx, "%d appends are under way", a.opts.Concurrent)
	}
	if a.bytes.Acquire(wait, bytes) != nil {
		a.slots.Release(1)
		return a.refuse(ctx, "the %d bytes for appends are reserved", a.opts.BufferedBytes)
	}
	return nil
}

func (a *admission) refuse(ctx context.Context, format string, args ...any) error {
	if ctx.Err() != nil {
		a.metrics.admitted("abandoned")
		return ctx.Err()
	}
	a.metrics.admitted("refused")
	return lake.Errorf(lake.Exhausted, "append: "+format+": try again", args...)
}

// permit is the room of one append: a slot while it is received and staged, and
// bytes for as long as they are in memory. It is safe for concurrent use.
type permit struct {
	admission *admission
	mu        sync.Mutex
	held      int64
	staged    bool // the slot is given back
	left      bool
}

// shrink gives back the bytes above what the stream turned out to have.
func (p *permit) shrink(to int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if back := p.held - to; !p.left && back > 0 {
		p.held = to
		p.admission.bytes.Release(back)
		p.admission.metrics.hold(0, -back)
	}
}

// stage gives the slot back.
func (p *permit) stage() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveSlot()
}

// leave gives everything back. A second call does nothing.
func (p *permit) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveSlot()
	if p.left {
		return
	}
	p.left = true
	p.admission.bytes.Release(p.held)
	p.admission.metrics.hold(0, -p.held)
}

func (p *permit) giveSlot() {
	if p.staged {
		return
	}
	p.staged = true
	p.admission.slots.Release(1)
	p.admission.metrics.hold(-1, 0)
}
