// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package hookstore lets a test take over the commits and the reads of a
// metastore, one by one. Faults by chance and by plan are those of faultstore.
package hookstore

import (
	"context"
	"sync"

	"github.com/lakeplane/lake/metastore"
)

// Store is a metastore whose calls a test may disturb. It is safe for concurrent
// use.
type Store struct {
	metastore.Store
	mu     sync.Mutex
	commit func(txn metastore.Txn, next func() error) error
	get    func(key string) error
}

// New returns a store that passes everything on to inner.
func New(inner metastore.Store) *Store { return &Store{Store: inner} }

// OnCommit lets f answer commits; next is the real one. nil ends that.
func (s *Store) OnCommit(f func(txn metastore.Txn, next func() error) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commit = f
}

// OnGet lets f refuse reads of single records. nil ends that.
func (s *Store) OnGet(f func(key string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.get = f
}

// Commit implements [metastore.Store].
func (s *Store) Commit(ctx context.Context, txn metastore.Txn) error {
	s.mu.Lock()
	f := s.commit
	s.mu.Unlock()
	next := func() error { return s.Store.Commit(ctx, txn) }
	if f == nil {
		return next()
	}
	return f(txn, next)
}

// Get implements [metastore.Store].
func (s *Store) Get(ctx context.Context, key string) (metastore.Record, error) {
	s.mu.Lock()
	f := s.get
	s.mu.Unlock()
	if f != nil {
		if err := f(key); err != nil {
			return metastore.Record{}, err
		}
	}
	return s.Store.Get(ctx, key)
}
