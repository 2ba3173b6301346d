// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"

	driver "github.com/cockroachdb/pebble/v2"

	"github.com/lakeplane/lake/lake"
)

// tokens remembers transactions by their token. A token is filed under the
// generation of its commit, in the same batch. A generation lasts one window;
// lookups consult the present one and the one before, so that a token is
// remembered for one to two windows. Turning to a new generation drops the
// oldest with one range deletion: the work does not grow with the number of
// tokens, and none of it is on the path of a commit.
type tokens struct {
	generation atomic.Uint64
	window     time.Duration
	started    time.Time // when the generation began; only tend touches it
}

// load continues where the process before stopped.
func (t *tokens) load(db *driver.DB, window time.Duration) error {
	t.window = window
	state, err := readFrom(db, tokensKey)
	if err != nil {
		return err
	}
	if state == nil {
		return t.turn(db, 1)
	}
	if len(state) != 16 {
		return lake.Errorf(lake.Corrupt, "metastore: token state of %d bytes, want 16", len(state))
	}
	t.generation.Store(binary.BigEndian.Uint64(state))
	t.started = time.UnixMilli(int64(binary.BigEndian.Uint64(state[8:])))
	if now := time.Now(); t.started.After(now) {
		t.started = now // the clock moved back: keep tokens longer, never shorter
	}
	return nil
}

// lookup returns the digest filed under a token, or nil.
func (t *tokens) lookup(db *driver.DB, token string) ([]byte, error) {
	generation := t.generation.Load()
	var buf [128]byte
	found, err := readFrom(db, tokenKey(buf[:0], generation, token))
	if found != nil || err != nil {
		return found, err
	}
	return readFrom(db, tokenKey(buf[:0], generation-1, token))
}

// current appends the database's key for a token used now. A commit that
// overlaps a turn files its token under the generation before, which is still
// consulted for a whole window.
func (t *tokens) current(buf []byte, token string) []byte {
	return tokenKey(buf, t.generation.Load(), token)
}

// turn begins a generation and forgets all but the one before.
func (t *tokens) turn(db *driver.DB, generation uint64) (err error) {
	now := time.Now()
	state := binary.BigEndian.AppendUint64(nil, generation)
	state = binary.BigEndian.AppendUint64(state, uint64(now.UnixMilli()))
	batch := db.NewBatch()
	defer func() { err = errors.Join(err, driverError("close batch", batch.Close())) }()
	if err := batch.Set(tokensKey, state, nil); err != nil {
		return driverError("turn tokens", err)
	}
	if generation > 1 {
		if err := batch.DeleteRange(tokenKey(nil, 0, ""), tokenKey(nil, generation-1, ""), nil); err != nil {
			return driverError("turn tokens", err)
		}
	}
	if err := batch.Commit(driver.Sync); err != nil {
		return driverError("turn tokens", err)
	}
	t.generation.Store(generation)
	t.started = now
	return nil
}

// tend does the store's background work until ctx ends.
func (s *Store) tend(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.measure()
		if s.failure.Load() == nil && time.Since(s.tokens.started) >= s.tokens.window {
			if err := s.tokens.turn(s.db, s.tokens.generation.Load()+1); err != nil {
				s.opts.Logger.Error("metastore: cannot sweep tokens", "error", err)
			}
		}
	}
}
