// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/notify"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// Store is a [metastore.Store] in a PostgreSQL schema. It also is a
// [metastore.Watcher] and a [metastore.Snapshotter]. It is safe for concurrent
// use, and several processes may use one schema.
type Store struct {
	pool  *pgxpool.Pool
	opts  Options
	sql   statements
	hub   notify.Hub
	peers *peers // nil without a ListenDSN

	gate   sync.RWMutex // held shared by every call, exclusively by Close
	closed bool
	stop   context.CancelFunc
	done   sync.WaitGroup
}

var (
	_ metastore.Store       = (*Store)(nil)
	_ metastore.Watcher     = (*Store)(nil)
	_ metastore.Snapshotter = (*Store)(nil)
)

// statements are the queries with the schema's name in them.
type statements struct{ get, getAll, scan, commit, sweep string }

// exact asks for values as they are, where the default of this query mode is
// hexadecimal text.
var exact = pgx.QueryResultFormats{pgx.BinaryFormatCode}

// inSchema puts the quoted name of the schema where {{schema}} is.
func inSchema(schema, sql string) string {
	return strings.ReplaceAll(sql, "{{schema}}", pgx.Identifier{schema}.Sanitize())
}

func statementsFor(schema string) statements {
	in := func(sql string) string { return inSchema(schema, sql) }
	return statements{
		get:    in(`SELECT value FROM {{schema}}.record WHERE key = $1`),
		getAll: in(`SELECT key, value FROM {{schema}}.record WHERE key = ANY ($1)`),
		// The sizes come from the rows' headers: values that are not sent are
		// not read. "rest" counts the rows up to the limit, sent or not.
		scan: in(`SELECT key, value, rest FROM (
				SELECT key, value, count(*) OVER () AS rest, row_number() OVER (ORDER BY key) AS n,
					sum(octet_length(key) + octet_length(value)) OVER (ORDER BY key) AS size
				FROM (SELECT key, value FROM {{schema}}.record
					WHERE key >= $1 AND ($2::bytea IS NULL OR key < $2) AND ($3::bytea IS NULL OR key > $3)
					ORDER BY key LIMIT $4) AS page) AS sized
			WHERE size <= $5 OR n = 1 ORDER BY key`),
		commit: in(`SELECT verdict, conflict_key, current_value FROM {{schema}}.commit_txn($1, $2, $3, $4, $5, $6, $7, $8)`),
		sweep: in(`DELETE FROM {{schema}}.token WHERE token IN (
				SELECT token FROM {{schema}}.token WHERE created < now() - make_interval(secs => $1)
				ORDER BY created LIMIT $2 FOR UPDATE SKIP LOCKED)`),
	}
}

// Open connects, brings the schema up to date and returns the store. It fails
// with lake.Precondition when the server's settings would break the contract,
// and with lake.Unsupported when a newer release has changed the schema.
func Open(ctx context.Context, opts Options) (*Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	config, err := opts.pool()
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "DSN: %w", err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, lake.Errorf(lake.Unavailable, "connect to PostgreSQL: %w", err)
	}
	if err := prepare(ctx, pool, opts.Schema); err != nil {
		pool.Close()
		return nil, lake.Wrap("open PostgreSQL metastore", err)
	}
	background, stop := context.WithCancel(context.Background())
	s := &Store{pool: pool, opts: opts, sql: statementsFor(opts.Schema), stop: stop}
	if opts.SweepInterval > 0 {
		s.done.Go(func() { s.sweepRegularly(background) })
	}
	if opts.ListenDSN != "" {
		s.peers = newPeers(s)
		s.done.Go(func() { s.peers.listen(background) })
		s.done.Go(func() { s.peers.tell(background) })
	}
	return s, nil
}

// Watch implements [metastore.Watcher].
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	return s.hub.Watch(ctx, prefix)
}

// enter admits a call until leave.
func (s *Store) enter(ctx context.Context) error {
	if err := rules.Alive(ctx); err != nil {
		return err
	}
	s.gate.RLock()
	if s.closed {
		s.gate.RUnlock()
		return metastore.ErrClosed
	}
	return nil
}

func (s *Store) leave() { s.gate.RUnlock() }

