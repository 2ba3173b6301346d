// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package literal

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	return v
}

func rat(s string) *big.Rat { r, _ := new(big.Rat).SetString(s); return r }

// requireSame compares numbers by their value.
func requireSame(t *testing.T, want, got Value, of string) {
	t.Helper()
	w, isNumber := want.(Number)
	g, ok := got.(Number)
	require.Equal(t, isNumber, ok, "%s: %#v", of, got)
	if isNumber {
		require.Zero(t, w.Value.Cmp(g.Value), "%s: %s", of, g.Value)
		w.Value, g.Value = nil, nil
		want, got = w, g
	}
	require.Equal(t, want, got, of)
}

func TestConstants(t *testing.T) {
	exact := new(big.Rat).SetFloat64(0.1)
	for value, want := range map[string]Value{
		`{"type":{"id":"INTEGER","type_info":null},"is_null":false,"value":-5}`:                                                        Number{rat("-5"), 10, 0, 0},
		`{"type":{"id":"BIGINT"},"is_null":false,"value":-9223372036854775808}`:                                                        Number{rat("-9223372036854775808"), 19, 0, 0},
		`{"type":{"id":"DECIMAL","type_info":{"type":"DECIMAL_TYPE_INFO","alias":"","width":3,"scale":2}},"is_null":false,"value":25}`: Number{rat("1/4"), 1, 2, 0},
		`{"type":{"id":"DECIMAL","type_info":{"width":2,"scale":3}},"is_null":false,"value":25}`:                                       nil,
		`{"type":{"id":"DECIMAL"},"is_null":false,"value":25}`:                                                                         nil,
		`{"type":{"id":"DECIMAL","type_info":{"width":30,"scale":2}},"is_null":false,"value":{"upper":1,"lower":5}}`:                   nil,
		`{"type":{"id":"DOUBLE"},"is_null":false,"value":0.1}`:                                                                         Number{exact, 0, 0, 64},
		`{"type":{"id":"DOUBLE"},"is_null":false,"value":1e999}`:                                                                       nil,
		`{"type":{"id":"HUGEINT"},"is_null":false,"value":{"upper":0,"lower":1}}`:                                                      nil,
		`{"type":{"id":"INTEGER"},"is_null":false,"value":1.5}`:                                                                        nil,
		`{"type":{"id":"VARCHAR","type_info":null},"is_null":false,"value":"x"}`:                                                       Text{Value: "x"},
		`{"type":{"id":"VARCHAR","type_info":{"collation":"de"}},"is_null":false,"value":"x"}`:                                         nil,
		`{"type":{"id":"BOOLEAN"},"is_null":false,"value":true}`:                                                                       Boolean(true),
		`{"type":{"id":"SQLNULL"},"is_null":true}`:                                                                                     Null{},
		`{"type":{"id":"UUID"},"is_null":false,"value":"x"}`:                                                                           nil,
	} {
		requireSame(t, want, Of(read(t, `{"class":"CONSTANT","alias":"","query_location":7,"value":`+value+`}`)), value)
	}
	require.Nil(t, Of(read(t, `{"class":"CONSTANT","new":"x","value":{"type":{"id":"INTEGER"},"is_null":false,"value":5}}`)))
	require.Nil(t, Of(read(t, `{"class":"CONSTANT","value":5}`)))
	require.Nil(t, Of(read(t, `{"class":"COLUMN_REF"}`)))
	require.Nil(t, Of(nil))
	require.Equal(t, Placeholder(2), Of(read(t, `{"class":"PARAMETER","identifier":"2"}`)))
	require.Nil(t, Of(read(t, `{"class":"PARAMETER","identifier":"name"}`)))
	require.Nil(t, Of(read(t, `{"class":"PARAMETER","identifier":"0"}`)))
}

func TestCasts(t *testing.T) {
	for text, want := range map[string]Value{
		`"child":"2024-01-01","cast_type":{"id":"DATE","type_info":null},"try_cast":false`:     Text{"2024-01-01", "DATE"},
		`"child":"2024-01-01","cast_type":{"id":"TIMESTAMP WITH TIME ZONE"}`:                   Text{"2024-01-01", "TIMESTAMP WITH TIME ZONE"},
		`"child":"2024-01-01","cast_type":{"id":"DATE"},"try_cast":true`:                       nil,
		`"child":"2024-01-01","cast_type":{"id":"VARCHAR","type_info":{"collation":"nocase"}}`: nil,
		`"child":"2024-01-01","cast_type":{"id":"ENUM"}`:                                       nil,
		`"child":"t","cast_type":{"id":"BOOLEAN"}`:                                             Boolean(true),
		`"child":"f","cast_type":{"id":"BOOLEAN"}`:                                             Boolean(false),
		`"child":"yes","cast_type":{"id":"BOOLEAN"}`:                                           nil,
	} {
		for _, word := range []string{"2024-01-01", "t", "f", "yes"} {
			text = strings.Replace(text, `"child":"`+word+`"`, `"child":{"class":"CONSTANT","value":{"type":{"id":"VARCHAR"},"is_null":false,"value":"`+word+`"}}`, 1)
		}
		require.Equal(t, want, Of(read(t, `{"class":"CAST",`+text+`}`)), text)
	}
	twice := `{"class":"CAST","cast_type":{"id":"DATE"},"child":{"class":"CONSTANT","value":{"type":{"id":"VARCHAR"},"is_null":false,"value":"2024-01-01"}}}`
	require.NotNil(t, Of(read(t, twice)))
	require.Nil(t, Of(read(t, `{"class":"CAST","cast_type":{"id":"TIMESTAMP"},"child":`+twice+`}`)))
}

