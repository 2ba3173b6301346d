// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package postgres

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/internal/pgtest"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/metastoretest"
)

var (
	server    *pgtest.Server // nil where there is none to run
	serverErr error
	schemas   atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run starts one server for all tests. It does not sync: what the tests crash
// is connections, and the server's durability is its own.
func run(m *testing.M) int {
	server, serverErr = pgtest.Start("fsync=off", "max_locks_per_transaction=256")
	if serverErr != nil && !errors.Is(serverErr, pgtest.ErrMissing) {
		fmt.Fprintln(os.Stderr, serverErr)
		return 1
	}
	code := m.Run()
	if server != nil {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func needServer(tb testing.TB) {
	tb.Helper()
	if server == nil {
		tb.Skip(serverErr)
	}
}

// options names a schema that no other test uses.
func options(tb testing.TB) Options {
	needServer(tb)
	return Options{DSN: server.DSN(), Schema: fmt.Sprint("Test \"schema\" ", schemas.Add(1)), MaxConns: 10}
}

func openWith(tb testing.TB, opts Options) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func openTemp(tb testing.TB) metastore.Store { return openWith(tb, options(tb)) }

func TestConformance(t *testing.T) {
	needServer(t)
	metastoretest.Run(t, openTemp)
}

func TestHistories(t *testing.T) {
	needServer(t)
	metastoretest.RunHistories(t, openTemp, metastoretest.Histories{})
}

func TestModel(t *testing.T) {
	needServer(t)
	metastoretest.RunModel(t, openTemp)
}

// pooled starts a pooler whose few sessions many clients share.
func pooled(t *testing.T) func(tb testing.TB) metastore.Store {
	t.Helper()
	needServer(t)
	p, err := server.Pool(3)
	if errors.Is(err, pgtest.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Stop()) })
	return func(tb testing.TB) metastore.Store {
		opts := options(tb)
		opts.DSN = p.DSN()
		return openWith(tb, opts)
	}
}

// TestBehindAPooler: each transaction may run in another session of the server,
// and the sessions are other clients' in between.
func TestBehindAPooler(t *testing.T) {
	open := pooled(t)
	t.Run("conformance", func(t *testing.T) { metastoretest.Run(t, open) })
	t.Run("histories", func(t *testing.T) { metastoretest.RunHistories(t, open, metastoretest.Histories{}) })
}
