// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

type pulled struct {
	batch arrow.RecordBatch
	err   error
	ok    bool
}

// pull is iter.Pull2 for callers that may be anywhere. The coroutines of
// iter.Pull2 can only be resumed by a goroutine whose locking to its thread is
// as it was at the first call, or the process ends; a callback from C is locked,
// other callers are not, and a scan meets both. So the sequence runs in a
// goroutine of its own here. It is ended by stop, which must be called.
func pull(seq iter.Seq2[arrow.RecordBatch, error]) (next func() (arrow.RecordBatch, error, bool), stop func()) {
	asks, answers := make(chan struct{}), make(chan pulled)
	started, stopped := false, false
	run := func() {
		defer close(answers)
		if _, ok := <-asks; !ok {
			return
		}
		for batch, err := range seq {
			answers <- pulled{batch, err, true}
			if _, ok := <-asks; !ok {
				return
			}
		}
	}
	next = func() (arrow.RecordBatch, error, bool) {
		if stopped {
			return nil, nil, false
		}
		if !started {
			started = true
			go run()
		}
		select {
		case asks <- struct{}{}:
			p := <-answers
			return p.batch, p.err, p.ok
		case <-answers: // closed: the sequence has ended
			return nil, nil, false
		}
	}
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		close(asks)
		if started {
			for range answers { // until the sequence has cleaned up
			}
		}
	}
	return next, stop
}
