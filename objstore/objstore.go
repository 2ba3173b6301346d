// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package objstore is the contract of the store of immutable objects: data
// files, manifests, managed files. A backend implements [Store] and passes
// objstoretest.Run.
package objstore

import (
	"context"
	"io"
	"time"
)

// Store keeps immutable objects under '/'-separated keys. It is safe for
// concurrent use.
//
// An object appears whole or not at all, and is durable when the call that
// made it returns. Keys follow [CheckKey]. Errors carry a lake.Kind:
// NotFound, AlreadyExists, Invalid, Unavailable (retry is safe).
type Store interface {
	// Put stores data under key if nothing is there: exactly one of several
	// racing puts wins and the others fail with [ErrExists]. An attempt whose
	// answer was lost may find its own object; callers that must know compare
	// bytes ([PutIdentical]).
	Put(ctx context.Context, key string, data []byte) error

	// Create streams an object of unknown size, with the put-if-absent rule of
	// Put decided at Commit.
	Create(ctx context.Context, key string) (Writer, error)

	// Open returns a handle for reads of one object. A missing one is
	// [ErrNotFound].
	Open(ctx context.Context, key string) (Object, error)

	// List returns one page of the objects whose key starts with prefix, in
	// byte order of their keys, after the key given (exclusive, empty for the
	// first page). prefix ends in '/' or is empty: a folder boundary, never a
	// part of a name. A page shorter than limit, more=false, ends the listing.
	// limit is 1..[MaxPage].
	List(ctx context.Context, prefix, after string, limit int) (infos []Info, more bool, err error)

	// Delete removes an object. Deleting a missing one succeeds, so that a
	// repeated attempt does.
	Delete(ctx context.Context, key string) error
}

// Writer streams one object. It is not safe for concurrent use. Exactly one
// of Commit and Abort ends it; Abort after Commit does nothing, so a deferred
// Abort is the usual way to clean up.
type Writer interface {
	io.Writer
	// Commit makes the object visible and durable, or fails with [ErrExists].
	Commit() error
	// Abort drops what was written.
	Abort() error
}

// Object is an open immutable object. Reads are safe for concurrent use.
type Object interface {
	// ReadAt follows io.ReaderAt, with a context bound at Open.
	io.ReaderAt
	// Size is the object's length in bytes.
	Size() int64
	Close() error
}

// Mapped is an optional ability of an [Object]: its bytes in memory, good
// until Close, not to be written to.
type Mapped interface {
	Bytes() []byte
}

// Info describes an object in a listing.
type Info struct {
	Key      string
	Size     int64
	Modified time.Time
}
