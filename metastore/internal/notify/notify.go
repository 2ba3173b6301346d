// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package notify wakes the watchers of a backend that sees all of its own
// writes. It implements the hint of [metastore.Watcher].
package notify

import (
	"context"
	"strings"
	"sync"

	"github.com/lakeplane/lake/metastore"
)

// Hub fans changes out to watchers. The zero value is ready; it is safe for
// concurrent use.
type Hub struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{}
	closed   bool
}

type watcher struct {
	prefix string
	signal chan struct{}
}

// Watch returns a channel that receives after changes under prefix and is
// closed when ctx ends or the hub closes.
func (h *Hub) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if err := metastore.CheckScan(prefix, 1); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, metastore.ErrClosed
	}
	if h.watchers == nil {
		h.watchers = make(map[*watcher]struct{})
	}
	w := &watcher{prefix: prefix, signal: make(chan struct{}, 1)}
	h.watchers[w] = struct{}{}
	context.AfterFunc(ctx, func() { h.drop(w) })
	return w.signal, nil
}

// drop closes the channel under the lock, so no send can follow.
func (h *Hub) drop(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, there := h.watchers[w]; there {
		delete(h.watchers, w)
		close(w.signal)
	}
}

// Changed wakes the watchers of the keys that ops changed.
func (h *Hub) Changed(ops []metastore.Op) {
	h.Wake(func(prefix string) bool { return touches(ops, prefix) })
}

// Wake wakes the watchers of the prefixes that match. It never blocks on a
// watcher: an undelivered signal already stands for this change.
func (h *Hub) Wake(match func(prefix string) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if !match(w.prefix) {
			continue
		}
		select {
		case w.signal <- struct{}{}:
		default:
		}
	}
}

func touches(ops []metastore.Op, prefix string) bool {
	for _, op := range ops {
		if op.Effect != metastore.Keep && strings.HasPrefix(op.Key, prefix) {
			return true
		}
	}
	return false
}

// Close ends every watch and refuses new ones.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for w := range h.watchers {
		close(w.signal)
	}
	h.watchers = nil
}
