// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package postgres

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/pgtest"
	"github.com/lakeplane/lake/metastore/metastoretest"
)

// raw is the peer: a transaction of pgx that does what a commit of the same
// shape needs, in one batch and one round trip, without the checks that make it
// a transaction of the metastore: it locks the guard's row and the table's row,
// and changes nothing if they are not as expected.
type raw struct {
	store                  *Store
	insert, guard, advance string
	record                 []byte
}

func newRaw(s *Store) *raw {
	in := func(sql string) string { return inSchema(s.opts.Schema, sql) }
	return &raw{
		store:   s,
		insert:  in(`INSERT INTO {{schema}}.record (key, value) VALUES ($1, $2)`),
		guard:   in(`SELECT value FROM {{schema}}.record WHERE key = $1 AND value = $2 FOR SHARE`),
		advance: in(`UPDATE {{schema}}.record SET value = $3 WHERE key = $1 AND value = $2`),
		record:  metastoretest.BenchValue,
	}
}

func (r *raw) create(tb testing.TB) func(writer, i int) error {
	return func(_, i int) error {
		_, err := r.store.pool.Exec(tb.Context(), r.insert, fmt.Appendf(nil, "bench/%010d", i), r.record)
		return err
	}
}

func (r *raw) append(tb testing.TB, writers int) func(writer, i int) error {
	tb.Helper()
	put := func(key string, value []byte) {
		_, err := r.store.pool.Exec(tb.Context(), r.insert, []byte(key), value)
		require.NoError(tb, err)
	}
	put("election", []byte("1"))
	current := make([][]byte, writers)
	for w := range writers {
		current[w] = r.record
		put(fmt.Sprint("tbl/ns/", w), r.record)
	}
	return func(w, i int) error {
		next := append(append([]byte{}, r.record...), fmt.Sprint(i)...)
		var batch pgx.Batch // one implicit transaction
		batch.Queue(r.guard, []byte("election"), []byte("1"))
		batch.Queue(r.advance, fmt.Append(nil, "tbl/ns/", w), current[w], next)
		batch.Queue(r.insert, fmt.Appendf(nil, "lance-manifest/ns/%d/%020d", w, i), r.record)
		batch.Queue(r.insert, fmt.Appendf(nil, "append-operation/v1/default/ns/%d/%d", w, i), r.record)
		current[w] = next
		return r.store.pool.SendBatch(tb.Context(), &batch).Close()
	}
}

// TestSpeed compares commits with raw transactions of the same shape, on a
// server of its own that syncs:
//
//	LAKE_SPEED=1 go test -run TestSpeed -v ./metastore/postgres
func TestSpeed(t *testing.T) {
	metastoretest.NeedSpeed(t)
	needServer(t)
	syncing, err := pgtest.Start("max_locks_per_transaction=256")
	require.NoError(t, err)
	defer func() { require.NoError(t, syncing.Stop()) }()
	open := func(t *testing.T) *Store {
		opts := options(t)
		opts.DSN, opts.MaxConns = syncing.DSN(), 32
		return openWith(t, opts)
	}
	for _, writers := range []int{1, 8, 32} {
		t.Run(fmt.Sprintf("create/writers=%d", writers), func(t *testing.T) {
			speed := metastoretest.Comparison{Writers: writers}.Run(t, metastoretest.Creates(t, open(t)), newRaw(open(t)).create(t))
			t.Log(speed)
			require.GreaterOrEqual(t, speed.Ratio, 0.2)
		})
		t.Run(fmt.Sprintf("append/writers=%d", writers), func(t *testing.T) {
			speed := metastoretest.Comparison{Writers: writers}.Run(t, metastoretest.Appends(t, open(t), writers), newRaw(open(t)).append(t, writers))
			t.Log(speed)
			require.GreaterOrEqual(t, speed.Ratio, 0.2)
		})
	}
}