func TestClocks(t *testing.T) {
	for text, want := range map[string]struct {
		seconds, nanos int64
		day            bool
		zone           string
	}{
		"1970-01-02":                      {86400, 0, true, ""},
		"1970-01-01 00:00:01.5":           {1, 500_000_000, false, ""},
		"1969-12-31T23:59:59.999999999":   {-1, 999_999_999, false, ""},
		"1970-01-01T00:00:00Z":            {0, 0, false, "Z"},
		"1970-01-01 00:00:00.25+05:30":    {0, 250_000_000, false, "+05:30"},
		"9999-12-31 23:59:59.999999999+0": {-1, -1, false, ""},
		"0001-01-01":                      {-62135596800, 0, true, ""},
		"0000-01-01":                      {-1, -1, false, ""},
		"1970-02-30":                      {-1, -1, false, ""},
		"1970-01-01 24:00:00":             {-1, -1, false, ""},
		"1970-01-01 00:00":                {-1, -1, false, ""},
		" 1970-01-01":                     {-1, -1, false, ""},
		"1970-01-01 00:00:00 UTC":         {-1, -1, false, ""},
		"":                                {-1, -1, false, ""},
	} {
		got, ok := Text{Value: text}.Clock()
		require.Equal(t, want.nanos >= 0, ok, text)
		if !ok {
			continue
		}
		at := new(big.Int).Add(new(big.Int).Mul(big.NewInt(want.seconds), big.NewInt(1e9)), big.NewInt(want.nanos))
		require.Equal(t, Clock{at, want.day, want.zone}, got, text)
		require.Equal(t, want.zone == "Z", got.UTC())
	}
}

func TestParameters(t *testing.T) {
	money := &arrow.Decimal128Type{Precision: 10, Scale: 2}
	fields := []arrow.Field{
		{Type: arrow.PrimitiveTypes.Int8},
		{Type: arrow.PrimitiveTypes.Uint64},
		{Type: arrow.PrimitiveTypes.Float32},
		{Type: arrow.PrimitiveTypes.Float64},
		{Type: money},
		{Type: arrow.BinaryTypes.String},
		{Type: arrow.BinaryTypes.LargeString},
		{Type: arrow.FixedWidthTypes.Boolean},
		{Type: arrow.FixedWidthTypes.Date32},
		{Type: &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}},
		{Type: arrow.Null},
		{Type: arrow.PrimitiveTypes.Float64},
		{Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Type: arrow.FixedWidthTypes.Time64us},
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	defer b.Release()
	b.Field(0).(*array.Int8Builder).Append(-7)
	b.Field(1).(*array.Uint64Builder).Append(math.MaxUint64)
	b.Field(2).(*array.Float32Builder).Append(0.1)
	b.Field(3).(*array.Float64Builder).Append(0.1)
	b.Field(4).(*array.Decimal128Builder).Append(decimal128.FromI64(150))
	b.Field(5).(*array.StringBuilder).Append("a")
	b.Field(6).(*array.LargeStringBuilder).Append("b")
	b.Field(7).(*array.BooleanBuilder).Append(true)
	b.Field(8).(*array.Date32Builder).Append(-1)
	b.Field(9).(*array.TimestampBuilder).Append(5)
	b.Field(10).AppendNull()
	b.Field(11).(*array.Float64Builder).Append(math.NaN())
	b.Field(12).AppendNull()
	b.Field(13).(*array.Time64Builder).Append(5)
	params := b.NewRecordBatch()
	defer params.Release()
	for i, want := range []Value{
		Number{rat("-7"), 20, 0, 0},
		Number{rat("18446744073709551615"), 20, 0, 0},
		Number{new(big.Rat).SetFloat64(float64(float32(0.1))), 0, 0, 32},
		Number{new(big.Rat).SetFloat64(0.1), 0, 0, 64},
		Number{rat("3/2"), 8, 2, 0},
		Text{"a", "VARCHAR"},
		Text{"b", "VARCHAR"},
		Boolean(true),
		Moment{big.NewInt(-86_400_000_000_000), false},
		Moment{big.NewInt(5_000_000), true},
		Null{},
		nil,
		Null{},
		nil, nil,
	} {
		requireSame(t, want, Placeholder(i+1).Parameter(params), fields[min(i, len(fields)-1)].Type.String())
	}
	require.Nil(t, Placeholder(1).Parameter(nil))
}

func TestWholeText(t *testing.T) {
	for text, ok := range map[string]bool{"5": true, "-5": true, "0": true, "05": false, "+5": false, "5.0": false, "": false, "-": false, "123456789012345678901": false, "1e3": false} {
		n, got := WholeText(text)
		require.Equal(t, ok, got, text)
		if ok {
			require.Zero(t, rat(text).Cmp(n.Value))
		}
	}
}
