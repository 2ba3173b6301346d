// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"strings"
	"sync"

	"github.com/lakeplane/lake/metastore"
)

// ledger is the least metastore that can tell whether the operations of an
// engine hold: it applies them all or none.
type ledger struct {
	mu     sync.Mutex
	values map[string][]byte
}

func newLedger() *ledger { return &ledger{values: map[string][]byte{}} }

func (l *ledger) commit(ops []metastore.Op) error {
	if err := metastore.CheckTxn(metastore.Txn{Ops: ops}); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, op := range ops {
		if current := l.values[op.Key]; !op.Holds(current) {
			return &metastore.ConflictError{Key: op.Key, Known: true, Current: current}
		}
	}
	for _, op := range ops {
		switch op.Effect {
		case metastore.Put:
			l.values[op.Key] = op.Value
		case metastore.Delete:
			delete(l.values, op.Key)
		}
	}
	return nil
}

// count returns how many keys begin with prefix.
func (l *ledger) count(prefix string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for key := range l.values {
		if strings.HasPrefix(key, prefix) {
			n++
		}
	}
	return n
}
