// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/ingest"
	"github.com/lakeplane/lake/internal/schemadsl"
	"github.com/lakeplane/lake/lake"
)

// everyType are rows of all types that are kept as they are.
func everyType(t testing.TB) arrow.RecordBatch {
	list := arrow.ListOfField(field("item", arrow.PrimitiveTypes.Int32))
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		field("b", arrow.FixedWidthTypes.Boolean), field("i8", arrow.PrimitiveTypes.Int8), field("u16", arrow.PrimitiveTypes.Uint16),
		field("u64", arrow.PrimitiveTypes.Uint64), field("f32", arrow.PrimitiveTypes.Float32), field("f64", arrow.PrimitiveTypes.Float64),
		field("s", arrow.BinaryTypes.String), field("bin", arrow.BinaryTypes.Binary), field("d", arrow.FixedWidthTypes.Date32),
		field("ts", &arrow.TimestampType{Unit: arrow.Microsecond}), field("tz", &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}),
		field("dec", &arrow.Decimal128Type{Precision: 20, Scale: 3}), field("l", list), field("time", arrow.FixedWidthTypes.Time64us),
		field("st", arrow.StructOf(field("x", arrow.PrimitiveTypes.Float64), field("ys", list))),
	}, nil)
	return batch(t, schema, `[
		{"id":1,"b":true,"i8":-8,"u16":65535,"u64":18446744073709551615,"f32":0.5,"f64":-1e300,"s":"größe","bin":"AAH/","d":"2024-02-29",
		 "ts":"1969-12-31 23:59:59.999999","tz":"2024-01-01 00:00:00.001Z","dec":"-12345678901234567.890","l":[1,null,3],"time":"23:59:59.999999","st":{"x":1.5,"ys":[7]}},
		{"id":2},
		{"id":3,"s":"","bin":"AQ==","l":[],"st":{"x":null,"ys":null}}]`)
}

func TestEveryFormatGivesTheSameRows(t *testing.T) {
	rows := everyType(t)
	other := rows.NewSlice(1, 3)
	want := []string{}
	for _, b := range []arrow.RecordBatch{rows, other} {
		var out strings.Builder
		require.NoError(t, array.RecordToJSON(b, &out))
		want = append(want, strings.Split(strings.TrimSpace(out.String()), "\n")...)
	}
	for name, data := range map[string][]byte{
		"a.parquet": asParquet(t, nil, rows, other),
		"a.arrow":   asIPCFile(t, rows, other),
		"a.arrows":  asStream(t, rows, other),
		"noname":    asIPCFile(t, rows, other),
	} {
		t.Run(name, func(t *testing.T) {
			s, got := mustRead(t, put(t, name, data), ingest.Options{})
			require.Equal(t, want, got)
			require.Empty(t, s.Notes())
			require.Equal(t, format(rows.Schema()), format(s.Schema()))
			read, total := s.Progress()
			require.Equal(t, int64(len(data)), total)
			require.Positive(t, read)
			if strings.HasSuffix(name, "parquet") {
				require.Equal(t, int64(5), s.Rows())
			}
		})
	}
}

// format is a schema in the notation of the command line.
func format(s *arrow.Schema) (columns []string) {
	for _, f := range s.Fields() {
		text, _ := schemadsl.FormatColumn(f)
		columns = append(columns, text)
	}
	return columns
}

