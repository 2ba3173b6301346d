// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// peers tells other processes that something changed, and wakes watchers when
// they tell. A message names the first segments of the changed keys, so it
// wakes some watchers for nothing, which a hint may.
//
// It is sent after the commit and on its own: inside the transaction it would
// make all committers wait for one lock of the server. Changes of a short time
// share a message.
type peers struct {
	store   *Store
	channel string
	self    string

	mu     sync.Mutex
	fresh  map[string]struct{} // first segments that changed
	signal chan struct{}       // something is fresh
}

const (
	// tellInterval is the least time between two messages of a process.
	tellInterval = 20 * time.Millisecond
	// maxMessage keeps below the server's 8,000 bytes. A longer message is
	// replaced by one that stands for all keys.
	maxMessage = 7000
	// relistenMax bounds the wait before a broken connection is made again.
	relistenMax = 5 * time.Second
)

func newPeers(s *Store) *peers {
	sum := sha256.Sum256([]byte(s.opts.Schema))
	return &peers{
		store: s, channel: "lake_" + hex.EncodeToString(sum[:8]), self: lake.NewID().String(),
		fresh: map[string]struct{}{}, signal: make(chan struct{}, 1),
	}
}

// changed notes a commit to tell of.
func (p *peers) changed(ops []metastore.Op) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, op := range ops {
		if op.Effect != metastore.Keep {
			p.fresh[firstSegment(op.Key)] = struct{}{}
		}
	}
	if len(p.fresh) == 0 {
		return
	}
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

func firstSegment(key string) string {
	first, _, _ := strings.Cut(key, "/")
	return first
}

// tell sends messages until ctx ends. One that fails is lost, as hints are.
func (p *peers) tell(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.signal:
		}
		_, err := p.store.pool.Exec(ctx, `SELECT pg_notify($1, $2)`, p.channel, p.message())
		if err != nil && ctx.Err() == nil {
			p.store.opts.Logger.Warn("metastore: cannot notify other processes", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(tellInterval):
		}
	}
}

// message takes what is fresh: the sender's name, and the first segments, or
// no segments for "all". A segment may hold a line break, and so is quoted as
// hexadecimal.
func (p *peers) message() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	parts := []string{p.self}
	for _, segment := range slices.Sorted(maps.Keys(p.fresh)) {
		parts = append(parts, hex.EncodeToString([]byte(segment)))
	}
	clear(p.fresh)
	if text := strings.Join(parts, "\n"); len(text) <= maxMessage {
		return text
	}
	return p.self
}

// listen wakes watchers until ctx ends, and makes a broken connection again.
func (p *peers) listen(ctx context.Context) {
	wait := 50 * time.Millisecond
	for {
		begun := time.Now()
		err := p.listenOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		p.store.opts.Logger.Warn("metastore: listening for other processes was interrupted", "error", err)
		if wait = min(2*wait, relistenMax); time.Since(begun) > relistenMax {
			wait = 50 * time.Millisecond
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (p *peers) listenOnce(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.store.opts.ListenDSN)
	if err != nil {
		return err
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = conn.Close(bye) // it may be broken
	}()
	if _, err := conn.Exec(ctx, `LISTEN `+pgx.Identifier{p.channel}.Sanitize()); err != nil {
		return err
	}
	// What happened while nobody listened is unknown.
	p.store.hub.Wake(func(string) bool { return true })
	for {
		message, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if err := p.receive(message.Payload); err != nil {
			return err
		}
	}
}

// receive wakes the watchers of the segments in a message of another process.
func (p *peers) receive(message string) error {
	parts := strings.Split(message, "\n")
	if parts[0] == p.self {
		return nil // its watchers know
	}
	segments := map[string]bool{}
	for _, part := range parts[1:] {
		segment, err := hex.DecodeString(part)
		if err != nil {
			return errors.New("a message that no metastore wrote")
		}
		segments[string(segment)] = true
	}
	p.store.hub.Wake(func(prefix string) bool { return len(segments) == 0 || concerns(segments, prefix) })
	return nil
}

// concerns reports whether keys with one of the first segments can start with
// prefix.
func concerns(segments map[string]bool, prefix string) bool {
	first, _, whole := strings.Cut(prefix, "/")
	if whole {
		return segments[first]
	}
	for segment := range segments {
		if strings.HasPrefix(segment, first) {
			return true
		}
	}
	return false
}
