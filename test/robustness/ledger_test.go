// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"sync"
	"time"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
)

// fate is what the client of an append was told.
type fate uint8

const (
	unknown fate = iota // nothing definite
	acked
	refused
)

// entry is an append and what became of it.
type entry struct {
	*operation
	fate        fate
	version     lake.Version
	incarnation string
}

// ledger is what the clients know: every append they made. It is safe for
// concurrent use.
type ledger struct {
	mu      sync.Mutex
	entries map[lake.OperationID]*entry
}

func newLedger() *ledger { return &ledger{entries: map[lake.OperationID]*entry{}} }

// open enters an append before it is sent.
func (l *ledger) open(o *operation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[o.command.Operation] = &entry{operation: o}
}

// ack enters an acknowledgement.
func (l *ledger) ack(o *operation, r *lakepb.AppendResult) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[o.command.Operation]
	e.fate, e.version, e.incarnation = acked, lake.Version(r.GetVersion()), r.GetIncarnation()
}

// refuse enters a definite refusal.
func (l *ledger) refuse(o *operation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[o.command.Operation].fate = refused
}

// of returns copies of a table's entries.
func (l *ledger) of(table lake.TableName) map[lake.OperationID]entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[lake.OperationID]entry{}
	for id, e := range l.entries {
		if e.command.Table == table {
			out[id] = *e
		}
	}
	return out
}

// forget drops the entries of a table.
func (l *ledger) forget(table lake.TableName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, e := range l.entries {
		if e.command.Table == table {
			delete(l.entries, id)
		}
	}
}

// attemptTimeout bounds one attempt of a client: a paused member accepts
// connections and never answers.
const attemptTimeout = 1500 * time.Millisecond

// append sends the operation to one member after the other, always with the
// same id and payload, until it is acknowledged, refused for good, or ctx
// ends. The ledger learns the outcome.
func (c *cluster) append(ctx context.Context, o *operation) (*lakepb.AppendResult, error) {
	c.ledger.open(o)
	ambiguous := false
	var err error
	for ctx.Err() == nil {
		for _, p := range c.running() {
			var result *lakepb.AppendResult
			if result, err = c.attempt(ctx, p, o); err == nil {
				c.ledger.ack(o, result)
				return result, nil
			}
			ambiguous = ambiguous || mayHaveApplied(err)
			if !final(err) {
				continue
			}
			if !ambiguous {
				c.ledger.refuse(o)
			}
			return nil, err
		}
		sleep(ctx, 5*time.Millisecond)
	}
	return nil, err
}

func (c *cluster) attempt(ctx context.Context, p *process, o *operation) (*lakepb.AppendResult, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return c.way(p)(ctx, o)
}

// way is how the next attempt of an append is sent to a member.
func (c *cluster) way(p *process) func(context.Context, *operation) (*lakepb.AppendResult, error) {
	if c.inSessions != nil && c.inSessions() {
		return c.putInSession(p)
	}
	return p.put
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
