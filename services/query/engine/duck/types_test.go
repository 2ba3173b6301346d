// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/services/query/engine"
)

func nonNull(name string, dt arrow.DataType) arrow.Field { return arrow.Field{Name: name, Type: dt} }

func field(name string, dt arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: true}
}

var point = arrow.StructOf(field("x", arrow.PrimitiveTypes.Float64), field("label", arrow.BinaryTypes.String))

// everyType is one column type a case: all that Lake's tables may hold, and
// the others the engine accepts.
var everyType = map[string]arrow.DataType{
	"bool": arrow.FixedWidthTypes.Boolean,
	"i8":   arrow.PrimitiveTypes.Int8, "i16": arrow.PrimitiveTypes.Int16, "i32": arrow.PrimitiveTypes.Int32, "i64": arrow.PrimitiveTypes.Int64,
	"u8": arrow.PrimitiveTypes.Uint8, "u16": arrow.PrimitiveTypes.Uint16, "u32": arrow.PrimitiveTypes.Uint32, "u64": arrow.PrimitiveTypes.Uint64,
	"f32": arrow.PrimitiveTypes.Float32, "f64": arrow.PrimitiveTypes.Float64,
	"utf8": arrow.BinaryTypes.String, "large_utf8": arrow.BinaryTypes.LargeString,
	"binary": arrow.BinaryTypes.Binary, "large_binary": arrow.BinaryTypes.LargeBinary, "fixed_binary": &arrow.FixedSizeBinaryType{ByteWidth: 17},
	"date32": arrow.FixedWidthTypes.Date32, "date64": arrow.FixedWidthTypes.Date64,
	"time32_s": arrow.FixedWidthTypes.Time32s, "time32_ms": arrow.FixedWidthTypes.Time32ms,
	"time64_us": arrow.FixedWidthTypes.Time64us, "time64_ns": arrow.FixedWidthTypes.Time64ns,
	"ts_s":     &arrow.TimestampType{Unit: arrow.Second},
	"ts_ms":    &arrow.TimestampType{Unit: arrow.Millisecond},
	"ts_us":    &arrow.TimestampType{Unit: arrow.Microsecond},
	"ts_ns":    &arrow.TimestampType{Unit: arrow.Nanosecond},
	"tz_s":     &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"},
	"tz_ms":    &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"},
	"tz_us":    &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	"tz_ns":    &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
	"dec_4_2":  &arrow.Decimal128Type{Precision: 4, Scale: 2},
	"dec_9_3":  &arrow.Decimal128Type{Precision: 9, Scale: 3},
	"dec_18_0": &arrow.Decimal128Type{Precision: 18, Scale: 0},
	"dec_38_9": &arrow.Decimal128Type{Precision: 38, Scale: 9},
	"fsl_f32":  arrow.FixedSizeListOf(7, arrow.PrimitiveTypes.Float32),
	"fsl_u8":   arrow.FixedSizeListOfField(3, nonNull("item", arrow.PrimitiveTypes.Uint8)),
	"list_i32": arrow.ListOf(arrow.PrimitiveTypes.Int32), "list_utf8": arrow.ListOf(arrow.BinaryTypes.String),
	"large_list": arrow.LargeListOf(arrow.PrimitiveTypes.Int64),
	"list_bool":  arrow.ListOf(arrow.FixedWidthTypes.Boolean), "list_list": arrow.ListOf(arrow.ListOf(arrow.BinaryTypes.String)),
	"struct": point, "list_struct": arrow.ListOf(point), "fsl_struct": arrow.FixedSizeListOf(2, point),
	"struct_nested": arrow.StructOf(field("p", point), field("l", arrow.ListOf(arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int16))),
		field("at", &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"})),
	"map":       arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64),
	"dict_utf8": &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String},
	"dict_u8":   &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String},
	"null":      arrow.Null,
	"uuid":      extensions.NewUUIDType(),
}

// TestEveryType sends random values through a scan and back, unsorted and
// sorted, and compares value by value. Batches are cut at odd places.
func TestEveryType(t *testing.T) {
	e := newEngine(t, Options{Threads: 1})
	for name, dt := range everyType {
		for _, nullable := range []bool{false, true} {
			if dt.ID() == arrow.NULL && !nullable {
				continue
			}
			t.Run(name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(7, uint64(len(name))))
				schema := arrow.NewSchema([]arrow.Field{
					nonNull("i", arrow.PrimitiveTypes.Int64),
					{Name: "v", Type: dt, Nullable: nullable, Metadata: arrow.MetadataFrom(map[string]string{"k": "v"})},
				}, nil)
				tab := randomTable(r, schema, 1, 2047, 0, 3000, 5)
				want := columnText(tab.batches, 1)
				got, s := ask(t, e, "SELECT v, i FROM ns.t", "t", tab)
				requireSameValues(t, want, columnText(got, 0))
				checkField(t, schema.Field(1), s.Field(0))
				got, _ = ask(t, e, "SELECT v AS w FROM (SELECT * FROM ns.t WHERE i IS NOT NULL) ORDER BY i", "t", tab)
				requireSameValues(t, sortedBy(columnInts(tab.batches, 0), want), columnText(got, 0))
				got, _ = ask(t, e, "SELECT a.v, b.v FROM ns.t a JOIN ns.t b ON a.i = b.i WHERE a.v IS DISTINCT FROM b.v", "t", tab)
				require.Empty(t, columnText(got, 0))
			})
		}
	}
}

func checkField(t *testing.T, want, got arrow.Field) {
	t.Helper()
	require.Equal(t, want.Nullable, got.Nullable)
	require.Equal(t, want.Metadata, got.Metadata)
	if d, ok := want.Type.(*arrow.DictionaryType); ok {
		require.Equal(t, d.ValueType, got.Type)
		return
	}
	require.True(t, engine.SameType(want.Type, got.Type), "want %s, got %s", want.Type, got.Type)
}

func columnInts(batches []arrow.RecordBatch, c int) []int64 {
	var out []int64
	for _, b := range batches {
		out = append(out, b.Column(c).(*array.Int64).Int64Values()...)
	}
	return out
}

// sortedBy orders values by their keys, which are distinct.
func sortedBy(keys []int64, vals []string) []string {
	at := make([]int, len(keys))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	out := make([]string, len(at))
	for i, k := range at {
		out[i] = vals[k]
	}
	return out
}
