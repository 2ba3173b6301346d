// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/services/query/engine"
)

// seat is what a slot keeps between statements: an open transaction with the
// views of the last one's tables, and the small statements that were prepared in
// it. Making them takes longer than running a small statement.
//
// A statement gets the seat of another only if it is steady (the clock stands
// still in a transaction) and has exactly the same tables: the same names, each of
// the same schema and with as many rows, which is all that a plan is made of. So
// nothing is visible to it that would not be otherwise, and it sees its own rows:
// views and plans know tables by a number, and the number means what the running
// query says. Whatever goes wrong ends the seat.
type seat struct {
	tables     []seatTable
	statements map[statementKey]prepared
}

// seatTable is a table as the views know it.
type seatTable struct {
	id      uint64
	name    engine.Name
	schema  *arrow.Schema // compared by identity
	rows    uint64
	columns []column
}

// statementKey is what a prepared statement depends on beside the tables.
type statementKey struct{ sql, params string }

const (
	// maxSeated is how many prepared statements a seat keeps: each may hold the
	// memory of its operators until it runs again.
	maxSeated = 8
	// maxSeatedRows is of how many rows, together, the tables of a statement may
	// be that is kept, and maxSeatedTime how long it may run: large ones hold more
	// memory, and lose less by being prepared again.
	maxSeatedRows = 100_000
	maxSeatedTime = assistAfter
	// maxSeatedSQL bounds the text of one, in bytes.
	maxSeatedSQL = 8 << 10
)

func newSeat(tables []*boundTable) *seat {
	e := &seat{statements: map[statementKey]prepared{}}
	for _, t := range tables {
		e.tables = append(e.tables, seatTable{t.id, t.name, t.table.Schema(), t.table.Rows(), t.columns})
	}
	return e
}

// serves gives a query the seat's tables, if they are the query's.
func (e *seat) serves(q *query) bool {
	names := q.names()
	if e == nil || !q.req.Steady || len(names) != len(e.tables) {
		return false
	}
	for i, t := range e.tables {
		mine := q.req.Tables[names[i]]
		if t.name != names[i] || mine.Schema() != t.schema || mine.Rows() != t.rows {
			return false
		}
	}
	for i, t := range e.tables {
		q.tables[t.id] = &boundTable{id: t.id, name: t.name, table: q.req.Tables[names[i]], columns: t.columns, query: q}
	}
	return true
}

func keyOf(q *query) statementKey {
	k := statementKey{sql: q.req.SQL}
	if q.req.Params != nil {
		k.params = q.req.Params.Schema().String()
	}
	return k
}

// prepared finds a statement that was kept. A query that only plans gets none:
// it asks what the statement would be, were it prepared now.
func (e *seat) prepared(q *query) (prepared, bool) {
	if q.dry || !q.req.Steady {
		return prepared{}, false
	}
	p, ok := e.statements[keyOf(q)]
	return p, ok
}

// leave keeps a statement that has run well, or closes it.
func (e *seat) leave(q *query, p prepared, began time.Time, err error) {
	rows := uint64(0)
	for _, t := range e.tables {
		rows += t.rows
	}
	switch {
	case p.kept:
	case err != nil || !q.req.Steady || rows > maxSeatedRows || time.Since(began) > maxSeatedTime || len(q.req.SQL) > maxSeatedSQL:
		p.stmt.close()
	default:
		if len(e.statements) >= maxSeated {
			e.forget()
		}
		p.kept = true
		k := keyOf(q)
		k.sql = strings.Clone(k.sql)
		e.statements[k] = p
	}
}

// forget closes the prepared statements.
func (e *seat) forget() {
	for _, p := range e.statements {
		p.stmt.close()
	}
	clear(e.statements)
}

// sit makes the query's tables visible, and nothing else, in an open transaction.
func (s *slot) sit(q *query) error {
	if s.seat.serves(q) {
		return nil
	}
	if err := s.rise(); err != nil {
		s.broken = true
		return err
	}
	tables, err := q.bindTables(s.opts.Catalog, func() uint64 { return tableIDs.Add(1) })
	if err != nil {
		return err
	}
	views, err := s.views(tables)
	if err != nil {
		return err
	}
	if err := s.conn.exec("BEGIN TRANSACTION"); err != nil {
		// It may have begun all the same.
		s.broken = s.rollback() != nil && !isInterrupted(err) || isBroken(err)
		return err
	}
	s.seat = newSeat(tables)
	if views == "" {
		return nil
	}
	if err := s.conn.exec(views); err != nil {
		s.broken = s.rise() != nil || isBroken(err)
		return err
	}
	return nil
}

// rise ends the open transaction, if there is one.
func (s *slot) rise() error {
	if s.seat == nil {
		return nil
	}
	s.seat.forget()
	s.seat = nil
	return s.rollback()
}
