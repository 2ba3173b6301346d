// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// stripeCount trades memory for false sharing: two unrelated keys of one
// stripe only wait for each other's check, or a read for the other's sync.
const stripeCount = 1024

// flight is a commit between its appearance in the memtable and its sync.
type flight struct {
	landed chan struct{} // closed when the outcome is known
	err    error         // why the sync failed; set before landed is closed
}

// stripe guards the keys that hash to it.
type stripe struct {
	// mu is held exclusively by commits that write a key of the stripe, and
	// shared by those that only guard one, so that commits under one lease do
	// not wait for each other.
	mu sync.RWMutex
	// last is the latest flight that wrote one of the stripe's keys, set
	// before the write is visible. It may have landed.
	last atomic.Pointer[flight]
	// known is a record of the stripe as the memtable has it, or nil. Leases
	// and tables are expected by commit after commit, and comparing with this
	// is much cheaper than a lookup. Who writes the key holds mu exclusively
	// and replaces it; who only guards may set it to what it read, since
	// nobody writes meanwhile.
	known atomic.Pointer[known]
	_     [24]byte // one stripe per cache line
}

// known is a record that is there.
type known struct {
	key   string
	value []byte
}

// maxKnownBytes bounds the memory of the known records to 4 MiB in all, and
// leaves out no lease and few tables.
const maxKnownBytes = 4 << 10

// knows reports whether the record is known to hold exactly what is expected.
// Anything else, such as another value, is for the database to say.
func (s *stripe) knows(op metastore.Op) bool {
	k := s.known.Load()
	return k != nil && k.key == op.Key && op.Holds(k.value)
}

// remember notes a value that was read or written under a key. nil forgets it.
func (s *stripe) remember(key string, value []byte) {
	if value != nil && len(value) <= maxKnownBytes {
		s.known.Store(&known{key, append([]byte{}, value...)})
		return
	}
	if k := s.known.Load(); k != nil && k.key == key {
		s.known.Store(nil)
	}
}

type stripes struct {
	seed maphash.Seed
	all  [stripeCount]stripe
	// aloft counts the flights that have not landed. It rises before the write
	// is visible.
	aloft atomic.Int64
}

func (s *stripes) of(key string) *stripe { return &s.all[s.index(key)] }

func (s *stripes) index(key string) int {
	return int(maphash.String(s.seed, key) % stripeCount)
}

// selection is the stripes of one transaction, in ascending order.
type selection struct {
	from  *stripes
	locks []stripeLock
}

// stripeLock is the index of a stripe, doubled, plus one when the stripe is
// only guarded. Sorting puts the stronger lock of a stripe first.
type stripeLock int

func (l stripeLock) guards() bool { return l&1 == 1 }

func (s selection) at(l stripeLock) *stripe { return &s.from.all[l>>1] }

// selectFor returns the stripes of a transaction's keys and of its token. A
// token shares the stripes of keys, which is harmless.
func (s *stripes) selectFor(txn metastore.Txn) selection {
	locks := make([]stripeLock, 0, len(txn.Ops)+1)
	for _, op := range txn.Ops {
		lock := stripeLock(s.index(op.Key) << 1)
		if op.Effect == metastore.Keep {
			lock |= 1
		}
		locks = append(locks, lock)
	}
	if txn.Token != "" {
		locks = append(locks, stripeLock(s.index(txn.Token)<<1))
	}
	slices.Sort(locks)
	locks = slices.CompactFunc(locks, func(a, b stripeLock) bool { return a>>1 == b>>1 })
	return selection{s, locks}
}

// lock takes the locks in ascending order, the same for everybody, so that no
// two transactions wait for each other.
func (s selection) lock() {
	for _, l := range s.locks {
		if l.guards() {
			s.at(l).mu.RLock()
		} else {
			s.at(l).mu.Lock()
		}
	}
}

func (s selection) unlock() {
	for _, l := range s.locks {
		if l.guards() {
			s.at(l).mu.RUnlock()
		} else {
			s.at(l).mu.Unlock()
		}
	}
}

// takeOff announces a flight on the stripes it writes. The caller holds the
// locks and writes next.
func (s selection) takeOff() *flight {
	f := &flight{landed: make(chan struct{})}
	s.from.aloft.Add(1)
	for _, l := range s.locks {
		if !l.guards() {
			s.at(l).last.Store(f)
		}
	}
	return f
}

// land publishes a flight's outcome.
func (s selection) land(f *flight, err error) {
	f.err = err
	s.from.aloft.Add(-1)
	close(f.landed)
}

// landed waits for everything that was written through the stripes so far.
// It is not interrupted: a sync is short, and a broken one ends.
func (s selection) landed() error {
	for _, l := range s.locks {
		if err := s.at(l).landed(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// landed waits until the last write through the stripe is durable, which makes
// durable all that a read before this call can have seen under its keys.
func (s *stripe) landed(ctx context.Context) error {
	f := s.last.Load()
	if f == nil {
		return nil
	}
	select {
	case <-f.landed:
		return f.err
	default:
	}
	select {
	case <-f.landed:
		return f.err
	case <-ctx.Done():
		return rules.Cancelled(ctx.Err())
	}
}

// landed waits until all that a read before this call can have seen under any
// key is durable.
func (s *stripes) landed(ctx context.Context) error {
	if s.aloft.Load() == 0 {
		return nil
	}
	for i := range s.all {
		if err := s.all[i].landed(ctx); err != nil {
			return err
		}
	}
	return nil
}
