// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lakeplane/lake/lake"
)

// slot is one DuckDB instance, which runs one query at a time. The views of a
// query are made in a transaction that is rolled back, at its end or when a query
// comes that cannot use them: see seat.
type slot struct {
	opts  Options
	id    uint64
	spill string
	db    *database
	conn  *connection
	// traces belongs to the running query, like conn.
	traces traces
	seat   *seat // nil when no transaction is open

	mu     sync.Mutex
	query  *query
	broken bool
}

// tableIDs numbers bound tables over all slots, so that a number never means
// two tables.
var tableIDs atomic.Uint64

func newSlot(opts Options) (_ *slot, err error) {
	s := &slot{opts: opts, traces: traces{}}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if opts.SpillDir != "" {
		if s.spill, err = os.MkdirTemp(opts.SpillDir, "slot-*"); err != nil {
			return nil, lake.Errorf(lake.Unavailable, "query engine: spill directory: %w", err)
		}
	}
	settings := s.settings()
	// All threads are ours: see assistants.
	settings["external_threads"] = settings["threads"]
	if s.db, err = openDatabase(settings); err != nil {
		return nil, err
	}
	if s.conn, err = s.db.connect(); err != nil {
		return nil, err
	}
	s.id = slots.add(s)
	if err := s.conn.registerScan(s.id); err != nil {
		return nil, err
	}
	return s, s.conn.exec(s.lockdown())
}

func (s *slot) settings() map[string]string {
	set := map[string]string{
		"threads":                      strconv.Itoa(s.opts.Threads),
		"memory_limit":                 fmt.Sprintf("%dB", s.opts.Memory),
		"preserve_insertion_order":     "false",
		"autoinstall_known_extensions": "false",
		"autoload_known_extensions":    "false",
		"allow_community_extensions":   "false",
		"temp_directory":               s.spill,
	}
	if s.spill != "" {
		set["max_temp_directory_size"] = fmt.Sprintf("%dB", s.opts.SpillBytes)
	}
	return set
}

// lockdown is run last: after it no statement can reach files or the network
// or change a setting.
func (s *slot) lockdown() string {
	return fmt.Sprintf(`ATTACH ':memory:' AS %s; USE %s;
		SET errors_as_json = true; SET TimeZone = 'UTC';
		SET enable_external_access = false; SET lock_configuration = true`, s.opts.Catalog, s.opts.Catalog)
}

func (s *slot) close() {
	if s.seat != nil {
		s.seat.forget()
	}
	if s.conn != nil {
		s.conn.close()
	}
	if s.db != nil {
		s.db.close()
	}
	slots.drop(s.id)
	if s.spill != "" {
		_ = os.RemoveAll(s.spill)
	}
}

// table is the bound table of the running query with that number, or nil.
func (s *slot) table(id uint64) *boundTable {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.query == nil {
		return nil
	}
	return s.query.tables[id]
}

// rowsPerThread is about how many rows make a thread worth starting.
const rowsPerThread = 65_536

func (s *slot) scanThreads(rows uint64) int {
	return int(min(uint64(s.opts.Threads), rows/rowsPerThread+1))
}

// interruptEvery is how often a stopped query is interrupted until it ends: an
// interrupt that comes between two calls of the statement is lost.
const interruptEvery = 20 * time.Millisecond

// run gives the slot to a query and takes it back clean. The instance is
// interrupted when the query's context ends.
func (s *slot) run(q *query, work func() error) (err error) {
	s.setQuery(q)
	ended := make(chan struct{})
	watcher := make(chan struct{})
	stop := context.AfterFunc(q.ctx, func() { s.interrupt(ended, watcher) })
	err = s.inTransaction(q, work)
	close(ended)
	if !stop() {
		<-watcher // the interrupts must not hit the next query
	}
	s.setQuery(nil)
	return q.explain(err)
}

func (s *slot) setQuery(q *query) {
	s.mu.Lock()
	s.query = q
	s.mu.Unlock()
}

func (s *slot) interrupt(ended <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	tick := time.NewTicker(interruptEvery)
	defer tick.Stop()
	for {
		s.conn.interrupt()
		select {
		case <-ended:
			return
		case <-tick.C:
		}
	}
}

// inTransaction works with the query's tables visible under their names. A slot
// that cannot be rolled back is broken.
func (s *slot) inTransaction(q *query, work func() error) error {
	if err := s.sit(q); err != nil {
		return err
	}
	err := work()
	if err == nil && q.req.Steady && q.ctx.Err() == nil {
		return nil // the next may use what is there
	}
	if rollback := s.rise(); rollback != nil || isBroken(err) {
		s.broken = true
	}
	return err
}

// rollback is tried again when an interrupt of the ending query hits it.
func (s *slot) rollback() (err error) {
	for range 5 {
		if err = s.conn.exec("ROLLBACK"); err == nil || !isInterrupted(err) {
			return err
		}
	}
	return err
}

// views writes the statements that make the query's tables visible under
// their names, and nothing else.
func (s *slot) views(tables []*boundTable) (string, error) {
	var sql strings.Builder
	schemas := map[string]bool{"main": true}
	for _, t := range tables {
		if t.name.Catalog != "" && !strings.EqualFold(t.name.Catalog, s.opts.Catalog) {
			return "", lake.Errorf(lake.Unsupported, "table %s: catalog %q is not served by this engine, only %q", dotted(t.name), t.name.Catalog, s.opts.Catalog)
		}
		schema := t.name.Namespace
		if schema == "" {
			schema = "main"
		}
		place := s.opts.Catalog + "." + quote(schema)
		if key := strings.ToLower(schema); !schemas[key] {
			schemas[key] = true
			fmt.Fprintf(&sql, "CREATE SCHEMA %s;", place)
		}
		fmt.Fprintf(&sql, "CREATE VIEW %s.%s AS SELECT * EXCLUDE (%s) FROM lake_scan(%d::UBIGINT);",
			place, quote(t.name.Table), rowMarker(t.columns), t.id)
	}
	return sql.String(), nil
}

// quote makes an identifier of any name.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
