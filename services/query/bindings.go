// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"container/list"
	"sync"

	"github.com/lakeplane/lake/services/query/ticket"
)

const (
	maxBindings     = 4096
	maxBindingBytes = 32 << 20
)

// bindings remembers the parameters of clients that ignore the new handle a
// bind returns (Flight SQL before Arrow 16) and execute the old one. It is a
// courtesy of this replica alone, bounded in entries and bytes, the least
// recently bound leaving first; newer clients carry their parameters in the
// handle. It is safe for concurrent use.
type bindings struct {
	mu    sync.Mutex
	byID  map[ticket.QueryID]*list.Element
	order list.List // of binding, the oldest first
	bytes int
}

type binding struct {
	id     ticket.QueryID
	params []byte
}

func newBindings() *bindings { return &bindings{byID: map[ticket.QueryID]*list.Element{}} }

func (b *bindings) set(id ticket.QueryID, params []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(id)
	b.byID[id] = b.order.PushBack(binding{id, params})
	b.bytes += len(params)
	for len(b.byID) > maxBindings || b.bytes > maxBindingBytes {
		b.remove(b.order.Front().Value.(binding).id)
	}
}

func (b *bindings) get(id ticket.QueryID) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.byID[id]; e != nil {
		return e.Value.(binding).params
	}
	return nil
}

func (b *bindings) forget(id ticket.QueryID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(id)
}

// remove drops an entry, if it is there. b.mu is held.
func (b *bindings) remove(id ticket.QueryID) {
	if e := b.byID[id]; e != nil {
		delete(b.byID, id)
		b.bytes -= len(b.order.Remove(e).(binding).params)
	}
}
