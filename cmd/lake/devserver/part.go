// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver

import (
	"context"
	"errors"
	"sync"
)

// part is a set of goroutines that end together.
type part struct {
	ctx     context.Context //nolint:containedctx // the life of the goroutines
	cancel  context.CancelFunc
	running sync.WaitGroup
	// broken tells the server that a goroutine failed.
	broken func()

	mu     sync.Mutex
	failed error
}

// newParts makes the two parts of a server. The first failure closes broken.
func newParts(broken chan struct{}) (front, back *part) {
	var once sync.Once
	end := func() { once.Do(func() { close(broken) }) }
	one := func() *part {
		ctx, cancel := context.WithCancel(context.Background())
		return &part{ctx: ctx, cancel: cancel, broken: end}
	}
	return one(), one()
}

func (p *part) run(work func(context.Context) error) {
	p.running.Go(func() {
		if err := work(p.ctx); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.failed = errors.Join(p.failed, err)
			p.broken()
		}
	})
}

// stop ends the part and returns why it failed, if it did.
func (p *part) stop() error {
	p.cancel()
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}
