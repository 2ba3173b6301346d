// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package schemadsl_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/internal/schemadsl"
	"github.com/lakeplane/lake/lake"
)

func TestParseColumnReadsEveryType(t *testing.T) {
	item := func(dt arrow.DataType, nullable bool) arrow.Field {
		return arrow.Field{Name: "item", Type: dt, Nullable: nullable}
	}
	f64 := arrow.PrimitiveTypes.Float64
	for text, want := range map[string]arrow.Field{
		"a:bool":              {Name: "a", Type: arrow.FixedWidthTypes.Boolean},
		"a:i8":                {Name: "a", Type: arrow.PrimitiveTypes.Int8},
		"a:u64?":              {Name: "a", Type: arrow.PrimitiveTypes.Uint64, Nullable: true},
		"a:f16":               {Name: "a", Type: arrow.FixedWidthTypes.Float16},
		" a b : f64 ? ":       {Name: "a b", Type: f64, Nullable: true},
		"a:utf8":              {Name: "a", Type: arrow.BinaryTypes.String},
		"a:binary":            {Name: "a", Type: arrow.BinaryTypes.Binary},
		"a:date?":             {Name: "a", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		"a:ts[ms]":            {Name: "a", Type: &arrow.TimestampType{Unit: arrow.Millisecond}},
		"a:ts[ns,Asia/Tokyo]": {Name: "a", Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "Asia/Tokyo"}},
		"a:decimal(38,0)":     {Name: "a", Type: &arrow.Decimal128Type{Precision: 38}},
		"a:list<f64?>":        {Name: "a", Type: arrow.ListOfField(item(f64, true))},
		"a:fsl<f64,7>?":       {Name: "a", Type: arrow.FixedSizeListOfField(7, item(f64, false)), Nullable: true},
		`"a:b":struct<"x,":f64,y:list<f64>?>`: {Name: "a:b", Type: arrow.StructOf(
			arrow.Field{Name: "x,", Type: f64},
			arrow.Field{Name: "y", Type: arrow.ListOfField(item(f64, false)), Nullable: true})},
		"größe:i32": {Name: "größe", Type: arrow.PrimitiveTypes.Int32},
	} {
		got, err := schemadsl.ParseColumn(text)
		require.NoError(t, err, text)
		require.True(t, want.Equal(got), "%s: got %v", text, got)
	}
}

func TestParseColumnSaysWhatIsWrongAndWhere(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "at byte 1: want name:type",
		"a":                      "at byte 1: want name:type",
		":i64":                   "at byte 1: the column name is empty",
		"\xff:i64":               "at byte 1: the column name is not valid UTF-8",
		"a:":                     "at byte 3: want a type, found end",
		"a:int":                  `at byte 3: unknown type "int": want one of bool i8`,
		"a:i64x":                 `unknown type "i64x"`,
		"a:i64??":                `at byte 7: unexpected '?' after the type`,
		"a:i64 b":                `at byte 7: unexpected 'b'`,
		"a:ts":                   `at byte 5: want '[' after ts`,
		"a:ts[m]":                "at byte 6: unknown time unit: want s, ms, us or ns",
		"a:ts[us,]":              "want a time zone such as UTC",
		"a:ts[us,UTC":            `want ']' at the end of ts[…], found end`,
		"a:decimal(39,2)":        "the precision of a decimal must be a number from 1 to 38",
		"a:decimal(4,5)":         "the scale of this decimal must be a number from 0 to 4",
		"a:decimal(4)":           "want ',' between precision and scale",
		"a:list<i64":             `want '>' at the end of list<…>, found end`,
		"a:fsl<f32,0>":           "the size of a fixed size list must be a number from 1 to",
		"a:fsl<f32,99999999999>": "the size of a fixed size list must be a number",
		"a:struct<>":             "want name:type",
		"a:struct<x:i8,x:i8>":    `at byte 15: field "x" occurs twice`,
		"a:struct<x:i8":          `want '>' or ',' in struct<…>, found end`,
		`"a:i64`:                 "the quoted name does not end",
		`"":i64`:                 "a quoted name must be non-empty",
		"a:" + strings.Repeat("list<", 40) + "i8" + strings.Repeat(">", 40): "nested deeper than 32",
	} {
		_, err := schemadsl.ParseColumn(text)
		require.Error(t, err, text)
		require.True(t, lake.Is(err, lake.Invalid), text)
		require.Contains(t, err.Error(), want, text)
	}
}

