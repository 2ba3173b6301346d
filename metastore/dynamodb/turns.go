// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"context"
	"sync"
	"time"

	"github.com/lakeplane/lake/metastore"
)

// turns lets the commits of this process that share a key go one after the other,
// in the order in which they came. The service refuses those that meet in it, also
// when both only keep the key, as the commits of a leader keep its fence; they
// would wait longer, and in no order, before they try again.
//
// It is not what keeps commits apart: that is the service, which has other
// clients. So a commit without an answer loses its turn to the next. The zero
// value is ready.
type turns struct {
	mu   sync.Mutex
	keys map[string]*turn
}

// turn is that of a key. Who has it has put something into held.
type turn struct {
	held  chan struct{}
	users int // that have it or wait for it
}

// maxTurn is how long a turn lasts at most.
const maxTurn = 500 * time.Millisecond

// take waits for the turns of operations, which are in the order of their keys so
// that nobody waits in a circle, and returns what ends them. If the context ends
// first, the commit has them as far as it came.
func (t *turns) take(ctx context.Context, ops []metastore.Op) (end func()) {
	had := make([]*turn, 0, len(ops))
	for _, op := range ops {
		turn := t.enter(op.Key)
		select {
		case turn.held <- struct{}{}:
			had = append(had, turn)
			continue
		case <-ctx.Done():
			t.leave(op.Key, turn)
		}
		break
	}
	release := sync.OnceFunc(func() {
		for i, turn := range had {
			<-turn.held
			t.leave(ops[i].Key, turn)
		}
	})
	timer := time.AfterFunc(maxTurn, release)
	return func() { timer.Stop(); release() }
}

func (t *turns) enter(key string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keys == nil {
		t.keys = make(map[string]*turn)
	}
	found := t.keys[key]
	if found == nil {
		found = &turn{held: make(chan struct{}, 1)}
		t.keys[key] = found
	}
	found.users++
	return found
}

func (t *turns) leave(key string, turn *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn.users--; turn.users == 0 {
		delete(t.keys, key)
	}
}
