// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package postgres

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

func exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.DSN())
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func TestProcessesShareASchema(t *testing.T) {
	opts := options(t)
	var all sync.WaitGroup
	stores := make([]*Store, 4)
	for i := range stores { // all of them find an empty database
		all.Go(func() {
			var err error
			if stores[i], err = Open(t.Context(), opts); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.False(t, t.Failed())
	require.NoError(t, stores[0].Commit(t.Context(), createA("t")))
	for _, s := range stores {
		rec, err := s.Get(t.Context(), "a")
		require.NoError(t, err)
		require.Equal(t, "1", string(rec.Value))
		require.NoError(t, s.Commit(t.Context(), createA("t")), "tokens are shared as well")
		require.NoError(t, s.Close())
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	opts := options(t)
	openWith(t, opts)
	exec(t, inSchema(opts.Schema, `insert into {{schema}}.migration (version, name) values (99, 'later')`))
	_, err := Open(t.Context(), opts)
	require.True(t, lake.Is(err, lake.Unsupported), "%v", err)
}

func TestServerSettings(t *testing.T) {
	opts := options(t)
	opts.DSN += "&default_transaction_isolation=serializable"
	_, err := Open(t.Context(), opts)
	require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	require.ErrorContains(t, err, "read committed")
}

func TestCommitsSyncWhateverTheSessionSays(t *testing.T) {
	opts := options(t)
	opts.DSN += "&synchronous_commit=off"
	s := openWith(t, opts)
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	var verdict string
	require.NoError(t, tx.QueryRow(t.Context(), s.sql.commit, arguments(createA("t"))...).Scan(&verdict, nil, nil))
	require.Equal(t, "applied", verdict)
	var setting string
	require.NoError(t, tx.QueryRow(t.Context(), "show synchronous_commit").Scan(&setting))
	require.Equal(t, "on", setting)
}

func TestSweep(t *testing.T) {
	opts := options(t)
	s := openWith(t, opts)
	exec(t, inSchema(opts.Schema, `insert into {{schema}}.token select convert_to(n::text, 'UTF8'), '' from generate_series(1, $1) n`), sweepBatch+10)
	exec(t, inSchema(opts.Schema, `update {{schema}}.token set created = now() - interval '1 hour'`))
	require.NoError(t, s.Commit(t.Context(), createA("young")))
	require.NoError(t, s.sweep(t.Context(), 10*time.Minute))
	var left string
	require.NoError(t, s.pool.QueryRow(t.Context(), inSchema(opts.Schema, `select string_agg(convert_from(token, 'UTF8'), ',') from {{schema}}.token`)).Scan(&left))
	require.Equal(t, "young", left)
	require.NoError(t, s.Commit(t.Context(), createA("young")), "still known")
}

func TestSweepsRegularly(t *testing.T) {
	opts := options(t)
	opts.SweepInterval = 10 * time.Millisecond
	s := openWith(t, opts)
	require.NoError(t, s.Commit(t.Context(), createA("t")))
	exec(t, inSchema(opts.Schema, `update {{schema}}.token set created = now() - interval '1 hour'`))
	require.Eventually(t, func() bool {
		var n int
		err := s.pool.QueryRow(t.Context(), inSchema(opts.Schema, `select count(*) from {{schema}}.token`)).Scan(&n)
		return err == nil && n == 0
	}, 20*time.Second, 10*time.Millisecond)
}

func TestOptions(t *testing.T) {
	good := Options{DSN: "postgres://u:hunter2@h/db"}
	require.NoError(t, good.Validate())
	for name, change := range map[string]func(*Options){
		"DSN":          func(o *Options) { o.DSN = "" },
		"DSN:":         func(o *Options) { o.DSN = "postgres://u:hunter2@h:port/db" },
		"schema":       func(o *Options) { o.Schema = strings.Repeat("s", 64) },
		"connections":  func(o *Options) { o.MaxConns = -1 },
		"token window": func(o *Options) { o.TokenWindow = time.Minute },
	} {
		bad := good
		change(&bad)
		err := bad.Validate()
		require.True(t, lake.Is(err, lake.Invalid), name)
		require.ErrorContains(t, err, name)
		require.NotContains(t, err.Error(), "hunter2", "a password stays out of messages")
	}
	_, err := Open(t.Context(), Options{DSN: "postgres://u:hunter2@127.0.0.1:1/db"})
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
	require.NotContains(t, err.Error(), "hunter2")
}

func TestErrorsAreClassified(t *testing.T) {
	for code, want := range map[string]struct {
		kind               lake.Kind
		certain, retryable bool
	}{
		"40001": {lake.Unavailable, true, true},  // serialization failure
		"40P01": {lake.Unavailable, true, true},  // deadlock
		"55P03": {lake.Unavailable, true, true},  // lock timeout
		"57014": {lake.Unavailable, true, true},  // statement timeout
		"57P03": {lake.Unavailable, true, true},  // starting up
		"57P01": {lake.Unavailable, false, true}, // shutting down
		"53100": {lake.Exhausted, true, true},    // disk full
		"53300": {lake.Exhausted, true, true},    // too many connections
		"XX001": {lake.Corrupt, true, false},
		"42501": {lake.Denied, true, false},
		"25000": {lake.Precondition, true, false},
		"42P01": {lake.Unknown, true, false}, // somebody dropped the table
	} {
		err := &pgconn.PgError{Code: code}
		require.Equal(t, want.certain, certain(err), code)
		require.Equal(t, want.kind, lake.KindOf(commitError(err)), code)
		require.Equal(t, want.retryable, errors.Is(commitError(err), metastore.ErrRetryable), code)
		require.ErrorIs(t, commitError(err), err)
	}
	require.False(t, certain(errors.New("connection reset by peer")))
}

func TestLocksAreOrderedAndAsStrongAsNeeded(t *testing.T) {
	txn := metastore.Txn{Token: "t", Ops: []metastore.Op{
		metastore.Guard("g", nil), metastore.GuardAbsent("h"), metastore.Create("c", nil), metastore.Remove("r", nil),
	}}
	locks, exclusive := locksOf(txn)
	require.Len(t, locks, 5)
	require.IsIncreasing(t, locks)
	strength := map[int64]bool{}
	for i, id := range locks {
		strength[id] = exclusive[i]
	}
	require.Equal(t, map[int64]bool{
		lockID("token", "t"): true, lockID("key", "g"): false, lockID("key", "h"): false, lockID("key", "c"): true, lockID("key", "r"): true,
	}, strength)
}
