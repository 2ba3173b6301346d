// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
)

// readAhead reads a scan in goroutines of its own. It holds at most two
// batches a goroutine.
type readAhead struct {
	s       *Scan
	start   sync.Once
	workers sync.WaitGroup
	out     chan arrow.RecordBatch // closed when all goroutines ended
}

func newReadAhead(s *Scan) *readAhead {
	return &readAhead{s: s, out: make(chan arrow.RecordBatch, s.opts.Parallel)}
}

// run starts the goroutines, with the first Next. One keeps the order.
func (r *readAhead) run() {
	n := r.s.opts.Parallel
	if r.s.opts.Ordered {
		n = 1
	}
	for range n {
		r.workers.Go(r.work)
	}
	go func() {
		r.workers.Wait()
		close(r.out)
	}()
}

func (r *readAhead) work() {
	for {
		batch, err := r.s.pull(r.s.ctx)
		if err != nil {
			return // the scan keeps the error
		}
		select {
		case r.out <- batch:
		case <-r.s.ctx.Done():
			batch.Release()
			return
		}
	}
}

func (r *readAhead) next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := r.ended(); err != nil {
		return nil, err
	}
	r.start.Do(r.run)
	select {
	case batch, ok := <-r.out:
		if ok {
			return batch, nil
		}
		if err := r.ended(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *readAhead) ended() error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.s.state(context.Background())
}

// close waits for the goroutines, whose context has ended, and releases what
// they read.
func (r *readAhead) close() {
	r.start.Do(func() { close(r.out) }) // never started
	r.workers.Wait()
	for batch := range r.out {
		batch.Release()
	}
}
