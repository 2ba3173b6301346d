// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"container/list"
	"sync"
)

// recent is a map that forgets the entries not used for longest, once it holds
// more bytes than it may. It is safe for concurrent use.
type recent[K comparable, V any] struct {
	most int // bytes

	mu    sync.Mutex
	byKey map[K]*list.Element
	order list.List // of recentEntry, the longest unused first
	bytes int
}

type recentEntry[K comparable, V any] struct {
	key   K
	value V
	bytes int
}

// recentOverhead is counted for each entry beside what the caller says.
const recentOverhead = 256

func newRecent[K comparable, V any](most int) *recent[K, V] {
	return &recent[K, V]{most: most, byKey: map[K]*list.Element{}}
}

// get returns a value and marks it as used.
func (r *recent[K, V]) get(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.byKey[key]
	if !ok {
		var none V
		return none, false
	}
	r.order.MoveToBack(e)
	return e.Value.(recentEntry[K, V]).value, true
}

// put stores a value that takes about so many bytes, key included.
func (r *recent[K, V]) put(key K, value V, bytes int) {
	bytes += recentOverhead
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(key)
	if bytes > r.most {
		return
	}
	r.byKey[key] = r.order.PushBack(recentEntry[K, V]{key, value, bytes})
	r.bytes += bytes
	for r.bytes > r.most {
		r.remove(r.order.Front().Value.(recentEntry[K, V]).key)
	}
}

func (r *recent[K, V]) forget(key K) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(key)
}

// remove drops an entry, if it is there. r.mu is held.
func (r *recent[K, V]) remove(key K) {
	if e, ok := r.byKey[key]; ok {
		delete(r.byKey, key)
		r.bytes -= r.order.Remove(e).(recentEntry[K, V]).bytes
	}
}