func TestParseSchemaRefusesDuplicatesAndNothing(t *testing.T) {
	_, err := schemadsl.ParseSchema([]string{"a:i8", "b:i8", "a:utf8"})
	require.ErrorContains(t, err, `column "a" occurs twice`)
	_, err = schemadsl.ParseSchema(nil)
	require.ErrorContains(t, err, "at least one column")
	s, err := schemadsl.ParseSchema([]string{"a:i8", "A:i8"})
	require.NoError(t, err)
	require.Equal(t, 2, s.NumFields())
}

func TestFormatOfForeignTypesIsForPeople(t *testing.T) {
	text, ok := schemadsl.FormatType(arrow.ListOf(arrow.BinaryTypes.LargeString), true)
	require.False(t, ok)
	require.Equal(t, "list<large_utf8?>?", text)
	_, ok = schemadsl.FormatType(&arrow.Decimal128Type{Precision: 3, Scale: -2}, false)
	require.False(t, ok)
}

// anyType draws a type that the notation covers.
func anyType(depth int) *rapid.Generator[arrow.DataType] {
	return rapid.Custom(func(t *rapid.T) arrow.DataType {
		kinds := 10
		if depth == 0 {
			kinds = 7
		}
		item := func() arrow.Field {
			return arrow.Field{Name: "item", Type: anyType(depth-1).Draw(t, "item"), Nullable: rapid.Bool().Draw(t, "null")}
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			unit := rapid.SampledFrom(arrow.TimeUnitValues).Draw(t, "unit")
			return &arrow.TimestampType{Unit: unit, TimeZone: rapid.SampledFrom([]string{"", "UTC", "+05:30", "America/New_York"}).Draw(t, "zone")}
		case 1:
			p := rapid.Int32Range(1, 38).Draw(t, "p")
			return &arrow.Decimal128Type{Precision: p, Scale: rapid.Int32Range(0, p).Draw(t, "s")}
		case 7:
			return arrow.ListOfField(item())
		case 8:
			return arrow.FixedSizeListOfField(rapid.Int32Range(1, 1024).Draw(t, "n"), item())
		case 9:
			names := rapid.SliceOfNDistinct(rapid.StringN(1, 8, -1), 1, 3, rapid.ID[string]).Draw(t, "names")
			fields := make([]arrow.Field, len(names))
			for i, n := range names {
				fields[i] = item()
				fields[i].Name = n
			}
			return arrow.StructOf(fields...)
		default:
			return rapid.SampledFrom([]arrow.DataType{
				arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Uint32,
				arrow.PrimitiveTypes.Float32, arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Date32,
			}).Draw(t, "plain")
		}
	})
}

func TestFormatThenParseIsTheSameColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := arrow.Field{
			Name:     rapid.StringN(1, 20, -1).Draw(t, "name"),
			Type:     anyType(3).Draw(t, "type"),
			Nullable: rapid.Bool().Draw(t, "nullable"),
		}
		text, ok := schemadsl.FormatColumn(want)
		if !ok {
			t.Fatalf("no notation for %v", want)
		}
		got, err := schemadsl.ParseColumn(text)
		if err != nil || !got.Equal(want) {
			t.Fatalf("%s: got %v, want %v: %v", text, got, want, err)
		}
	})
}

func FuzzParseColumn(f *testing.F) {
	for _, seed := range []string{"a:i64", "a:list<struct<x:f64?,y:ts[us,UTC]>>?", `"\u00e9":decimal(5,2)`, "a:fsl<f32,3>", "a:struct<"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		field, err := schemadsl.ParseColumn(text)
		if err != nil {
			require.True(t, lake.Is(err, lake.Invalid))
			return
		}
		again, ok := schemadsl.FormatColumn(field)
		require.True(t, ok, text)
		back, err := schemadsl.ParseColumn(again)
		require.NoError(t, err, again)
		require.True(t, field.Equal(back), "%q became %q", text, again)
	})
}