func TestTypesAreWidenedAsDocumented(t *testing.T) {
	build := func(dt arrow.DataType, add func(array.Builder)) arrow.Array {
		b := array.NewBuilder(mem, dt)
		defer b.Release()
		add(b)
		b.AppendNull()
		return b.NewArray()
	}
	text := func(s ...string) func(array.Builder) {
		return func(b array.Builder) {
			for _, v := range s {
				if err := b.AppendValueFromString(v); err != nil {
					panic(err)
				}
			}
		}
	}
	utf8Dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	for name, test := range map[string]struct {
		arr  arrow.Array
		want string
		rows string
	}{
		"dictionary":           {build(utf8Dict, text("x", "y", "x")), "c:utf8?", `"x" "y" "x" null`},
		"dictionary of dates":  {build(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.FixedWidthTypes.Date32}, text("2024-01-02")), "c:date?", `"2024-01-02" null`},
		"float16":              {build(arrow.FixedWidthTypes.Float16, func(b array.Builder) { b.(*array.Float16Builder).Append(float16.New(0.5)) }), "c:f32?", "0.5 null"},
		"large utf8":           {build(arrow.BinaryTypes.LargeString, text("a", "")), "c:utf8?", `"a" "" null`},
		"string view":          {build(arrow.BinaryTypes.StringView, text("a", "a long string that is not inline")), "c:utf8?", `"a" "a long string that is not inline" null`},
		"large binary":         {build(arrow.BinaryTypes.LargeBinary, func(b array.Builder) { b.(*array.BinaryBuilder).Append([]byte{1}) }), "c:binary?", `"AQ==" null`},
		"fixed binary":         {build(&arrow.FixedSizeBinaryType{ByteWidth: 2}, func(b array.Builder) { b.(*array.FixedSizeBinaryBuilder).Append([]byte{1, 2}) }), "c:binary?", `"AQI=" null`},
		"date64":               {build(arrow.FixedWidthTypes.Date64, text("2024-02-29")), "c:date?", `"2024-02-29" null`},
		"decimal32":            {build(&arrow.Decimal32Type{Precision: 5, Scale: 2}, text("-1.25")), "c:decimal(5,2)?", `"-1.25" null`},
		"decimal256":           {build(&arrow.Decimal256Type{Precision: 38, Scale: 1}, text("1234567890123456789012345678901234567.8")), "c:decimal(38,1)?", `"1234567890123456789012345678901234567.8" null`},
		"null":                 {array.NewNull(2), "c:utf8?", "null null"},
		"zone offset":          {build(&arrow.TimestampType{Unit: arrow.Second, TimeZone: "+02:00"}, func(b array.Builder) { b.(*array.TimestampBuilder).Append(0) }), "c:ts[s,UTC]?", `"1970-01-01T00:00:00Z" null`},
		"uuid":                 {build(extensions.NewUUIDType(), text("00000000-0000-0000-0000-000000000001")), "c:binary?", `"AAAAAAAAAAAAAAAAAAAAAQ==" null`},
		"large list":           {fromJSON(t, arrow.LargeListOf(arrow.BinaryTypes.LargeString), `[["a"],[],null]`), "c:list<utf8?>?", `["a"] [] null`},
		"fixed list of text":   {fromJSON(t, arrow.FixedSizeListOf(2, arrow.BinaryTypes.String), `[["a","b"],["c",null],null]`), "c:list<utf8?>?", `["a","b"] ["c",null] null`},
		"fixed list of number": {fromJSON(t, arrow.FixedSizeListOf(2, arrow.FixedWidthTypes.Float16), `[[1,2],null]`), "c:fsl<f32?,2>?", `[1,2] null`},
		"deep": {
			fromJSON(t, arrow.StructOf(field("a", arrow.LargeListOf(arrow.StructOf(field("b", utf8Dict))))), `[{"a":[{"b":"x"},{"b":null},null]},{"a":null},null]`),
			"c:struct<a:list<struct<b:utf8?>?>?>?", `{"a":[{"b":"x"},{"b":null},null]} {"a":null} null`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			schema := arrow.NewSchema([]arrow.Field{field("c", test.arr.DataType())}, nil)
			whole := array.NewRecordBatch(schema, []arrow.Array{test.arr}, int64(test.arr.Len()))
			s, got := mustRead(t, put(t, "a.arrows", asStream(t, whole, whole.NewSlice(1, whole.NumRows()))), ingest.Options{})
			require.Equal(t, test.want, format(s.Schema())[0])
			require.Len(t, s.Notes(), 1)
			require.Contains(t, s.Notes()[0], `column "c" of type`)
			want := strings.Fields(test.rows)
			if name == "string view" {
				want = []string{`"a"`, `"a long string that is not inline"`, "null"}
			}
			for i, v := range append(want, want[1:]...) {
				want := fmt.Sprintf(`{"c":%s}`, v)
				require.JSONEq(t, want, got[i])
			}
		})
	}
}

func fromJSON(t testing.TB, dt arrow.DataType, text string) arrow.Array {
	t.Helper()
	arr, _, err := array.FromJSON(mem, dt, strings.NewReader(text))
	require.NoError(t, err)
	return arr
}

