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
	// filled says that the filters have the tokens of the process before;
	// until then every token may be there.
	filled atomic.Bool
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
		t.state.Store(&generation{0, newFilter(tokenFilterBits), newFilter(tokenFilterBits)})
		return t.turn(db, 1)
	}
	if len(state) != 16 {
		return lake.Errorf(lake.Corrupt, "metastore: token state of %d bytes, want 16", len(state))
	}
	t.state.Store(&generation{binary.BigEndian.Uint64(state), newFilter(tokenFilterBits), newFilter(tokenFilterBits)})
	t.started = time.UnixMilli(int64(binary.BigEndian.Uint64(state[8:])))
	if now := time.Now(); t.started.After(now) {
		t.started = now // the clock moved back: keep tokens longer, never shorter
	}
	return nil
}

// fill adds the tokens of a snapshot to the filters of g, which was the state
// when the snapshot was taken. It stops without effect when ctx ends.
func (t *tokens) fill(ctx context.Context, snapshot *driver.Snapshot, g *generation) error {
	iter, err := snapshot.NewIterWithContext(ctx, &driver.IterOptions{
		LowerBound: tokenKey(nil, g.number-1, ""), UpperBound: tokenKey(nil, g.number+1, ""),
	})
	if err != nil {
		return driverError("read tokens", err)
	}
	for n, valid := 1, iter.First(); valid && (n%1024 != 0 || ctx.Err() == nil); n, valid = n+1, iter.Next() {
		if of, token := splitTokenKey(iter.Key()); of == g.number {
			g.now.add(token)
		} else {
			g.before.add(token)
		}
	}
	err = iter.Error()
	if closeErr := iter.Close(); err == nil {
		err = closeErr
	}
	t.filled.Store(err == nil && ctx.Err() == nil)
	return driverError("read tokens", err)
}

// lookup returns the digest filed under a token, or nil.
func (t *tokens) lookup(db *driver.DB, token string) (found []byte, err error) {
	g, all := t.state.Load(), !t.filled.Load()
	var buf [128]byte
	if all || g.now.has(token) {
		found, err = readFrom(db, tokenKey(buf[:0], g.number, token))
	}
	if found == nil && err == nil && (all || g.before.has(token)) {
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

// fillFilters fills the filters from a snapshot, which it releases. g is the
// generation of tokens then.
func (s *Store) fillFilters(ctx context.Context, snapshot *driver.Snapshot, g *generation) {
	err := errors.Join(s.tokens.fill(ctx, snapshot, g), s.keys.fill(ctx, snapshot), snapshot.Close())
	if err != nil {
		s.opts.Logger.Warn("metastore: commits look for every key and token", "error", err)
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
