// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A statement may name one table with the catalog and without, and in several
// cases: all of them are the same rows.
func TestOneTableUnderSeveralNames(t *testing.T) {
	s := newStack(t)
	c, tables := s.client(t), s.catalog(t)
	name := create(t, tables, "lab.notes", simple)
	_, err := appendRows(t, c, name, rows(t, simple, `[{"id":1,"note":"a"},{"id":2}]`), false)
	require.NoError(t, err)
	for _, sql := range []string{
		"SELECT count(*) AS n FROM lab.notes a JOIN lake.lab.notes b ON a.id = b.id",
		"SELECT count(*) AS n FROM Lab.NOTES a JOIN LAKE.lab.Notes b ON a.id = b.id WHERE b.id > 0 AND a.id > 0",
		"SELECT count(*) AS n FROM (SELECT id FROM lab.notes INTERSECT SELECT id FROM lake.lab.notes)",
		"SELECT count(*) AS n FROM lake.lab.notes WHERE id IN (SELECT id FROM lab.notes WHERE id < 5)",
		"WITH w AS (FROM lab.notes) SELECT count(*) AS n FROM w, lake.lab.notes AS x WHERE x.id = w.id",
		"SELECT 2 * count(*) AS n FROM information_schema.tables a JOIN Information_Schema.TABLES b USING (table_name)",
		"SELECT 2 * count(*) AS n FROM information_schema.tables a JOIN lake.information_schema.tables b USING (table_name)",
	} {
		got, err := run(t, c, sql)
		require.NoError(t, err, sql)
		require.Equal(t, "{\"n\":2}\n", got.json(t), sql)
	}
}
