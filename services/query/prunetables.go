// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake/predicate"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
	"github.com/lakeplane/lake/services/query/prune"
	"github.com/lakeplane/lake/services/query/rowfilter"
	"github.com/lakeplane/lake/services/query/ticket"
)

// pruneTables puts, for tables of which the statement wants some rows only, the
// part of the snapshot that may hold them in place of the snapshot, without rows
// that are certainly not wanted. The SQL engine still checks every row.
func (s *Server) pruneTables(ctx context.Context, req sqlengine.Request, filters prune.Statement, pins []ticket.Pin, snapshots []storage.Dataset) error {
	if filters.Empty() {
		return nil
	}
	if first, ok := filters.First(storedTables(pins, snapshots)); ok {
		firstOf(req, first, pins, snapshots)
		return nil
	}
	wanted := predicates(filters, pins, snapshots, req.Params)
	parts := make(map[int]*rowfilter.Table, len(wanted))
	for i, where := range wanted {
		part, err := storage.Prune(ctx, snapshots[i], where)
		if err != nil {
			return err
		}
		parts[i] = rowfilter.New(part, where)
		s.metrics.pruned(part.Pieces())
	}
	for name := range req.Tables {
		if i, ok := storedAt(name, pins); ok && parts[i] != nil {
			req.Tables[name] = parts[i]
		}
	}
	return nil
}

// firstOf puts, for the table of which the statement wants the first rows, one
// that leaves out others.
func firstOf(req sqlengine.Request, first prune.First, pins []ticket.Pin, snapshots []storage.Dataset) {
	table := snapshots[first.Table]
	if first.Rows > rowfilter.MostFirst || !rowfilter.Sortable(table.Schema().Field(first.Column).Type) {
		return
	}
	for name := range req.Tables {
		if i, ok := storedAt(name, pins); ok && i == first.Table {
			req.Tables[name] = rowfilter.NewFirst(table, rowfilter.Order{Column: first.Column, Descending: first.Descending, Rows: int(first.Rows)})
		}
	}
}

// predicates are the conditions on the rows of each snapshot, by its place.
func predicates(filters prune.Statement, pins []ticket.Pin, snapshots []storage.Dataset, params arrow.RecordBatch) map[int]predicate.Predicate {
	return filters.Predicates(storedTables(pins, snapshots), params)
}

// storedTables tells what references stand for: a snapshot, by its place.
func storedTables(pins []ticket.Pin, snapshots []storage.Dataset) func(prune.Ref) (prune.Table, bool) {
	return func(ref prune.Ref) (prune.Table, bool) {
		i, ok := storedAt(sqlengine.Name{Catalog: ref.Catalog, Namespace: ref.Schema, Table: ref.Table}, pins)
		if !ok {
			return prune.Table{}, false
		}
		return prune.Table{ID: i, Schema: snapshots[i].Schema()}, true
	}
}

// storedAt finds the pin of a reference that is no view of the directory.
func storedAt(name sqlengine.Name, pins []ticket.Pin) (int, bool) {
	if virtualSchema(name) != nil {
		return 0, false
	}
	return pinFor(name, pins)
}

// filtersOf are the conditions of the query that a statement is.
func filtersOf(stmt gate.Parsed) prune.Statement {
	if stmt.Kind != gate.Select {
		return prune.Statement{} // it is described and explained over all rows
	}
	return stmt.Filters
}
