// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/faultproxy"
	"github.com/lakeplane/lake/metastore/metastoretest"
)

// openThrough opens a store behind a proxy.
func openThrough(t *testing.T) (*Store, *faultproxy.Proxy) {
	t.Helper()
	opts := options(t)
	p := through(t, &opts, "commit_txn")
	return openWith(t, opts), p
}

// through leads opts through a proxy that harms the queries with a word.
func through(tb testing.TB, opts *Options, word string) *faultproxy.Proxy {
	tb.Helper()
	p, err := faultproxy.Start(server.Addr(), faultproxy.Options{Word: word})
	require.NoError(tb, err)
	tb.Cleanup(p.Close)
	opts.DSN = strings.Replace(opts.DSN, server.Addr(), p.Addr(), 1)
	return p
}

func createA(token string) metastore.Txn {
	return metastore.Txn{Token: token, Ops: []metastore.Op{metastore.Create("a", []byte("1"))}}
}

// TestFaultMatrix says what a commit is told and what is there afterwards, for
// each harm, when it strikes once and always.
func TestFaultMatrix(t *testing.T) {
	needServer(t)
	unknown := metastore.ErrUnknownOutcome
	for _, c := range []struct {
		name    string
		plan    faultproxy.Plan
		taken   bool  // the key is there already, so the answer is a conflict
		want    error // nil: told that it applied
		applied bool
	}{
		{"request lost once", faultproxy.First(1, faultproxy.DropRequest), false, nil, true},
		{"answer lost once", faultproxy.First(1, faultproxy.DropAnswer), false, nil, true},
		{"request lost always", faultproxy.Always(faultproxy.DropRequest), false, unknown, false},
		{"answer lost always", faultproxy.Always(faultproxy.DropAnswer), false, unknown, true},
		{"conflict, request lost once", faultproxy.First(1, faultproxy.DropRequest), true, unknown, false},
		{"conflict, answer lost once", faultproxy.First(1, faultproxy.DropAnswer), true, unknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, p := openThrough(t)
			if c.taken {
				require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("a", []byte("0"))}}))
			}
			p.Harm(c.plan)
			err := s.Commit(t.Context(), createA("t"))
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
			p.Harm(faultproxy.Always(faultproxy.Pass))
			rec, err := s.Get(t.Context(), "a")
			require.Equal(t, c.applied, err == nil && string(rec.Value) == "1")

			err = s.Commit(t.Context(), createA("t"))
			if c.taken {
				require.ErrorAs(t, err, new(*metastore.ConflictError), "a later retry is told for certain")
			} else {
				require.NoError(t, err, "a later retry settles it")
			}
		})
	}
}

func TestReadsFailRetryably(t *testing.T) {
	needServer(t)
	opts := options(t)
	p := through(t, &opts, `".record`)
	s := openWith(t, opts)
	for _, h := range []faultproxy.Harm{faultproxy.DropRequest, faultproxy.DropAnswer, faultproxy.Cut} {
		for name, read := range map[string]func() error{
			"get":  func() error { _, err := s.Get(t.Context(), "a"); return err },
			"scan": func() error { _, err := s.Scan(t.Context(), "", "", 1); return err },
			"all":  func() error { _, err := s.GetAll(t.Context(), []string{"a"}); return err },
		} {
			p.Harm(faultproxy.First(1, h))
			require.ErrorIs(t, read(), metastore.ErrRetryable, name)
		}
	}
}

func TestUnreachableServerIsRetryable(t *testing.T) {
	s, p := openThrough(t)
	p.Close()
	err := s.Commit(t.Context(), createA("t"))
	for err != nil && errors.Is(err, metastore.ErrUnknownOutcome) {
		err = s.Commit(t.Context(), createA("t")) // connections from before
	}
	require.ErrorIs(t, err, metastore.ErrRetryable, "nothing was sent")
	require.NotErrorIs(t, err, metastore.ErrUnknownOutcome)
}

func TestHistoriesUnderFaults(t *testing.T) {
	needServer(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	metastoretest.RunHistories(t, func(tb testing.TB) metastore.Store {
		s, p := openThrough(t)
		p.Harm(func(int) faultproxy.Harm {
			mu.Lock()
			defer mu.Unlock()
			if rng.Float64() < 0.15 {
				return []faultproxy.Harm{faultproxy.DropRequest, faultproxy.DropAnswer, faultproxy.Cut}[rng.IntN(3)]
			}
			return faultproxy.Pass
		})
		return s
	}, metastoretest.Histories{})
}

// blocker holds the lock of a key, as a commit under way does.
type blocker struct {
	t    *testing.T
	conn *pgx.Conn
	tx   pgx.Tx
}

func block(t *testing.T, key string) *blocker {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "select pg_advisory_xact_lock($1)", lockID("key", key))
	require.NoError(t, err)
	return &blocker{t, conn, tx}
}

// waiter waits until somebody waits for the lock and applies a function to the
// waiting backend.
func (b *blocker) waiter(function string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		var done bool
		err := b.tx.QueryRow(b.t.Context(), fmt.Sprintf(`select bool_or(%s(pid)) from pg_locks
			where locktype = 'advisory' and not granted`, function)).Scan(&done)
		return err == nil && done
	}, 20*time.Second, 5*time.Millisecond)
}

func (b *blocker) release() { require.NoError(b.t, b.tx.Rollback(b.t.Context())) }

func TestACancelledQueryIsRetryable(t *testing.T) {
	needServer(t)
	s := openWith(t, options(t))
	b := block(t, "a")
	failed := make(chan error)
	go func() { failed <- s.Commit(t.Context(), createA("t")) }()
	b.waiter("pg_cancel_backend")
	err := <-failed
	require.ErrorIs(t, err, metastore.ErrRetryable, "the server rolled it back")
	b.release()
	require.NoError(t, s.Commit(t.Context(), createA("t")))
}

func TestATerminatedBackendIsTriedAgain(t *testing.T) {
	needServer(t)
	s := openWith(t, options(t))
	b := block(t, "a")
	failed := make(chan error)
	go func() { failed <- s.Commit(t.Context(), createA("t")) }()
	b.waiter("pg_terminate_backend")
	b.release()
	require.NoError(t, <-failed)
}

// TestAnAbandonedCallMayStillApply shows why a call whose context ends has an
// unknown outcome: the server goes on.
func TestAnAbandonedCallMayStillApply(t *testing.T) {
	needServer(t)
	s := openWith(t, options(t))
	b := block(t, "a")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := s.Commit(ctx, createA("t"))
	require.ErrorIs(t, err, metastore.ErrUnknownOutcome)
	require.True(t, lake.Is(err, lake.Undetermined))
	b.release()
	require.NoError(t, s.Commit(t.Context(), createA("t")), "a retry with the token settles it")
}