func TestWhatATableCannotTakeIsRefusedByName(t *testing.T) {
	for want, dt := range map[string]arrow.DataType{
		`column "c": type map<utf8, int32, items_nullable> is not supported: a table has no maps`: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32),
		`column "c": type duration[ms] is not supported`:                                          arrow.FixedWidthTypes.Duration_ms,
		`column "c": type month_interval is not supported`:                                        arrow.FixedWidthTypes.MonthInterval,
		`column "c": type decimal256(40, 2) is not supported: decimals have 1 to 38 digits`:       &arrow.Decimal256Type{Precision: 40, Scale: 2},
		`column "c": field x: type duration[s] is not supported`:                                  arrow.StructOf(field("x", arrow.FixedWidthTypes.Duration_s)),
		`column "c": a struct without fields is not supported`:                                    arrow.StructOf(),
		`column "c": struct field 2 is named "X": names must not be empty nor differ only`:        arrow.StructOf(field("x", arrow.PrimitiveTypes.Int8), field("X", arrow.PrimitiveTypes.Int8)),
	} {
		schema := arrow.NewSchema([]arrow.Field{field("ok", arrow.PrimitiveTypes.Int8), field("c", dt)}, nil)
		b := array.NewRecordBatch(schema, []arrow.Array{array.MakeArrayOfNull(mem, arrow.PrimitiveTypes.Int8, 1), array.MakeArrayOfNull(mem, dt, 1)}, 1)
		path := put(t, "odd.arrows", asStream(t, b))
		err := failure(t, path, ingest.Options{})
		require.True(t, lake.Is(err, lake.Invalid), "%v", err)
		require.ErrorContains(t, err, "file odd.arrows: "+want)
		require.ErrorContains(t, err, "--columns")

		_, rows := mustRead(t, path, ingest.Options{Columns: []string{"ok"}})
		require.Equal(t, []string{`{"ok":null}`}, rows)
	}
}

func TestNamesAreMadeUsable(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		field("a", arrow.PrimitiveTypes.Int8), field("A", arrow.PrimitiveTypes.Int8), field("a", arrow.PrimitiveTypes.Int8),
		field("", arrow.PrimitiveTypes.Int8), field("x.y", arrow.PrimitiveTypes.Int8), field("a_1", arrow.PrimitiveTypes.Int8),
	}, nil)
	columns := make([]arrow.Array, schema.NumFields())
	for i := range columns {
		columns[i] = fromJSON(t, arrow.PrimitiveTypes.Int8, fmt.Sprintf("[%d]", i))
	}
	s, _ := mustRead(t, put(t, "a.arrows", asStream(t, array.NewRecordBatch(schema, columns, 1))), ingest.Options{})
	require.Equal(t, []string{"a:i8?", "A_1:i8?", "a_2:i8?", "column3:i8?", "x_y:i8?", "a_1_1:i8?"}, format(s.Schema()))
	require.Len(t, s.Notes(), 5)
	require.Equal(t, `column 2, "A", is named "A_1"`, s.Notes()[0])
}

func TestColumnsAreChosenInOrder(t *testing.T) {
	path := put(t, "a.parquet", asParquet(t, nil, everyType(t)))
	_, rows := mustRead(t, path, ingest.Options{Columns: []string{"s", "id"}})
	require.Equal(t, `{"id":1,"s":"größe"}`, rows[0])
	for want, columns := range map[string][]string{
		`there is no column "zz": the columns are "id", "b"`: {"id", "zz"},
		`column "id" is asked for twice`:                     {"id", "id"},
	} {
		require.ErrorContains(t, failure(t, path, ingest.Options{Columns: columns}), want)
	}
}

func TestRowsFitATableThatExists(t *testing.T) {
	target := parse(t, "extra:utf8?", "i:i32", "f:f64?", "d:decimal(10,2)?", "ts:ts[ns]?", "s:struct<x:i64?>?")
	schema := arrow.NewSchema([]arrow.Field{
		field("s", arrow.StructOf(field("x", arrow.PrimitiveTypes.Int8))), field("ts", &arrow.TimestampType{Unit: arrow.Second}),
		field("i", arrow.PrimitiveTypes.Uint64), field("f", arrow.PrimitiveTypes.Int16), field("d", &arrow.Decimal128Type{Precision: 5, Scale: 1}),
	}, nil)
	b := batch(t, schema, `[{"i":7,"f":3,"d":"1.5","ts":"2024-01-01 00:00:01","s":{"x":1}},{"i":2147483647}]`)
	s, rows := mustRead(t, put(t, "a.parquet", asStream(t, b)), ingest.Options{Target: target})
	require.True(t, s.Schema().Equal(target))
	require.JSONEq(t, `{"extra":null,"i":7,"f":3,"d":"1.5","ts":"2024-01-01T00:00:01","s":{"x":1}}`, rows[0])
	require.JSONEq(t, `{"extra":null,"i":2147483647,"f":null,"d":null,"ts":null,"s":null}`, rows[1])
	require.Contains(t, s.Notes(), `column "extra" of the table is not in the file and stays null`)
}

