// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastoretest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/faultstore"
	"github.com/lakeplane/lake/metastore/memory"
)

// TestHistoriesFindBrokenStores proves that the check can fail: each store
// breaks one promise, and some history shows it.
func TestHistoriesFindBrokenStores(t *testing.T) {
	for name, wrap := range map[string]func(metastore.Store) metastore.Store{
		"forgets tokens": func(s metastore.Store) metastore.Store {
			return faultstore.New(forgetful{s}, faultstore.NewRandom(1, 0.4, time.Millisecond, faultstore.Repeat, faultstore.Late))
		},
		"reads at two moments":     func(s metastore.Store) metastore.Store { return torn{s} },
		"ignores guards":           func(s metastore.Store) metastore.Store { return unguarded{s} },
		"reads stale values":       func(s metastore.Store) metastore.Store { return &stale{Store: s, seen: map[string]metastore.Record{}} },
		"denies what it applied":   func(s metastore.Store) metastore.Store { return denying{s} },
		"acknowledges before time": func(s metastore.Store) metastore.Store { return &eager{Store: s} },
	} {
		t.Run(name, func(t *testing.T) {
			s := wrap(memory.New())
			found := 0
			for seed := range uint64(50) {
				r := &recorder{t: t, store: s, h: Histories{Clients: 6, Steps: 12, Attempts: 3}, seed: seed, start: time.Now()}
				if porcupine.CheckOperationsTimeout(recordsModel, r.run(), time.Minute) == porcupine.Illegal {
					found++
				}
			}
			if e, ok := s.(*eager); ok {
				e.late.Wait()
			}
			require.NoError(t, s.Close())
			t.Logf("found in %d of 50 histories", found)
			require.Positive(t, found)
		})
	}
}

type forgetful struct{ metastore.Store }

func (f forgetful) Commit(ctx context.Context, txn metastore.Txn) error {
	txn.Token = ""
	return f.Store.Commit(ctx, txn)
}

type unguarded struct{ metastore.Store }

func (u unguarded) Commit(ctx context.Context, txn metastore.Txn) error {
	var ops []metastore.Op
	for _, op := range txn.Ops {
		if op.Effect != metastore.Keep {
			ops = append(ops, op)
		}
	}
	return u.Store.Commit(ctx, metastore.Txn{Ops: ops, Token: txn.Token})
}

// stale answers every third read from what it saw before.
type stale struct {
	metastore.Store
	mu    sync.Mutex
	reads int
	seen  map[string]metastore.Record
}

func (s *stale) Get(ctx context.Context, key string) (metastore.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if old, ok := s.seen[key]; ok && s.reads%3 == 0 {
		return old, nil
	}
	rec, err := s.Store.Get(ctx, key)
	if err == nil {
		s.seen[key] = rec
	}
	return rec, err
}

// torn reads one record after the other.
type torn struct{ metastore.Store }

func (s torn) GetAll(ctx context.Context, keys []string) (map[string]metastore.Record, error) {
	found := map[string]metastore.Record{}
	for _, key := range keys {
		rec, err := s.Get(ctx, key)
		if err == nil {
			found[key] = rec
		}
		time.Sleep(100 * time.Microsecond)
	}
	return found, nil
}

// denying says that an applied commit certainly was not.
type denying struct{ metastore.Store }

func (d denying) Commit(ctx context.Context, txn metastore.Txn) error {
	err := d.Store.Commit(ctx, txn)
	if err == nil && len(txn.Ops) > 1 {
		return metastore.ErrRetryable
	}
	return err
}

// eager acknowledges commits and makes them later.
type eager struct {
	metastore.Store
	late sync.WaitGroup
}

func (e *eager) Commit(_ context.Context, txn metastore.Txn) error {
	e.late.Go(func() {
		time.Sleep(100 * time.Microsecond)
		_ = e.Store.Commit(context.Background(), txn)
	})
	return nil
}
