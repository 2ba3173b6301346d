// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// documented reads the rows of the table below a line of docs/sql.md, without
// code marks.
func documented(t *testing.T, head string) (rows [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/sql.md")
	require.NoError(t, err)
	_, below, ok := strings.Cut(string(page), head+"\n|---")
	require.True(t, ok, "docs/sql.md has no table %s", head)
	_, below, _ = strings.Cut(below, "\n")
	for line := range strings.Lines(below) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(c), "`", "")
		}
		rows = append(rows, cells)
	}
	return rows
}

// storedTypes are the types of docs/sql.md.
var storedTypes = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	&arrow.Decimal128Type{Precision: 10, Scale: 2}, &arrow.Decimal256Type{Precision: 30, Scale: 2}, &arrow.Decimal256Type{Precision: 50, Scale: 2},
	&arrow.Decimal128Type{Precision: 5, Scale: -2},
	arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, &arrow.FixedSizeBinaryType{ByteWidth: 16},
	arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Time64ns,
	&arrow.TimestampType{Unit: arrow.Second}, &arrow.TimestampType{Unit: arrow.Millisecond}, &arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Nanosecond},
	&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"}, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
	arrow.FixedWidthTypes.Duration_ms, arrow.Null,
	arrow.ListOf(arrow.PrimitiveTypes.Int32), arrow.LargeListOf(arrow.BinaryTypes.String), arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32),
	arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64}, arrow.Field{Name: "frame", Type: arrow.BinaryTypes.String}),
}

func TestTheTypesAreAsDocumented(t *testing.T) {
	l := newLake(t)
	byName := map[string]arrow.DataType{}
	for _, dt := range storedTypes {
		name := dt.String()
		if d, ok := dt.(*arrow.Decimal256Type); ok {
			name = strings.Replace(d.String(), "decimal(", "decimal256(", 1)
		}
		byName[name] = dt
	}
	stored := documented(t, "| stored | in SQL | comes back |")
	require.Len(t, byName, len(stored))
	fields := make([]arrow.Field, len(stored))
	for i, row := range stored {
		dt, ok := byName[row[0]]
		require.True(t, ok, "%s is documented, and not among the types of the test: %v", row[0], byName)
		fields[i] = arrow.Field{Name: "c" + string(rune('A'+i/26)) + string(rune('a'+i%26)), Type: dt, Nullable: true}
	}
	schema := arrow.NewSchema(fields, nil)
	l.authority.create(t, "lab.documented", schema)
	c := l.replica().client("ann-token")
	for i, row := range stored {
		sql := "SELECT " + fields[i].Name + " FROM lab.documented"
		info, err := c.Execute(t.Context(), sql)
		if row[2] == "refused" {
			require.Equal(t, codes.Unimplemented, status.Code(err), "%s: %v", row[0], err)
			require.ErrorContains(t, err, "column "+fields[i].Name)
			continue
		}
		require.NoError(t, err, row[0])
		require.True(t, strings.HasPrefix(row[2], "the same"), row[2])
		got, err := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator)
		require.NoError(t, err)
		require.True(t, fields[i].Equal(got.Field(0)), "%s comes back as %s", row[0], got.Field(0))
		require.Equal(t, []string{row[1]}, column(mustRun(t, c, "DESCRIBE "+sql), 1), row[0])
		// What is documented is what SQL computes with, but for DECIMAL's digits.
		computed := column(mustRun(t, c, "SELECT any_value(typeof(x)) FROM (SELECT "+fields[i].Name+" AS x FROM lab.documented UNION ALL SELECT NULL)"), 0)
		require.Equal(t, []string{row[1]}, computed, row[0])
	}
}

func TestComputedTypesAreAsDocumented(t *testing.T) {
	c := newLake(t).replica().client("ann-token")
	for _, row := range documented(t, "| in SQL | in Arrow |") {
		info, err := c.Execute(t.Context(), "SELECT CAST(NULL AS "+row[0]+") AS x")
		if strings.HasPrefix(row[1], "refused") {
			require.Equal(t, codes.Unimplemented, status.Code(err), "%s: %v", row[0], err)
			require.ErrorContains(t, err, "cast it to VARCHAR")
			continue
		}
		require.NoError(t, err, row[0])
		got, err := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator)
		require.NoError(t, err)
		want, _, _ := strings.Cut(row[1], ";")
		require.Equal(t, want, got.Field(0).Type.String(), row[0])
	}
}
