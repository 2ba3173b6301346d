// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
)

// One placeholder without a type, such as that of SELECT ?, must not take the
// types of the others away: a JDBC driver refuses setLong for text.
func TestEachPlaceholderHasItsOwnType(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.types", everyType())
	l.authority.create(t, "lab.notes", simple)
	c := l.replica().client("ann-token")
	for sql, want := range map[string][]string{
		"SELECT ? AS x, note FROM lab.notes WHERE id = ?":                                          {"utf8", "int64"},
		"SELECT note, ? FROM lab.notes WHERE id = ? AND note = ?":                                  {"utf8", "int64", "utf8"},
		"SELECT $2, $1 FROM lab.notes WHERE id BETWEEN $1 AND $3":                                  {"int64", "utf8", "int64"},
		"SELECT $a FROM lab.notes WHERE id = $b":                                                   {"utf8", "int64"},
		"SELECT '?', ?, \"u64\" /* ? */ FROM lab.types WHERE day > ? -- ?\n AND b = ? AND f64 < ?": {"utf8", "date32", "bool", "float64"},
		"SELECT ?, ?":                                {"utf8", "utf8"},
		"SELECT ?, f64 FROM lab.types LIMIT ?":       {"utf8", "int64"},
		"SELECT ?::INTEGER, ? || 'x'":                {"int32", "utf8"},
		"SELECT ? FROM lab.notes WHERE id IN (?, ?)": {"utf8", "int64", "int64"},
	} {
		p, err := c.Prepare(t.Context(), sql)
		require.NoError(t, err, sql)
		var got []string
		for _, f := range p.ParameterSchema().Fields() {
			got = append(got, f.Type.String())
		}
		require.Equal(t, want, got, sql)
		require.NoError(t, p.Close(t.Context()))
	}
	p, err := c.Prepare(t.Context(), "SELECT ? AS x, count(*) AS n FROM lab.notes WHERE id > ?")
	require.NoError(t, err)
	two := arrow.NewSchema([]arrow.Field{{Name: "1", Type: arrow.BinaryTypes.String}, {Name: "2", Type: arrow.PrimitiveTypes.Int64}}, nil)
	p.SetParameters(rows(t, two, `[{"1":"a","2":5}]`))
	info, err := p.Execute(t.Context())
	require.NoError(t, err)
	got, err := fetch(t, t.Context(), c, info)
	require.NoError(t, err)
	require.Equal(t, "{\"n\":0,\"x\":\"a\"}\n", got.json(t))
}
