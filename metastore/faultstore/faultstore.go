// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package faultstore wraps a metastore in the faults of a network: calls that
// never arrive, acknowledgements that get lost, requests that are delivered
// twice or late, and somebody else who comes in between. It is for tests of
// whatever uses a metastore.
package faultstore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// Kind is what goes wrong with a call.
type Kind uint8

// The kinds of faults. For reads, which have no effect, every lost answer is
// simply [metastore.ErrRetryable].
const (
	// None: the call goes through.
	None Kind = iota
	// BeforeSend: the call is not made and fails with ErrRetryable.
	BeforeSend
	// Throttle: like BeforeSend, with the kind lake.Exhausted.
	Throttle
	// AckLost: the call is made and its answer, whatever it was, is lost; a
	// commit fails with ErrUnknownOutcome.
	AckLost
	// Undetermined: the call is not made, and a commit fails with
	// ErrUnknownOutcome all the same.
	Undetermined
	// Late: a commit fails with ErrUnknownOutcome now and is made after the
	// fault's delay.
	Late
	// Repeat: the call is delivered twice, and the second answer is returned.
	Repeat
	// Race: the fault's hook runs before the call is made.
	Race
	// Delay: the call is made after the fault's delay.
	Delay
)

var kindNames = [...]string{"None", "BeforeSend", "Throttle", "AckLost", "Undetermined", "Late", "Repeat", "Race", "Delay"}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Kinds returns every kind of fault, without None.
func Kinds() []Kind {
	return []Kind{BeforeSend, Throttle, AckLost, Undetermined, Late, Repeat, Race, Delay}
}

// Fault is one thing that goes wrong.
type Fault struct {
	Kind Kind
	// Wait is the time of Delay and Late.
	Wait time.Duration
	// Hook is called for Race, with the unharmed store.
	Hook func(ctx context.Context, inner metastore.Store)
}

// Store is a [metastore.Store] with faults. It is safe for concurrent use if
// its plan is. Optional abilities of the inner store are not passed on, so
// callers are also tested without them.
type Store struct {
	inner metastore.Store
	plan  Plan

	mu     sync.Mutex
	counts map[Method]int
	events []Event
	closed bool
	late   sync.WaitGroup
}

var _ metastore.Store = (*Store)(nil)

// Event is a fault that happened.
type Event struct {
	Call Call
	Kind Kind
}

// New wraps inner. Close closes it as well.
func New(inner metastore.Store, plan Plan) *Store {
	return &Store{inner: inner, plan: plan, counts: map[Method]int{}}
}

// Inner returns the unharmed store.
func (s *Store) Inner() metastore.Store { return s.inner }

// Events returns the faults that happened so far, in the order of their calls.
func (s *Store) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Event(nil), s.events...)
}

// next counts a call and asks the plan about it.
func (s *Store) next(method Method, key string) Fault {
	s.mu.Lock()
	s.counts[method]++
	call := Call{Method: method, Number: s.counts[method], Key: key}
	s.mu.Unlock()

	fault := s.plan.Next(call)
	if fault.Kind != None {
		s.mu.Lock()
		s.events = append(s.events, Event{call, fault.Kind})
		s.mu.Unlock()
	}
	return fault
}

// Get implements [metastore.Store].
func (s *Store) Get(ctx context.Context, key string) (rec metastore.Record, err error) {
	if err := metastore.CheckKey(key); err != nil {
		return metastore.Record{}, err
	}
	err = s.reading(ctx, s.next(Get, key), func() error {
		rec, err = s.inner.Get(ctx, key)
		return err
	})
	if err != nil {
		return metastore.Record{}, err
	}
	return rec, nil
}

// Scan implements [metastore.Store].
func (s *Store) Scan(ctx context.Context, prefix, cursor string, limit int) (page metastore.Page, err error) {
	if err := metastore.CheckScan(prefix, limit); err != nil {
		return metastore.Page{}, err
	}
	err = s.reading(ctx, s.next(Scan, prefix), func() error {
		page, err = s.inner.Scan(ctx, prefix, cursor, limit)
		return err
	})
	if err != nil {
		return metastore.Page{}, err
	}
	return page, nil
}

// reading makes a read under a fault.
func (s *Store) reading(ctx context.Context, fault Fault, read func() error) error {
	if err := rules.Alive(ctx); err != nil {
		return err
	}
	switch fault.Kind {
	case BeforeSend, Undetermined, Late:
		return lost(metastore.ErrRetryable, fault.Kind)
	case Throttle:
		return throttled()
	case AckLost:
		_ = read() // somebody may watch the inner store
		return lost(metastore.ErrRetryable, fault.Kind)
	case Repeat:
		_ = read()
	case Race, Delay:
		if err := s.before(ctx, fault); err != nil {
			return err
		}
	}
	return read()
}

// Commit implements [metastore.Store]. A transaction without a token gets one,
// as from a client library, since a delivery may be repeated.
func (s *Store) Commit(ctx context.Context, txn metastore.Txn) error {
	if err := metastore.CheckTxn(txn); err != nil {
		return err
	}
	fault := s.next(Commit, txn.Ops[0].Key)
	if err := rules.Alive(ctx); err != nil {
		return err
	}
	if txn.Token == "" {
		txn.Token = lake.NewID().String()
	}
	switch fault.Kind {
	case BeforeSend:
		return lost(metastore.ErrRetryable, fault.Kind)
	case Throttle:
		return throttled()
	case Undetermined:
		return lost(metastore.ErrUnknownOutcome, fault.Kind)
	case AckLost:
		_ = s.inner.Commit(ctx, txn)
		return lost(metastore.ErrUnknownOutcome, fault.Kind)
	case Late:
		return s.deliverLate(fault.Wait, txn)
	case Repeat:
		_ = s.inner.Commit(ctx, txn)
	case Race, Delay:
		if err := s.before(ctx, fault); err != nil {
			return err
		}
	}
	return s.inner.Commit(ctx, txn)
}

// before runs what comes before a call: a hook or a wait.
func (s *Store) before(ctx context.Context, fault Fault) error {
	if fault.Kind == Race && fault.Hook != nil {
		fault.Hook(ctx, s.inner)
	}
	if fault.Kind != Delay {
		return nil
	}
	timer := time.NewTimer(fault.Wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return rules.Cancelled(ctx.Err())
	}
}

// deliverLate commits a copy on its own time: the caller may go on and reuse
// its memory, and its context may end.
func (s *Store) deliverLate(wait time.Duration, txn metastore.Txn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return metastore.ErrClosed
	}
	txn = clone(txn)
	s.late.Go(func() {
		time.Sleep(wait)
		_ = s.inner.Commit(context.Background(), txn)
	})
	return lost(metastore.ErrUnknownOutcome, Late)
}

func clone(txn metastore.Txn) metastore.Txn {
	ops := make([]metastore.Op, len(txn.Ops))
	for i, op := range txn.Ops {
		ops[i] = op
		ops[i].Expect = cloneBytes(op.Expect)
		ops[i].Value = cloneBytes(op.Value)
	}
	return metastore.Txn{Ops: ops, Token: txn.Token}
}

func cloneBytes(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// Settle waits for the late commits that are under way.
func (s *Store) Settle() { s.late.Wait() }

// Close implements [metastore.Store]. It waits for late commits and closes the
// inner store.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.late.Wait()
	return s.inner.Close()
}

func lost(outcome error, kind Kind) error { return fmt.Errorf("%w (fault %v)", outcome, kind) }

func throttled() error {
	return lake.Errorf(lake.Exhausted, "throttled: %w (fault %v)", metastore.ErrRetryable, Throttle)
}
