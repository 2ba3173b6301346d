// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// commitAttempts bounds how often a call whose answer was lost is made again,
// with growing waits in between.
const commitAttempts = 4

// Commit implements [metastore.Store].
func (s *Store) Commit(ctx context.Context, txn metastore.Txn) error {
	if err := metastore.CheckTxn(txn); err != nil {
		return err
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if txn.Token == "" {
		txn.Token = lake.NewID().String()
	}
	if err := s.settle(ctx, txn, arguments(txn)); err != nil {
		return err
	}
	s.hub.Changed(txn.Ops)
	if s.peers != nil {
		s.peers.changed(txn.Ops)
	}
	return nil
}

// settle makes the call until its outcome is known.
func (s *Store) settle(ctx context.Context, txn metastore.Txn, args []any) error {
	err := s.call(ctx, txn, args)
	if err == nil || !errors.Is(err, errAmbiguous) {
		return err
	}
	for attempt := 1; attempt < commitAttempts && pause(ctx, attempt); attempt++ {
		again := s.call(ctx, txn, args)
		var conflict *metastore.ConflictError
		switch {
		case again == nil:
			return nil // now, or by the call before
		case errors.As(again, &conflict):
			// The call before may still be under way in the server.
			return fmt.Errorf("%w: %w; tried again: key %q has changed", metastore.ErrUnknownOutcome, err, conflict.Key)
		}
	}
	return fmt.Errorf("%w: %w", metastore.ErrUnknownOutcome, err)
}

// pause waits before an attempt, and reports false when the context ends.
func pause(ctx context.Context, attempt int) bool {
	timer := time.NewTimer(5 * time.Millisecond << (2 * attempt))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// errAmbiguous marks a call that may have applied.
var errAmbiguous = errors.New("the answer was lost")

// call makes the call once.
func (s *Store) call(ctx context.Context, txn metastore.Txn, args []any) error {
	var verdict string
	var key, current []byte
	err := s.pool.QueryRow(ctx, s.sql.commit, args...).Scan(&verdict, &key, &current)
	switch {
	case err != nil && certain(err) && ctx.Err() != nil:
		return rules.Cancelled(errors.Join(ctx.Err(), err))
	case err != nil && certain(err):
		return commitError(err)
	case err != nil:
		return fmt.Errorf("%w: %w", errAmbiguous, err)
	}
	switch verdict {
	case "applied", "repeated":
		return nil
	case "reused":
		return rules.TokenReused(txn.Token)
	case "conflict":
		return &metastore.ConflictError{Key: string(key), Known: true, Current: current}
	}
	return lake.Errorf(lake.Corrupt, "postgres: commit_txn answered %q", verdict)
}

// arguments are the parameters of commit_txn.
func arguments(txn metastore.Txn) []any {
	n := len(txn.Ops)
	keys, expects, values := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	effects := make([]int16, n)
	for i, op := range txn.Ops {
		keys[i], expects[i], values[i], effects[i] = []byte(op.Key), op.Expect, op.Value, int16(op.Effect)
	}
	locks, exclusive := locksOf(txn)
	digest := rules.Digest(txn)
	return []any{exact, locks, exclusive, keys, expects, effects, values, []byte(txn.Token), digest[:]}
}

// locksOf returns the locks of a transaction in ascending order. Where two of
// its names have one hash, the stronger lock is taken.
func locksOf(txn metastore.Txn) (locks []int64, exclusive []bool) {
	strength := map[int64]bool{lockID("token", txn.Token): true}
	for _, op := range txn.Ops {
		id := lockID("key", op.Key)
		strength[id] = strength[id] || op.Effect != metastore.Keep
	}
	for _, id := range slices.Sorted(maps.Keys(strength)) {
		locks = append(locks, id)
		exclusive = append(exclusive, strength[id])
	}
	return locks, exclusive
}

// lockID hashes a name into the database's space of advisory locks. Its first
// part keeps clear of other users of that space, as well as 64 bits can.
func lockID(kind, name string) int64 {
	sum := sha256.Sum256([]byte("lake metastore " + kind + "\x00" + name))
	return int64(binary.BigEndian.Uint64(sum[:]))
}
