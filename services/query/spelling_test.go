// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	lanceengine "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/services/query"
)

// A statement may name one table with the catalog and without, and in several
// cases: all of them are the same rows.
func TestOneTableUnderSeveralNames(t *testing.T) {
	s := newStack(t)
	s.addr = s.replica(t, func(o *query.Options) { o.Registration.TTL = 1 }) // each spelling is looked up anew
	c, tables := s.client(t), s.catalog(t)
	half := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "half", Type: arrow.FixedWidthTypes.Float16}}, nil)
	create(t, tables, "lab.halves", half)
	name := create(t, tables, "lab.notes", simple)
	_, err := appendRows(t, c, name, rows(t, simple, `[{"id":1,"note":"a"},{"id":2}]`), false)
	require.NoError(t, err)
	for _, sql := range []string{
		"SELECT count(*) AS n FROM lab.notes a JOIN lake.lab.notes b ON a.id = b.id",
		"SELECT count(*) AS n FROM Lab.NOTES a JOIN LAKE.lab.Notes b ON a.id = b.id WHERE b.id > 0 AND a.id > 0",
		"SELECT count(*) AS n FROM lab.notes a JOIN Lab.Notes b ON a.id = b.id JOIN LAB.NOTES c ON c.id = b.id WHERE b.note IS NULL OR a.id = 1",
		"SELECT 2 + count(*) AS n FROM lab.halves a JOIN Lab.Halves b ON a.half = b.half JOIN lake.lab.halves c ON c.id = a.id",
		"SELECT count(*) AS n FROM (SELECT id FROM lab.notes INTERSECT SELECT id FROM lake.lab.notes)",
		"SELECT count(*) AS n FROM lake.lab.notes WHERE id IN (SELECT id FROM lab.notes WHERE id < 5)",
		"WITH w AS (FROM lab.notes) SELECT count(*) AS n FROM w, lake.lab.notes AS x WHERE x.id = w.id",
		"SELECT count(*) AS n FROM information_schema.tables a JOIN Information_Schema.TABLES b USING (table_name)",
		"SELECT count(*) AS n FROM information_schema.tables a JOIN lake.information_schema.tables b USING (table_name)",
	} {
		got, err := run(t, c, sql)
		require.NoError(t, err, sql)
		require.Equal(t, "{\"n\":2}\n", got.json(t), sql)
	}
}

// SQL tells no case of A to Z apart, and that of every other letter. A column that
// is read without the engine has the names it has there, and a condition is not
// taken for one on a column of another name.
func TestNamesAreTheEngines(t *testing.T) {
	s := newStack(t, func(o *lanceengine.Options) { o.HoldBytes, o.StatsBytes = -1, 1 })
	c, tables := s.client(t), s.catalog(t)
	i64 := arrow.PrimitiveTypes.Int64
	inner := arrow.NewSchema([]arrow.Field{{Name: "id", Type: i64}, {Name: "Ä", Type: i64}, {Name: "\u212a", Type: i64}}, nil) // KELVIN SIGN
	outer := arrow.NewSchema([]arrow.Field{{Name: "id", Type: i64}, {Name: "ä", Type: i64}, {Name: "Tag", Type: i64}}, nil)
	for name, rec := range map[string]arrow.RecordBatch{
		"lab.inner": rows(t, inner, `[{"id":1,"Ä":7,"`+"\u212a"+`":7}]`), "lab.outer": rows(t, outer, `[{"id":1,"ä":5,"Tag":6}]`),
	} {
		_, err := appendRows(t, c, create(t, tables, name, rec.Schema()), rec, false)
		require.NoError(t, err)
	}
	for _, sql := range []string{
		`SELECT id FROM lab.outer WHERE EXISTS (SELECT 1 FROM lab.inner WHERE "ä" = 5)`,
		`SELECT id FROM lab.outer o WHERE EXISTS (SELECT 1 FROM lab.inner i WHERE "ä" = o."ä" AND "ä" BETWEEN 4 AND 6)`,
		`SELECT ID FROM lab.outer WHERE TAG = 6`,
		`SELECT count(tag)::BIGINT AS id FROM lab.outer WHERE "tAG" > 0`,
		`SELECT id FROM lab.inner WHERE "Ä" = 7`,
	} {
		require.Equal(t, []int64{1}, ids(mustRun(t, c, sql).batches), sql)
	}
	for _, sql := range []string{
		`SELECT "ä" FROM lab.inner`, `SELECT "ä" + 1 FROM lab.inner`, `SELECT k FROM lab.inner`, `SELECT k + 1 FROM lab.inner`, `SELECT sum(k) FROM lab.inner`,
		`SELECT id FROM lab.inner WHERE "ä" = 7`, `SELECT id FROM lab.inner WHERE k IS NULL`, `SELECT count(*) FROM lab.inner GROUP BY k`,
	} {
		_, err := run(t, c, sql)
		require.Equal(t, codes.InvalidArgument, status.Code(err), sql)
	}
}
