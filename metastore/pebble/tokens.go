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
	state   atomic.Pointer[generation]
	window  time.Duration
	started time.Time // when the generation began; only tend touches it
}

// generation is the present one, with filters of its tokens and of those of the
// one before.
type generation struct {
	number      uint64
	now, before *filter
}

// load continues where the process before stopped.
func (t *tokens) load(db *driver.DB, window time.Duration) error {
	t.window = window
	state, err := readFrom(db, tokensKey)
	if err != nil {
		return err
	}
	if state == nil {
		t.state.Store(&generation{now: newFilter(tokenFilterBits)})
		return t.turn(db, 1)
	}
	if len(state) != 16 {
		return lake.Errorf(lake.Corrupt, "metastore: token state of %d bytes, want 16", len(state))
	}
	if err := t.restore(db, binary.BigEndian.Uint64(state)); err != nil {
		return err
	}
	t.started = time.UnixMilli(int64(binary.BigEndian.Uint64(state[8:])))
	if now := time.Now(); t.started.After(now) {
		t.started = now // the clock moved back: keep tokens longer, never shorter
	}
	return nil
}

// restore fills the filters of a generation from the database.
func (t *tokens) restore(db *driver.DB, number uint64) (err error) {
	g := &generation{number: number, now: newFilter(tokenFilterBits), before: newFilter(tokenFilterBits)}
	iter, err := db.NewIter(&driver.IterOptions{LowerBound: tokenKey(nil, number-1, ""), UpperBound: tokenKey(nil, number+1, "")})
	if err != nil {
		return driverError("read tokens", err)
	}
	defer func() { err = errors.Join(err, driverError("read tokens", iter.Close())) }()
	for valid := iter.First(); valid; valid = iter.Next() {
		of, token := splitTokenKey(iter.Key())
		if of == number {
			g.now.add(token)
		} else {
			g.before.add(token)
		}
	}
	t.state.Store(g)
	return driverError("read tokens", iter.Error())
}

// lookup returns the digest filed under a token, or nil.
func (t *tokens) lookup(db *driver.DB, token string) (found []byte, err error) {
	g := t.state.Load()
	var buf [128]byte
	if g.now.has(token) {
		found, err = readFrom(db, tokenKey(buf[:0], g.number, token))
	}
	if found == nil && err == nil && g.before.has(token) {
		found, err = readFrom(db, tokenKey(buf[:0], g.number-1, token))
	}
	return found, err
}

// file appends the database's key for a token used now, and remembers the token
// in the filter. The caller holds the token's stripe. A commit that overlaps a
// turn files its token under the generation before, which is still consulted
// for a whole window.
func (t *tokens) file(buf []byte, token string) []byte {
	g := t.state.Load()
	g.now.add(token)
	return tokenKey(buf, g.number, token)
}

// turn begins a generation and forgets all but the one before.
func (t *tokens) turn(db *driver.DB, number uint64) (err error) {
	now := time.Now()
	state := binary.BigEndian.AppendUint64(nil, number)
	state = binary.BigEndian.AppendUint64(state, uint64(now.UnixMilli()))
	batch := db.NewBatch()
	defer func() { err = errors.Join(err, driverError("close batch", batch.Close())) }()
	if err := batch.Set(tokensKey, state, nil); err != nil {
		return driverError("turn tokens", err)
	}
	if number > 1 {
		if err := batch.DeleteRange(tokenKey(nil, 0, ""), tokenKey(nil, number-1, ""), nil); err != nil {
			return driverError("turn tokens", err)
		}
	}
	if err := batch.Commit(driver.Sync); err != nil {
		return driverError("turn tokens", err)
	}
	t.state.Store(&generation{number: number, now: newFilter(tokenFilterBits), before: t.state.Load().now})
	t.started = now
	return nil
}

// fillKeys fills the set of keys from a snapshot, which it releases.
func (s *Store) fillKeys(ctx context.Context, snapshot *driver.Snapshot) {
	err := errors.Join(s.keys.fill(ctx, snapshot), snapshot.Close())
	if err != nil {
		s.opts.Logger.Warn("metastore: commits look for every key they create", "error", err)
	}
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
			if err := s.tokens.turn(s.db, s.tokens.state.Load().number+1); err != nil {
				s.opts.Logger.Error("metastore: cannot sweep tokens", "error", err)
			}
		}
	}
}
