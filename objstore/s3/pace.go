// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// pace bounds the requests under way by what the service bears: additive
// increase, multiplicative decrease, as TCP does (Chiu and Jain, 1989).
type pace struct {
	mu      sync.Mutex
	limit   float64
	most    float64
	running int
	waiting []chan struct{}
	// slowed is when the limit was halved last: the answers to requests that
	// were under way then do not halve it again.
	slowed time.Time
}

func newPace(most int) *pace { return &pace{limit: float64(most), most: float64(most)} }

// enter waits for a place.
func (p *pace) enter(ctx context.Context) error {
	p.mu.Lock()
	if p.running < int(p.limit) {
		p.running++
		p.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	p.waiting = append(p.waiting, turn)
	p.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		p.giveUp(turn)
		return ctx.Err()
	}
}

// giveUp takes a waiter out, or passes its place on if it has just got it.
func (p *pace) giveUp(turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.waiting {
		if w == turn {
			p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
			return
		}
	}
	p.running--
	p.admit()
}

// leave gives a place back. slow says that the service was overloaded, began
// when the request did.
func (p *pace) leave(slow bool, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	switch {
	case slow && began.After(p.slowed):
		p.limit, p.slowed = max(1, p.limit/2), time.Now()
	case !slow:
		p.limit = min(p.most, p.limit+1/p.limit)
	}
	p.admit()
}

func (p *pace) admit() {
	for len(p.waiting) > 0 && p.running < int(p.limit) {
		p.running++
		close(p.waiting[0])
		p.waiting = p.waiting[1:]
	}
}

const (
	firstPause = 50 * time.Millisecond
	maxPause   = 5 * time.Second
)

// pause waits before attempt n, counted from 1, anywhere up to a bound that
// doubles, and reports false when ctx ends first.
func pause(ctx context.Context, n int) bool {
	bound := min(firstPause<<min(n-1, 10), maxPause)
	timer := time.NewTimer(rand.N(bound) + time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
