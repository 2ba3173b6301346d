// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package prune finds out of a statement which rows of its tables can matter,
// so that storage need not read what cannot. It reads the conditions of WHERE
// and of inner joins off the syntax tree, and gives up on whatever it is not
// sure of: the SQL engine checks every row again, so a condition that is left
// out costs time only, while one too many would lose rows.
//
// Where SQL converts before it compares, a constant becomes an interval that
// holds every value which may count as equal to it.
package prune

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
)

// Ref is a reference to a table as the statement spells it.
type Ref struct{ Catalog, Schema, Table string }

// Statement is what a statement asks of its tables, before it is known what
// columns they have. The zero value asks for everything. It is immutable and
// safe for concurrent use.
type Statement struct {
	scopes []scope
	// whole are references whose rows are all wanted.
	whole []Ref
	// top is what else a statement says that has no conditions, or nil.
	top *top
}

// scope is one SELECT: its tables, and what must hold for its rows.
type scope struct {
	tables []source
	// others are the names of what else stands in FROM.
	others []string
	// using are columns that joins merge: alone, their names mean neither side.
	using []string
	// outer says that tables may be extended with null rows, so that a row which
	// is left out can come back as nulls.
	outer bool
	where []condition
}

// source is a table in FROM.
type source struct {
	ref Ref
	// name is what qualifies its columns.
	name string
	// sure says that its columns have the names of the table's, and that
	// nothing happens to its rows before WHERE.
	sure bool
}

// condition is what may be known of a row.
type condition interface {
	bind(b *binder) predicate.Predicate // nil: not known
}

// Table is what stands behind a reference.
type Table struct {
	// ID is the same for references to the same table.
	ID     int
	Schema *arrow.Schema
}

// Predicates returns what each table's rows must satisfy to matter, by the
// table's ID. A table that is not in the result is wanted whole. lookup tells
// what a reference stands for; false stands for what storage does not hold.
// Column i of the single row of params is the value of placeholder i+1; nil is
// none.
func (s Statement) Predicates(lookup func(Ref) (Table, bool), params arrow.RecordBatch) map[int]predicate.Predicate {
	wanted := map[int]predicate.Or{}
	whole := map[int]bool{}
	for _, ref := range s.whole {
		if t, ok := lookup(ref); ok {
			whole[t.ID] = true
		}
	}
	for i := range s.scopes {
		sc := &s.scopes[i]
		tables := make([]Table, len(sc.tables))
		known := make([]bool, len(sc.tables))
		for j, src := range sc.tables {
			tables[j], known[j] = lookup(src.ref)
		}
		for j := range sc.tables {
			if !known[j] {
				continue
			}
			b := &binder{scope: sc, tables: tables, at: j, params: params}
			if p := b.all(sc.where); p != nil && sc.tables[j].sure {
				wanted[tables[j].ID] = append(wanted[tables[j].ID], p)
			} else {
				whole[tables[j].ID] = true
			}
		}
	}
	out := map[int]predicate.Predicate{}
	for id, p := range wanted {
		switch {
		case whole[id]:
		case len(p) == 1:
			out[id] = p[0]
		default:
			out[id] = p
		}
	}
	return out
}

// Bytes estimates the memory of the statement.
func (s Statement) Bytes() int {
	const each = 256
	n := each * len(s.whole)
	if s.top != nil {
		n += 2 * each
	}
	for _, sc := range s.scopes {
		n += each * (1 + len(sc.tables) + countOf(sc.where))
	}
	return n
}

// countOf counts conditions and their constants.
func countOf(all []condition) (n int) {
	for _, c := range all {
		switch c := c.(type) {
		case and:
			n += countOf(c)
		case or:
			n += countOf(c)
		case in:
			n += len(c.values)
		}
		n++
	}
	return n
}

// Empty reports whether the statement asks for everything.
func (s Statement) Empty() bool { return len(s.scopes) == 0 && s.top == nil }
