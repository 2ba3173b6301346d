// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastoretest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
)

var raceCases = []namedCase{
	{"race/64 creates of one key have one winner", func(t *testing.T, s *fixture) {
		for round := range 3 {
			key := fmt.Sprint("k", round)
			s.oneWinner(64, key, func(i int) metastore.Op { return metastore.Create(key, fmt.Append(nil, i)) })
		}
	}},
	{"race/64 updates of one value have one winner", func(t *testing.T, s *fixture) {
		s.put("k", "old")
		s.oneWinner(64, "k", func(i int) metastore.Op { return metastore.Update("k", []byte("old"), fmt.Append(nil, i)) })
	}},
	{"race/64 deletes of one value have one winner", func(t *testing.T, s *fixture) {
		s.put("k", "old")
		require.Equal(t, 1, s.winners(64, func(int) metastore.Op { return metastore.Remove("k", []byte("old")) }))
		s.absent("k")
	}},
	{"race/no increment is lost", noIncrementIsLost},
	{"race/guards hold against concurrent changes", guardsHold},
	{"race/crossed guards never both pass", crossedGuards},
	{"race/transactions over the same keys do not deadlock", noDeadlock},
	{"race/scan beside writes returns each standing key once", scanBesideWrites},
	{"race/a scan sees what was acknowledged before it", scanAfterAck},
}

// retrying commits and repeats what was certainly not applied, which backends
// answer under contention.
func (f *fixture) retrying(txn metastore.Txn) error {
	for {
		err := f.Commit(f.t.Context(), txn)
		if !errors.Is(err, metastore.ErrRetryable) || f.t.Context().Err() != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

func (f *fixture) oneWinner(n int, key string, op func(i int) metastore.Op) {
	f.t.Helper()
	var winner atomic.Int64
	winner.Store(-1)
	won := f.race(n, op, func(i int) { winner.Store(int64(i)) })
	require.Equal(f.t, 1, won)
	f.holds(key, fmt.Sprint(winner.Load()))
}

func (f *fixture) winners(n int, op func(i int) metastore.Op) int {
	f.t.Helper()
	return f.race(n, op, func(int) {})
}

// race commits one operation each from n goroutines that start together. The
// losers must be told of a conflict.
func (f *fixture) race(n int, op func(i int) metastore.Op, won func(i int)) int {
	f.t.Helper()
	start := make(chan struct{})
	var all sync.WaitGroup
	var wins, others atomic.Int64
	for i := range n {
		all.Go(func() {
			<-start
			err := f.retrying(txn(op(i)))
			var conflict *metastore.ConflictError
			switch {
			case err == nil:
				wins.Add(1)
				won(i)
			case !errors.As(err, &conflict):
				f.t.Errorf("attempt %d: %v", i, err)
				others.Add(1)
			}
		})
	}
	close(start)
	all.Wait()
	require.Zero(f.t, others.Load())
	return int(wins.Load())
}

func noIncrementIsLost(t *testing.T, s *fixture) {
	const workers, each = 8, 20
	s.put("n", "0")
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range each {
				if err := s.increment("n"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	s.holds("n", fmt.Sprint(workers*each))
}

// increment adds one to a decimal counter, however often others get in between.
func (f *fixture) increment(key string) error {
	for {
		rec, err := f.Get(f.t.Context(), key)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(rec.Value))
		if err != nil {
			return err
		}
		err = f.retrying(txn(metastore.Update(key, rec.Value, strconv.AppendInt(nil, int64(n)+1, 10))))
		var conflict *metastore.ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
	}
}

// guardsHold moves a lease while holders write under it. A write that passed
// under an old lease after the lease moved is a violation, which shows as a
// record of an epoch written after the successor counted that epoch's records.
func guardsHold(t *testing.T, s *fixture) {
	const epochs, writers = 12, 4
	s.put("lease", "0")
	var epoch atomic.Int64
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := 0; ; i++ {
				e := epoch.Load()
				if e >= epochs {
					return
				}
				key := fmt.Sprintf("e%02d/%d/%06d", e, w, i)
				err := s.retrying(txn(metastore.Guard("lease", fmt.Append(nil, e)), metastore.Create(key, nil)))
				var conflict *metastore.ConflictError
				if err != nil && !errors.As(err, &conflict) {
					t.Error(err)
					return
				}
			}
		})
	}
	counts := map[int64]int{}
	for e := int64(0); e < epochs; e++ {
		time.Sleep(2 * time.Millisecond)
		require.NoError(t, s.retrying(txn(metastore.Update("lease", fmt.Append(nil, e), fmt.Append(nil, e+1)))))
		counts[e] = len(s.all(fmt.Sprintf("e%02d/", e), 100))
		epoch.Store(e + 1)
	}
	all.Wait()
	for e, count := range counts {
		require.Len(t, s.all(fmt.Sprintf("e%02d/", e), 100), count, "epoch %d was written after its lease ended", e)
	}
}

// crossedGuards is write skew: each of two transactions guards the absence of
// what the other creates.
func crossedGuards(t *testing.T, s *fixture) {
	for round := range 50 {
		a, b := fmt.Sprintf("%d/a", round), fmt.Sprintf("%d/b", round)
		var errs [2]error
		var both sync.WaitGroup
		both.Go(func() { errs[0] = s.retrying(txn(metastore.GuardAbsent(b), metastore.Create(a, nil))) })
		both.Go(func() { errs[1] = s.retrying(txn(metastore.GuardAbsent(a), metastore.Create(b, nil))) })
		both.Wait()
		require.Len(t, s.all(fmt.Sprintf("%d/", round), 10), 1, "round %d: %v", round, errs)
	}
}

func noDeadlock(t *testing.T, s *fixture) {
	s.fill([]string{"a", "b", "c", "d"})
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 20 {
				ops := []metastore.Op{
					metastore.Guard("a", []byte("a")), metastore.Guard("b", []byte("b")), metastore.Guard("c", []byte("c")),
					metastore.Update("d", []byte("d"), []byte("d")),
				}
				shift := (w + i) % len(ops)
				if err := s.retrying(txn(append(ops[shift:], ops[:shift]...)...)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func scanBesideWrites(t *testing.T, s *fixture) {
	var standing []string
	for i := range 100 {
		standing = append(standing, fmt.Sprintf("s/%03d", i))
	}
	s.fill(standing)
	stop := make(chan struct{})
	var churn sync.WaitGroup
	for w := range 2 {
		churn.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprintf("s/%03d-%d", (i*37)%100, w)
				if err := s.retrying(txn(metastore.Create(key, nil))); err != nil {
					t.Error(err)
				}
				if err := s.retrying(txn(metastore.Remove(key, nil))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, limit := range []int{1, 7, 50, 1000} {
		found, err := scanAll(t.Context(), s, "s/", limit)
		if err != nil {
			t.Error(err)
		}
		for _, key := range standing {
			if found[key] != key {
				t.Errorf("limit %d: standing key %q missing or changed: %q", limit, key, found[key])
			}
		}
	}
	close(stop)
	churn.Wait()
}

func scanAfterAck(t *testing.T, s *fixture) {
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			prefix := fmt.Sprintf("w%d/", w)
			for i := range 10 {
				if err := s.retrying(txn(metastore.Create(fmt.Sprint(prefix, i), nil))); err != nil {
					t.Error(err)
				}
				if found, err := scanAll(t.Context(), s, prefix, 4); err != nil || len(found) != i+1 {
					t.Errorf("scan after %d creates found %d: %v", i+1, len(found), err)
				}
			}
		})
	}
	all.Wait()
}
