// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
)

func TestOnlyTheQualifierIsRenamed(t *testing.T) {
	const internal = `"information_schema/lake"`
	for sql, want := range map[string]string{
		"FROM information_schema.tables":                        "FROM " + internal + ".tables",
		"FROM INFORMATION_SCHEMA.tables":                        "FROM " + internal + ".tables",
		`FROM "information_schema".tables`:                      "FROM " + internal + ".tables",
		"FROM lake.information_schema . tables":                 "FROM lake." + internal + " . tables",
		"FROM information_schema/* x */.tables":                 "FROM " + internal + "/* x */.tables",
		"FROM information_schema -- x\n.tables":                 "FROM " + internal + " -- x\n.tables",
		"SELECT 1 AS information_schema":                        "SELECT 1 AS information_schema",
		"SELECT 'information_schema.tables'":                    "SELECT 'information_schema.tables'",
		"SELECT 'it''s information_schema.tables'":              "SELECT 'it''s information_schema.tables'",
		`SELECT E'\'information_schema.tables'`:                 `SELECT E'\'information_schema.tables'`,
		"SELECT $$information_schema.tables$$":                  "SELECT $$information_schema.tables$$",
		"SELECT $a$information_schema.t$$a$, $1":                "SELECT $a$information_schema.t$$a$, $1",
		"-- information_schema.tables\nSELECT 1":                "-- information_schema.tables\nSELECT 1",
		"/* /* information_schema.x */ information_schema.y */": "/* /* information_schema.x */ information_schema.y */",
		"FROM my_information_schema.tables":                     "FROM my_information_schema.tables",
		`FROM "a""information_schema".tables`:                   `FROM "a""information_schema".tables`,
		"FROM information_schema":                               "FROM information_schema",
		"SELECT $1, information_schema.tables.x":                "SELECT $1, " + internal + ".tables.x",
	} {
		require.Equal(t, want, renameInformationSchema(sql))
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("SELECT 'a' || $$b$$ FROM information_schema.x -- c")
	f.Add("$1$ $$ /* ' E'\\")
	f.Fuzz(func(t *testing.T, sql string) {
		at := 0
		for at < len(sql) {
			n := tokenLength(sql[at:])
			if n < 1 || at+n > len(sql) {
				t.Fatalf("a token of %d bytes at %d of %q", n, at, sql)
			}
			at += n
		}
		if !strings.Contains(strings.ToLower(sql), informationSchema) && renameInformationSchema(sql) != sql {
			t.Fatal("changed a text without the name")
		}
	})
}

func TestTypeNames(t *testing.T) {
	for _, c := range []struct {
		typ  arrow.DataType
		want string
	}{
		{arrow.PrimitiveTypes.Uint64, "UBIGINT"},
		{arrow.ListOf(arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32)), "FLOAT[3][]"},
		{arrow.StructOf(arrow.Field{Name: "a b", Type: arrow.BinaryTypes.String}), `STRUCT("a b" VARCHAR)`},
		{&arrow.TimestampType{Unit: arrow.Nanosecond}, "TIMESTAMP_NS"},
		{&arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, "TIMESTAMP WITH TIME ZONE"},
		{&arrow.Decimal128Type{Precision: 10, Scale: 2}, "DECIMAL(10,2)"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, "VARCHAR"},
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64), "STRUCT(key VARCHAR, value BIGINT)[]"},
		{arrow.FixedWidthTypes.Date32, "DATE"},
	} {
		require.Equal(t, c.want, typeName(c.typ))
	}
}
