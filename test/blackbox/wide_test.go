// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package blackbox

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

// wide is a table with a column of each type that SQL can read.
var wide = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	optional("b", arrow.FixedWidthTypes.Boolean),
	optional("i8", arrow.PrimitiveTypes.Int8),
	optional("i16", arrow.PrimitiveTypes.Int16),
	optional("i32", arrow.PrimitiveTypes.Int32),
	optional("u8", arrow.PrimitiveTypes.Uint8),
	optional("u16", arrow.PrimitiveTypes.Uint16),
	optional("u32", arrow.PrimitiveTypes.Uint32),
	optional("u64", arrow.PrimitiveTypes.Uint64),
	optional("f32", arrow.PrimitiveTypes.Float32),
	optional("f64", arrow.PrimitiveTypes.Float64),
	optional("s", arrow.BinaryTypes.String),
	optional("ls", arrow.BinaryTypes.LargeString),
	optional("bin", arrow.BinaryTypes.Binary),
	optional("fsb", &arrow.FixedSizeBinaryType{ByteWidth: 4}),
	optional("d32", arrow.FixedWidthTypes.Date32),
	optional("d64", arrow.FixedWidthTypes.Date64),
	optional("t32", arrow.FixedWidthTypes.Time32ms),
	optional("t64", arrow.FixedWidthTypes.Time64us),
	optional("ts_s", &arrow.TimestampType{Unit: arrow.Second}),
	optional("ts_us", &arrow.TimestampType{Unit: arrow.Microsecond}),
	optional("ts_ns", &arrow.TimestampType{Unit: arrow.Nanosecond}),
	optional("tz", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}),
	optional("tz_zone", &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"}),
	optional("dec", &arrow.Decimal128Type{Precision: 38, Scale: 9}),
	optional("l", arrow.ListOf(arrow.BinaryTypes.String)),
	optional("fsl", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)),
	optional("st", arrow.StructOf(optional("x", arrow.PrimitiveTypes.Int64), optional("y", arrow.BinaryTypes.String))),
}, nil)

func optional(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

// wideRows are a row of extremes and one of nulls. Texts of timestamps with a
// zone are moments in UTC.
const wideRows = `[{"id": 1, "b": true, "i8": -128, "i16": -32768, "i32": -2147483648,
  "u8": 255, "u16": 65535, "u32": 4294967295, "u64": "18446744073709551615", "f32": 1.5, "f64": -2.25,
  "s": "grün", "ls": "grün", "bin": "AP8=", "fsb": "YWJjZA==", "d32": "2024-02-29", "d64": "2024-02-29",
  "t32": "12:34:56.789", "t64": "12:34:56.789012", "ts_s": "2024-02-29 12:34:56", "ts_us": "2024-02-29 12:34:56.789012",
  "ts_ns": "2024-02-29 12:34:56.789012345", "tz": "2024-02-29 12:34:56.789012Z", "tz_zone": "2024-02-29 12:34:56.789Z",
  "dec": "-12345678901234567890.123456789", "l": ["a", null, "c"], "fsl": [0.5, 1.5], "st": {"x": 7, "y": "z"}},
  {"id": 2}]`

func wideBatch(t *testing.T) arrow.RecordBatch {
	t.Helper()
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, wide, strings.NewReader(wideRows))
	require.NoError(t, err)
	return batch
}
