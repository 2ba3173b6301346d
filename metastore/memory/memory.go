// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package memory is a metastore backend in plain process memory, for tests.
// It is the reference model of the contract: one lock, no cleverness. Nothing
// survives Close.
package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/notify"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// Store is an in-memory [metastore.Store]. It also is a [metastore.Watcher]
// and a [metastore.Snapshotter]. It is safe for concurrent use.
type Store struct {
	now func() time.Time
	hub notify.Hub

	mu     sync.RWMutex
	closed bool
	values map[string][]byte
	keys   []string // the keys of values, sorted
	tokens map[string]use
	recent []expiry // the tokens in the order of their expiry
}

// use is the one transaction a token stands for.
type use [sha256.Size]byte

type expiry struct {
	token string
	at    time.Time
}

var (
	_ metastore.Store       = (*Store)(nil)
	_ metastore.Watcher     = (*Store)(nil)
	_ metastore.Snapshotter = (*Store)(nil)
)

// New returns an empty store that reads the time from [time.Now].
func New() *Store { return NewWithClock(time.Now) }

// NewWithClock returns an empty store that reads the time from now, which
// decides when tokens are forgotten.
func NewWithClock(now func() time.Time) *Store {
	return &Store{now: now, values: map[string][]byte{}, tokens: map[string]use{}}
}

// Get implements [metastore.Store].
func (s *Store) Get(ctx context.Context, key string) (metastore.Record, error) {
	if err := metastore.CheckKey(key); err != nil {
		return metastore.Record{}, err
	}
	found, err := s.GetAll(ctx, []string{key})
	if err != nil {
		return metastore.Record{}, err
	}
	rec, ok := found[key]
	if !ok {
		return metastore.Record{}, rules.NotFound(key)
	}
	return rec, nil
}

// GetAll implements [metastore.Snapshotter].
func (s *Store) GetAll(ctx context.Context, keys []string) (map[string]metastore.Record, error) {
	for _, key := range keys {
		if err := metastore.CheckKey(key); err != nil {
			return nil, err
		}
	}
	if err := rules.Alive(ctx); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, metastore.ErrClosed
	}
	found := make(map[string]metastore.Record, len(keys))
	for _, key := range keys {
		if value, ok := s.values[key]; ok {
			found[key] = record(key, value)
		}
	}
	return found, nil
}

// record hands out a copy, never nil.
func record(key string, value []byte) metastore.Record {
	return metastore.Record{Key: key, Value: append([]byte{}, value...)}
}

// Scan implements [metastore.Store]. The whole scan is in key order.
func (s *Store) Scan(ctx context.Context, prefix, cursor string, limit int) (metastore.Page, error) {
	after, err := rules.BeginScan(prefix, cursor, limit)
	if err != nil {
		return metastore.Page{}, err
	}
	if err := rules.Alive(ctx); err != nil {
		return metastore.Page{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return metastore.Page{}, metastore.ErrClosed
	}
	return s.page(prefix, after, limit), nil
}

func (s *Store) page(prefix, after string, limit int) metastore.Page {
	at, found := slices.BinarySearch(s.keys, max(prefix, after))
	if found && after != "" {
		at++ // the cursor's key was returned already
	}
	var page metastore.Page
	size := 0
	for _, key := range s.keys[at:] {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		size += len(key) + len(s.values[key])
		if n := len(page.Records); n == limit || n > 0 && size > rules.MaxPageBytes {
			page.Next = rules.EncodeCursor(prefix, page.Records[n-1].Key)
			break
		}
		page.Records = append(page.Records, record(key, s.values[key]))
	}
	return page
}

// Commit implements [metastore.Store].
func (s *Store) Commit(ctx context.Context, txn metastore.Txn) error {
	if err := metastore.CheckTxn(txn); err != nil {
		return err
	}
	if err := rules.Alive(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return metastore.ErrClosed
	}
	if done, err := s.retried(txn); done || err != nil {
		return err
	}
	if err := s.check(txn); err != nil {
		return err
	}
	s.apply(txn)
	s.hub.Changed(txn.Ops)
	return nil
}

// retried reports whether txn was applied before under the same token.
func (s *Store) retried(txn metastore.Txn) (bool, error) {
	s.forget()
	before, known := s.tokens[txn.Token]
	switch {
	case txn.Token == "" || !known:
		return false, nil
	case before != rules.Digest(txn):
		return false, rules.TokenReused(txn.Token)
	}
	return true, nil
}

// forget drops the tokens whose window has passed.
func (s *Store) forget() {
	now := s.now()
	for len(s.recent) > 0 && !s.recent[0].at.After(now) {
		delete(s.tokens, s.recent[0].token)
		s.recent = s.recent[1:]
	}
}

func (s *Store) check(txn metastore.Txn) error {
	for _, op := range txn.Ops {
		current, ok := s.values[op.Key]
		if !ok {
			current = nil
		}
		if !op.Holds(current) {
			return &metastore.ConflictError{Key: op.Key, Known: true, Current: bytes.Clone(current)}
		}
	}
	return nil
}

func (s *Store) apply(txn metastore.Txn) {
	for _, op := range txn.Ops {
		at, found := slices.BinarySearch(s.keys, op.Key)
		switch {
		case op.Effect == metastore.Put && !found:
			s.keys = slices.Insert(s.keys, at, op.Key)
			fallthrough
		case op.Effect == metastore.Put:
			s.values[op.Key] = append([]byte{}, op.Value...)
		case op.Effect == metastore.Delete:
			s.keys = slices.Delete(s.keys, at, at+1)
			delete(s.values, op.Key)
		}
	}
	if txn.Token != "" {
		s.tokens[txn.Token] = rules.Digest(txn)
		s.recent = append(s.recent, expiry{txn.Token, s.now().Add(metastore.TokenWindow)})
	}
}

// Watch implements [metastore.Watcher].
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	return s.hub.Watch(ctx, prefix)
}

// Close implements [metastore.Store]. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.hub.Close()
	return nil
}
