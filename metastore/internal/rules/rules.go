// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package rules holds what every metastore backend must do in the same way:
// scan cursors, transaction digests, and the verdict on a call whose context
// has ended.
package rules

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/lakeplane/lake/metastore"
)

// MaxPageBytes bounds the keys and values of one scan page. A page that would
// pass it ends early with a cursor, so a scan of large records costs bounded
// memory. One record always fits.
const MaxPageBytes = 16 << 20

// Alive returns nil while ctx has not ended. Afterwards it returns an error
// that matches both [metastore.ErrRetryable] and the context's own error:
// nothing was sent, so the call may be made again.
func Alive(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return Cancelled(err)
	}
	return nil
}

// Cancelled wraps the error of an ended context like [Alive].
func Cancelled(err error) error {
	return fmt.Errorf("%w: %w", metastore.ErrRetryable, err)
}

// Digest identifies the operations of a transaction: equal for the same
// operations in any order, different (but for SHA-256 collisions) for others.
// It is stored with the token and decides whether a reuse is a retry. The
// encoding is length-prefixed and versioned by its first byte, since stored
// digests outlive a process.
func Digest(txn metastore.Txn) [sha256.Size]byte {
	ops := slices.Clone(txn.Ops)
	slices.SortFunc(ops, func(a, b metastore.Op) int { return strings.Compare(a.Key, b.Key) })
	d := &digester{Hash: sha256.New(), pending: make([]byte, 1, 2048)}
	d.pending[0] = 1
	for _, op := range ops {
		field(d, true, op.Key)
		field(d, op.Expect != nil, op.Expect)
		d.pending = append(d.pending, byte(op.Effect))
		field(d, op.Value != nil, op.Value)
	}
	d.flush()
	var sum [sha256.Size]byte
	d.Sum(sum[:0])
	return sum
}

// digester gathers small fields, since each write to a hash has its price.
type digester struct {
	hash.Hash
	pending []byte
}

// field tells absent (0) from empty (1, length 0).
func field[T string | []byte](d *digester, there bool, value T) {
	if !there {
		d.pending = append(d.pending, 0)
		return
	}
	d.pending = binary.AppendUvarint(append(d.pending, 1), uint64(len(value)))
	if len(d.pending)+len(value) > cap(d.pending) {
		d.flush()
	}
	if len(value) > cap(d.pending) {
		d.Write([]byte(value))
		return
	}
	d.pending = append(d.pending, value...)
}

func (d *digester) flush() {
	d.Write(d.pending)
	d.pending = d.pending[:0]
}

// TokenReused is the refusal of a token that was used with other operations.
func TokenReused(token string) error {
	return fmt.Errorf("%w: token %q was used with other operations: want a new token for a new transaction", metastore.ErrInvalid, token)
}

// NotFound is the error of a point read that found nothing.
func NotFound(key string) error {
	return fmt.Errorf("%w: %q", metastore.ErrNotFound, key)
}
