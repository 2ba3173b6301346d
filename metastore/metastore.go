// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package metastore is the contract of the store that holds everything
// durable in Lake that is not a data object: the table registry, leases,
// append operations, tombstones and procedure records.
//
// A backend implements [Store] and passes metastoretest.Run. Nothing else in
// Lake may know which backend it talks to.
package metastore

import "context"

// Store is a small transactional map from keys to bytes. It is safe for
// concurrent use. Keys and values passed in are not retained; values handed
// out belong to the caller.
//
// Every method fails with [ErrInvalid] or [ErrTooLarge] before any I/O when
// its arguments break a limit of this package, with the same verdict on every
// backend.
type Store interface {
	// Get returns the record under key, strongly consistent: it sees every
	// commit that was acknowledged before the call. A missing key is
	// [ErrNotFound].
	Get(ctx context.Context, key string) (Record, error)

	// Scan returns one page of the records whose key starts with prefix.
	//
	// cursor is empty for the first page and [Page.Next] of the page before
	// for the others; only an empty Next ends the scan, a page may be empty
	// and still carry one. Every key that exists for the whole scan is
	// returned exactly once. A cursor stays good when the row it points at is
	// deleted; one made for another prefix is refused with [ErrInvalid].
	// limit bounds the records *evaluated* for the page, 1..[MaxPage].
	//
	// The order is by key inside a page and unspecified across pages.
	Scan(ctx context.Context, prefix, cursor string, limit int) (Page, error)

	// Commit applies a transaction: all of it or nothing.
	//
	// It returns nil when the transaction is durable, a [*ConflictError] when
	// an expectation did not hold (nothing changed), an error matching
	// [ErrRetryable] when it certainly did not apply and may be tried again,
	// and one matching [ErrUnknownOutcome] when it may or may not have
	// applied. A retry with the same [Txn.Token] within [TokenWindow] never
	// applies twice and reports success if an earlier attempt applied.
	Commit(ctx context.Context, txn Txn) error

	// Close releases the backend. Calls after Close fail.
	Close() error
}

// Record is a key and its value.
type Record struct {
	Key   string
	Value []byte
}

// Page is a part of a scan.
type Page struct {
	Records []Record
	// Next is the cursor of the next page, or empty at the end of the scan.
	Next string
}

// Watcher is an optional ability: a hint that something under a prefix may
// have changed. Callers poll as well, since hints get lost.
type Watcher interface {
	// Watch returns a channel that receives after changes under prefix and is
	// closed when ctx ends. Signals coalesce: one may stand for many changes.
	Watch(ctx context.Context, prefix string) (<-chan struct{}, error)
}

// Snapshotter is an optional ability: one consistent read of several keys.
type Snapshotter interface {
	// GetAll returns the records of the given keys as of one moment. Missing
	// keys have no entry in the result.
	GetAll(ctx context.Context, keys []string) (map[string]Record, error)
}
