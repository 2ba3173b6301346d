// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastore

import (
	"fmt"

	"github.com/lakeplane/lake/lake"
)

// Errors of the contract. Test with errors.Is; backends wrap them with what
// they know.
var (
	// ErrNotFound: no record under the key.
	ErrNotFound error = &lake.Error{Kind: lake.NotFound, Message: "metastore: no such key"}
	// ErrInvalid: an argument breaks the contract.
	ErrInvalid error = &lake.Error{Kind: lake.Invalid, Message: "metastore: invalid request"}
	// ErrTooLarge: an argument is over a size limit.
	ErrTooLarge error = &lake.Error{Kind: lake.Invalid, Message: "metastore: too large"}
	// ErrRetryable: certainly not applied; the same call may be made again.
	ErrRetryable error = &lake.Error{Kind: lake.Unavailable, Message: "metastore: temporarily refused"}
	// ErrUnknownOutcome: a commit may or may not have applied.
	ErrUnknownOutcome error = &lake.Error{Kind: lake.Undetermined, Message: "metastore: outcome unknown"}
	// ErrClosed: the store was closed.
	ErrClosed error = &lake.Error{Kind: lake.Unavailable, Message: "metastore: closed"}
)

// ConflictError says which expectation of a transaction failed. Where several
// failed, any one of them is named.
type ConflictError struct {
	// Key is the key whose expectation failed.
	Key string
	// Known says whether the backend could tell the current value.
	Known bool
	// Current is the value found, or nil when the key was absent.
	Current []byte
}

// Error names the key.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("metastore: conflict on key %q", e.Key)
}

// Unwrap gives the error its kind, [lake.Conflict].
func (e *ConflictError) Unwrap() error { return errConflict }

var errConflict error = &lake.Error{Kind: lake.Conflict, Message: "expectation failed"}