func TestNothingIsLostInATableThatExists(t *testing.T) {
	i64 := arrow.PrimitiveTypes.Int64
	for name, test := range map[string]struct {
		dt     arrow.DataType
		value  string
		target string
		want   string
	}{
		"out of range":        {i64, "300", "c:u8?", "value 300 of type int64 does not fit uint8"},
		"negative":            {i64, "-1", "c:u64?", "value -1 of type int64 does not fit uint64"},
		"imprecise":           {i64, "9007199254740993", "c:f64?", "does not fit float64"},
		"digits":              {i64, "100", "c:decimal(3,1)?", "does not fit decimal(3, 1)"},
		"fraction":            {&arrow.Decimal128Type{Precision: 5, Scale: 2}, `"1.25"`, "c:decimal(5,1)?", "does not fit decimal(5, 1)"},
		"finer time":          {&arrow.TimestampType{Unit: arrow.Millisecond}, `"2024-01-01 00:00:00.001"`, "c:ts[s]?", "does not fit timestamp[s]"},
		"beyond nanoseconds":  {&arrow.TimestampType{Unit: arrow.Second}, `"3000-01-01 00:00:00"`, "c:ts[ns]?", "does not fit timestamp[ns]"},
		"moment to wall time": {&arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"}, `"2000-01-01 00:00:00Z"`, "c:ts[s]?", "timestamp[s, tz=UTC] cannot become timestamp[s]"},
		"text to number":      {arrow.BinaryTypes.String, `"7"`, "c:i64?", "utf8 cannot become int64"},
		"double to float":     {arrow.PrimitiveTypes.Float64, "0.1", "c:f32?", "float64 cannot become float32"},
		"null":                {i64, "null", "c:i64", "it holds 1 nulls and the table allows none"},
		"null inside":         {arrow.ListOf(i64), "[null]", "c:list<i64>?", "rows 1 to 1: column c.item holds 1 nulls and is not nullable"},
		"list to struct":      {arrow.ListOf(i64), "[1]", "c:struct<x:i64>?", "cannot become struct"},
		"other field":         {arrow.StructOf(field("y", i64)), `{"y":1}`, "c:struct<x:i64?>?", `struct field 1 is named "y", want "x"`},
		"stranger":            {i64, "1", "other:i64?", `column "c" is not in the table, which has "other"`},
		"missing":             {i64, "1", "c:i64?,other:i64", `column "other" of the table is missing and may not be null`},
	} {
		t.Run(name, func(t *testing.T) {
			b := batch(t, arrow.NewSchema([]arrow.Field{field("c", test.dt)}, nil), `[{"c":`+test.value+`}]`)
			columns := strings.Split(test.target, ",other")
			if len(columns) == 2 {
				columns[1] = "other" + columns[1]
			}
			if strings.Contains(test.target, "decimal") {
				columns = []string{test.target}
			}
			err := failure(t, put(t, "a.arrow", asIPCFile(t, b)), ingest.Options{Target: parse(t, columns...)})
			require.True(t, lake.Is(err, lake.Invalid), "%v", err)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func parse(t testing.TB, columns ...string) *arrow.Schema {
	t.Helper()
	s, err := schemadsl.ParseSchema(columns)
	require.NoError(t, err)
	return s
}

func TestBatchesAreBounded(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{field("i", arrow.PrimitiveTypes.Int64)}, nil)
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for i := range 25_000 {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
	}
	big := b.NewRecordBatch()
	for name, data := range map[string][]byte{
		"a.arrow":   asIPCFile(t, big, big.NewSlice(0, 0), big.NewSlice(0, 3)),
		"a.parquet": asParquet(t, parquet.NewWriterProperties(parquet.WithMaxRowGroupLength(7000)), big, big.NewSlice(0, 3)),
	} {
		s, err := ingest.Open(t.Context(), put(t, name, data), ingest.Options{})
		require.NoError(t, err)
		rows, sizes, err := readAll(t, s)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.Len(t, rows, 25_003)
		require.Equal(t, `{"i":24999}`, rows[24_999])
		for _, n := range sizes {
			require.LessOrEqual(t, n, int64(lake.MaxAppendRows))
			require.Positive(t, n)
		}
	}
}

func TestFilesThatAreNotWhatTheySay(t *testing.T) {
	whole := asParquet(t, nil, everyType(t))
	ipcWhole, stream := asIPCFile(t, everyType(t)), asStream(t, everyType(t))
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"text.parquet":    {[]byte("a,b\n1,2\n"), `not a Parquet: it starts with "a,b\n1,2\n"`},
		"empty.parquet":   {nil, "not a Parquet: it starts with nothing, it is empty"},
		"magic.parquet":   {[]byte("PAR1"), "not a whole Parquet file"},
		"cut.parquet":     {whole[:len(whole)-100], "not a whole Parquet file, the footer is missing or damaged"},
		"head.parquet":    {append([]byte("PAR1"), whole[len(whole)-2000:]...), "file head.parquet: "},
		"secret.parquet":  {[]byte("PAREabcdPARE"), "encrypted footer"},
		"old.feather":     {[]byte("FEA1abcd"), "Feather version 1"},
		"cut.arrow":       {ipcWhole[:len(ipcWhole)-50], "the Arrow IPC file is damaged or cut off"},
		"cut.arrows":      {stream[:len(stream)-200], "file cut.arrows: "},
		"what.bin":        {[]byte("\x00\x01"), `neither its first bytes ("\x00\x01") nor its name say what it is`},
		"packed.csv":      {[]byte("\x1f\x8b\x08\x00"), "it is compressed by gzip: name it .csv.gz"},
		"empty.csv":       {nil, "it is empty"},
		"notgzip.csv.gz":  {[]byte("a,b\n"), "not a gzip file"},
		"utf16.csv":       {[]byte("\xff\xfea\x00"), "UTF-16"},
		"latin1.csv":      {[]byte("a\ncaf\xe9\n"), "line 2: field 1 is not UTF-8 text"},
		"ragged.csv":      {[]byte("a,b\n1,2\n3\n"), "line 3: 1 fields where the first record has 2"},
		"quote.csv":       {[]byte("a,b\n\"x,2\n"), `line 2, byte 6: extraneous or missing " in quoted-field`},
		"barequote.csv":   {[]byte("a,b\nx\"y,2\n"), `line 2, byte 2: bare " in non-quoted-field`},
		"invalid.arrows":  {asStream(t, badText()), `column "s": rows 1 to 1: value 1 is not UTF-8 text`},
		"invalid.parquet": {asParquet(t, nil, badText()), `column "s": rows 1 to 1: value 1 is not UTF-8 text`},
	} {
		t.Run(name, func(t *testing.T) {
			err := failure(t, put(t, name, test.data), ingest.Options{})
			require.True(t, lake.Is(err, lake.Invalid), "%v", err)
			require.ErrorContains(t, err, "file "+name)
			require.ErrorContains(t, err, test.want)
		})
	}
	err := failure(t, filepath.Join(t.TempDir(), "none.csv"), ingest.Options{})
	require.True(t, lake.Is(err, lake.NotFound), "%v", err)
	require.ErrorContains(t, failure(t, t.TempDir(), ingest.Options{}), "not a regular file")
}

func badText() arrow.RecordBatch {
	b := array.NewStringBuilder(mem)
	defer b.Release()
	b.Append("caf\xe9")
	return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{field("s", arrow.BinaryTypes.String)}, nil), []arrow.Array{b.NewArray()}, 1)
}

// Every cut and every flipped byte of a small Parquet file either reads or
// fails with one error; nothing panics or hangs.
func TestDamagedParquetNeverPanics(t *testing.T) {
	whole := asParquet(t, nil, everyType(t))
	step := 29
	if testing.Short() {
		step = 101
	}
	for i := 0; i < len(whole); i += step {
		_ = failure(t, put(t, "cut.parquet", whole[:i]), ingest.Options{})
		flipped := append([]byte(nil), whole...)
		flipped[i] ^= 0xff
		if err := failure(t, put(t, "flip.parquet", flipped), ingest.Options{}); err != nil {
			require.True(t, lake.Is(err, lake.Invalid), "%v", err)
		}
	}
}

func FuzzIPC(f *testing.F) {
	f.Add(asStream(f, everyType(f)))
	f.Add(asIPCFile(f, everyType(f)))
	f.Fuzz(func(t *testing.T, data []byte) { _ = failure(t, put(t, "a.arrows", data), ingest.Options{}) })
}
