// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// running is a query in a slot, seen from its caller.
type running struct {
	engine  *Engine
	slot    *slot
	query   *query
	batches chan arrow.RecordBatch
	ended   chan error
}

// send hands a batch to the caller's goroutine and waits until it is taken, so
// that a slow consumer slows the query.
func (r *running) send(batch arrow.RecordBatch) error {
	batch.Retain()
	select {
	case r.batches <- batch:
		return nil
	case <-r.query.ctx.Done():
		batch.Release()
		return stopped(r.query.ctx)
	}
}

// deliver emits batches until the query ends. When the context ends first it
// waits for the slot no longer than the grace period.
func (r *running) deliver(emit func(arrow.RecordBatch) error) error {
	for {
		select {
		case batch := <-r.batches:
			err := emit(batch)
			batch.Release()
			if err != nil {
				r.query.stop(errAbandoned)
				_ = r.leave()
				return err
			}
		case err := <-r.ended:
			r.engine.release(r.slot)
			return err
		case <-r.query.ctx.Done():
			return r.leave()
		}
	}
}

// leave waits for a stopped query to end. A slot that does not is lost.
func (r *running) leave() error {
	patience := time.NewTimer(r.engine.opts.Grace)
	defer patience.Stop()
	select {
	case err := <-r.ended:
		r.engine.release(r.slot)
		if err == nil {
			return nil
		}
		return err
	case <-patience.C:
		r.engine.lose(r)
		return stopped(r.query.ctx)
	}
}

// lose puts a new slot in the place of one that does not answer. The lost one
// is closed when its query returns, however late.
func (e *Engine) lose(r *running) {
	e.lost.Go(func() {
		<-r.ended //nolint:errcheck // nobody waits for a lost query's error
		r.slot.close()
	})
	e.free <- nil
}
