// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/services/access"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
)

func textFields(names ...string) []arrow.Field {
	out := make([]arrow.Field, len(names))
	for i, n := range names {
		out[i] = arrow.Field{Name: n, Type: arrow.BinaryTypes.String, Nullable: true}
	}
	return out
}

// The schemas of statements that the service answers itself.
var (
	showTablesSchema = arrow.NewSchema(textFields("namespace", "name"), nil)
	describeSchema   = arrow.NewSchema(textFields("column_name", "column_type", "null", "key", "default", "extra"), nil)
	explainSchema    = arrow.NewSchema(textFields("explain_key", "explain_value"), nil)
)

// showTables lists the tables the caller may see.
func (s *Server) showTables(ctx context.Context, p access.Principal, emit func(arrow.RecordBatch) error) error {
	dir, err := s.directory.Current(ctx)
	if err != nil {
		return err
	}
	found := matching(dir, p, filter(nil), filter(nil))
	if err := s.tooManyRows("tables", len(found)); err != nil {
		return err
	}
	b := newRowBuilder(showTablesSchema, emit)
	defer b.Release()
	for _, e := range found {
		b.text(0, e.Name.Namespace)
		b.text(1, e.Name.Name)
		if err := b.next(); err != nil {
			return err
		}
	}
	return b.flush()
}

// describe lists the columns of a query's result.
func (s *Server) describe(ctx context.Context, req sqlengine.Request, emit func(arrow.RecordBatch) error) error {
	bound, err := s.planOf(ctx, req)
	if err != nil {
		return err
	}
	b := newRowBuilder(describeSchema, emit)
	defer b.Release()
	for _, f := range bound.Schema.Fields() {
		b.text(0, f.Name)
		b.text(1, typeName(f.Type))
		b.text(2, yesNo(f.Nullable))
		for i := 3; i < describeSchema.NumFields(); i++ {
			b.Field(i).AppendNull()
		}
		if err := b.next(); err != nil {
			return err
		}
	}
	return b.flush()
}

// planOf asks the engine what a query's result will be.
func (s *Server) planOf(ctx context.Context, req sqlengine.Request) (bound sqlengine.Plan, err error) {
	err = s.planner.run(ctx, func(ctx context.Context) (err error) {
		bound, err = s.opts.Planner.Plan(ctx, req)
		return err
	})
	return bound, err
}

func yesNo(yes bool) string {
	if yes {
		return "YES"
	}
	return "NO"
}

// directKey is the key under which EXPLAIN says that the engine is not asked.
const directKey = "lake"

// explain passes the engine's plan on, as text, after how the statement is
// answered where that is without the engine.
func (s *Server) explain(ctx context.Context, stmt gate.Parsed, req sqlengine.Request, snapshots []storage.Dataset, emit func(arrow.RecordBatch) error) error {
	how, err := s.directlyHow(ctx, stmt, req, snapshots)
	if err != nil {
		return err
	}
	if how != "" {
		b := newRowBuilder(explainSchema, emit)
		defer b.Release()
		b.text(0, directKey)
		b.text(1, how)
		if err := errors.Join(b.next(), b.flush()); err != nil {
			return err
		}
	}
	req.SQL = "EXPLAIN " + req.SQL
	return s.sql.Execute(ctx, req, emit)
}

// directlyHow says how a statement is answered without the engine; empty where the
// engine answers. Which of the two it is depends on what was planned, as it does
// when the statement runs.
func (s *Server) directlyHow(ctx context.Context, stmt gate.Parsed, req sqlengine.Request, snapshots []storage.Dataset) (string, error) {
	if stmt.Direct == nil || len(snapshots) != 1 {
		return "", nil
	}
	table := snapshots[0].Schema()
	if _, ok := stmt.Direct.Plan(table, req.Params); !ok {
		bound, err := s.planOf(ctx, req)
		if err != nil {
			return "", err
		}
		if _, ok = stmt.Direct.Resolve(table, bound.Schema, req.Params); !ok {
			return "", nil
		}
	}
	if stmt.Direct.Summary != nil {
		return "Folded while the table is read, without the SQL engine, unless there are more groups than are held. The engine would do this:", nil
	}
	return "Read from the table as it is stored, without the SQL engine. The engine would do this:", nil
}
