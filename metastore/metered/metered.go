// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package metered times the calls of a metastore and tells how each ended.
// What becomes of that is for the process to say: this package knows no
// monitoring system.
package metered

import (
	"context"
	"errors"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Operation is a kind of call.
type Operation uint8

// The operations. A watch is none: it is a hint and lasts as long as its
// caller likes.
const (
	Get Operation = iota
	GetAll
	Scan
	Commit
	Operations // how many there are
)

// String is the word for it in metrics.
func (o Operation) String() string {
	return [Operations]string{"get", "get_all", "scan", "commit"}[o]
}

// Outcome is how a call ended.
type Outcome uint8

// The outcomes. NotFound, Conflict and Invalid are answers of a store that
// works. Canceled says that the caller gave up; a deadline that passed is
// Failed, since that is how a store which hangs shows.
const (
	OK        Outcome = iota
	NotFound          // no record under the key
	Conflict          // an expectation did not hold
	Retryable         // certainly not applied, may be tried again
	Undecided         // a commit that may or may not have applied
	Invalid           // the arguments break the contract
	Canceled          // the caller ended the call
	Failed            // everything else
	Outcomes          // how many there are
)

// String is the word for it in metrics.
func (o Outcome) String() string {
	return [Outcomes]string{"ok", "not_found", "conflict", "retryable", "unknown", "invalid", "canceled", "error"}[o]
}

// OutcomeOf sorts the error of a call.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OK
	case errors.Is(err, metastore.ErrUnknownOutcome): // first: it may wrap what was lost
		return Undecided
	case errors.Is(err, metastore.ErrNotFound):
		return NotFound
	case lake.Is(err, lake.Conflict):
		return Conflict
	case errors.Is(err, metastore.ErrInvalid), errors.Is(err, metastore.ErrTooLarge):
		return Invalid
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, metastore.ErrRetryable):
		return Retryable
	}
	return Failed
}

// Observe hears of every call when it has ended. It must be safe for
// concurrent use and quick: the caller waits for it.
type Observe func(op Operation, outcome Outcome, took time.Duration)

// New returns a store that passes every call on to inner and tells observe how
// it went. It is a [metastore.Watcher] and a [metastore.Snapshotter] exactly
// when inner is. Closing it closes inner.
func New(inner metastore.Store, observe Observe) metastore.Store {
	s := &store{inner, observe}
	watcher, watches := inner.(metastore.Watcher)
	snapshotter, snapshots := inner.(metastore.Snapshotter)
	all := snapshot{snapshotter, observe}
	switch {
	case watches && snapshots:
		return struct {
			*store
			metastore.Watcher
			snapshot
		}{s, watcher, all}
	case watches:
		return struct {
			*store
			metastore.Watcher
		}{s, watcher}
	case snapshots:
		return struct {
			*store
			snapshot
		}{s, all}
	}
	return s
}

type store struct {
	metastore.Store
	observe Observe
}

// Get implements [metastore.Store].
func (s *store) Get(ctx context.Context, key string) (metastore.Record, error) {
	began := time.Now()
	r, err := s.Store.Get(ctx, key)
	s.observe(Get, OutcomeOf(err), time.Since(began))
	return r, err
}

// Scan implements [metastore.Store].
func (s *store) Scan(ctx context.Context, prefix, cursor string, limit int) (metastore.Page, error) {
	began := time.Now()
	page, err := s.Store.Scan(ctx, prefix, cursor, limit)
	s.observe(Scan, OutcomeOf(err), time.Since(began))
	return page, err
}

// Commit implements [metastore.Store].
func (s *store) Commit(ctx context.Context, txn metastore.Txn) error {
	began := time.Now()
	err := s.Store.Commit(ctx, txn)
	s.observe(Commit, OutcomeOf(err), time.Since(began))
	return err
}

type snapshot struct {
	inner    metastore.Snapshotter
	observed Observe
}

// GetAll implements [metastore.Snapshotter].
func (s snapshot) GetAll(ctx context.Context, keys []string) (map[string]metastore.Record, error) {
	began := time.Now()
	found, err := s.inner.GetAll(ctx, keys)
	s.observed(GetAll, OutcomeOf(err), time.Since(began))
	return found, err
}