// Get implements [metastore.Store].
func (s *Store) Get(ctx context.Context, key string) (metastore.Record, error) {
	if err := metastore.CheckKey(key); err != nil {
		return metastore.Record{}, err
	}
	if err := s.enter(ctx); err != nil {
		return metastore.Record{}, err
	}
	defer s.leave()
	var value []byte
	err := s.pool.QueryRow(ctx, s.sql.get, exact, []byte(key)).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return metastore.Record{}, rules.NotFound(key)
	}
	if err != nil {
		return metastore.Record{}, readError("get", err)
	}
	return metastore.Record{Key: key, Value: present(value)}, nil
}

// present turns nil into empty: a column that is not null is there.
func present(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}

// GetAll implements [metastore.Snapshotter].
func (s *Store) GetAll(ctx context.Context, keys []string) (map[string]metastore.Record, error) {
	wanted := make([][]byte, len(keys))
	for i, key := range keys {
		if err := metastore.CheckKey(key); err != nil {
			return nil, err
		}
		wanted[i] = []byte(key)
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	rows, err := s.pool.Query(ctx, s.sql.getAll, exact, wanted) // one statement, one snapshot
	if err != nil {
		return nil, readError("get all", err)
	}
	found := make(map[string]metastore.Record, len(keys))
	var key, value []byte
	_, err = pgx.ForEachRow(rows, []any{&key, &value}, func() error {
		found[string(key)] = metastore.Record{Key: string(key), Value: present(value)}
		value = nil // the next row gets bytes of its own
		return nil
	})
	if err != nil {
		return nil, readError("get all", err)
	}
	return found, nil
}

// Scan implements [metastore.Store]. The whole scan is in key order.
func (s *Store) Scan(ctx context.Context, prefix, cursor string, limit int) (metastore.Page, error) {
	after, err := rules.BeginScan(prefix, cursor, limit)
	if err != nil {
		return metastore.Page{}, err
	}
	if err := s.enter(ctx); err != nil {
		return metastore.Page{}, err
	}
	defer s.leave()
	page, rest, err := s.page(ctx, prefix, after, limit)
	if err != nil {
		return metastore.Page{}, readError("scan", err)
	}
	if n := len(page.Records); n < rest {
		page.Next = rules.EncodeCursor(prefix, page.Records[n-1].Key)
	}
	return page, nil
}

// page returns the records of a page and how many there would be up to one
// more than the limit.
func (s *Store) page(ctx context.Context, prefix, after string, limit int) (page metastore.Page, rest int, err error) {
	var end, above []byte
	if above = []byte(after); after == "" {
		above = nil
	}
	if text, ok := rules.PrefixEnd(prefix); ok {
		end = []byte(text)
	}
	rows, err := s.pool.Query(ctx, s.sql.scan, exact, []byte(prefix), end, above, limit+1, rules.MaxPageBytes)
	if err != nil {
		return metastore.Page{}, 0, err
	}
	var key, value []byte
	_, err = pgx.ForEachRow(rows, []any{&key, &value, &rest}, func() error {
		if len(page.Records) < limit {
			page.Records = append(page.Records, metastore.Record{Key: string(key), Value: present(value)})
		}
		value = nil
		return nil
	})
	return page, rest, err
}

// Close implements [metastore.Store]. It waits for the calls in flight. A
// second Close does nothing.
func (s *Store) Close() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	s.done.Wait()
	s.hub.Close()
	s.pool.Close()
	return nil
}

// sweepBatch bounds one removal of tokens, and so how long it takes.
const sweepBatch = 1000

func (s *Store) sweepRegularly(ctx context.Context) {
	tick := time.NewTicker(s.opts.SweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.sweep(ctx, s.opts.TokenWindow); err != nil && ctx.Err() == nil {
			s.opts.Logger.Error("metastore: cannot sweep tokens", "error", err)
		}
	}
}

// sweep removes the tokens that are older than window.
func (s *Store) sweep(ctx context.Context, window time.Duration) error {
	for {
		tag, err := s.pool.Exec(ctx, s.sql.sweep, window.Seconds(), sweepBatch)
		if err != nil || tag.RowsAffected() < sweepBatch {
			return err
		}
	}
}
