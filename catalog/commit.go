// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// How long an ambiguous or refused commit is pursued. The sum of the pauses
// stays under the time a client waits for an answer, and far under
// metastore.TokenWindow, inside which repeating the transaction is safe.
const (
	commitAttempts   = 6
	firstCommitPause = 20 * time.Millisecond
	settleTimeout    = 5 * time.Second
)

// settler commits transactions and settles ambiguous answers.
type settler struct{ store metastore.Store }

// commit applies ops as one transaction. While the answer is ambiguous it
// sends the same transaction under the same token until the answer is
// definite. proof is the operation of ops whose value carries our nonce; a
// strong read that finds exactly that value proves that the transaction
// applied. A proof that puts nothing proves nothing and is not read.
//
// The result is nil, a *metastore.ConflictError, lake.Undetermined when it
// cannot be told whether the transaction applied, or the store's own error
// when it certainly did not.
func (s settler) commit(ctx context.Context, proof metastore.Op, ops []metastore.Op) error {
	txn := metastore.Txn{Ops: ops, Token: lake.NewID().String()}
	ambiguous := false
	var err error
	for attempt := range commitAttempts {
		if attempt > 0 && !pause(ctx, firstCommitPause<<(attempt-1)) {
			break
		}
		err = s.store.Commit(ctx, txn)
		switch classify(err) {
		case applied:
			return nil
		case refused:
			if ambiguous && s.wrote(ctx, proof) {
				return nil
			}
			return err
		case unknown:
			ambiguous = true
			if s.wrote(ctx, proof) {
				return nil
			}
		case retryable:
		}
	}
	if ambiguous {
		return lake.Errorf(lake.Undetermined, "commit of %s: the metastore did not say whether it applied: %w", proof.Key, err)
	}
	return err
}

type outcome uint8

const (
	applied   outcome = iota
	refused           // certainly not applied, and would not be next time
	retryable         // certainly not applied
	unknown
)

// classify sorts a commit's error. An error outside the contract, such as a
// bare context error, says nothing about the effect and counts as unknown.
func classify(err error) outcome {
	var conflict *metastore.ConflictError
	switch {
	case err == nil:
		return applied
	case errors.As(err, &conflict), errors.Is(err, metastore.ErrInvalid),
		errors.Is(err, metastore.ErrTooLarge), errors.Is(err, metastore.ErrClosed):
		return refused
	case errors.Is(err, metastore.ErrRetryable):
		return retryable
	}
	return unknown
}

// wrote reports whether proof's key holds exactly the value we meant to put
// there. It reads even when ctx has ended, for a short while: the answer
// decides what the caller is told.
func (s settler) wrote(ctx context.Context, proof metastore.Op) bool {
	if proof.Effect != metastore.Put {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	found, err := s.store.Get(ctx, proof.Key)
	return err == nil && bytes.Equal(found.Value, proof.Value)
}

// holds reports whether an operation's expectation is met now. A failed read
// counts as met: the caller then reports the less final error.
func (s settler) holds(ctx context.Context, op metastore.Op) bool {
	raw, err := s.read(ctx, op.Key)
	return err != nil || op.Holds(raw)
}

// read returns the value under key, nil when it is absent.
func (s settler) read(ctx context.Context, key string) ([]byte, error) {
	found, err := s.store.Get(ctx, key)
	switch {
	case errors.Is(err, metastore.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case found.Value == nil:
		return []byte{}, nil
	}
	return found.Value, nil
}

// isConflict reports whether a transaction failed on an expectation.
func isConflict(err error) bool {
	var conflict *metastore.ConflictError
	return errors.As(err, &conflict)
}

// pause waits for about d, and reports false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
