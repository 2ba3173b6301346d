// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package stats_test

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lake/predicate"
	"github.com/lakeplane/lake/lance/stats"
)

func TestCollect(t *testing.T) {
	long, longer := strings.Repeat("m", 64), strings.Repeat("m", 65)
	ff := strings.Repeat("\xff", 70)
	cases := []struct {
		name     string
		typ      arrow.DataType
		rows     string
		nulls    uint64
		min, max any
	}{
		{"bool", arrow.FixedWidthTypes.Boolean, `[{"c":true},{"c":null},{"c":true}]`, 1, int64(1), int64(1)},
		{"int8", arrow.PrimitiveTypes.Int8, `[{"c":3},{"c":-128}]`, 0, int64(-128), int64(3)},
		{"int64", arrow.PrimitiveTypes.Int64, `[{"c":null},{"c":5},{"c":-7}]`, 1, int64(-7), int64(5)},
		{"uint32", arrow.PrimitiveTypes.Uint32, `[{"c":4294967295},{"c":1}]`, 0, int64(1), int64(math.MaxUint32)},
		{"uint64", arrow.PrimitiveTypes.Uint64, `[{"c":18446744073709551615},{"c":1}]`, 0, uint64(1), uint64(math.MaxUint64)},
		{"float16", arrow.FixedWidthTypes.Float16, `[{"c":1.5},{"c":-2}]`, 0, -2.0, 1.5},
		{"float32", arrow.PrimitiveTypes.Float32, `[{"c":1.5},{"c":null}]`, 1, 1.5, 1.5},
		{"date", arrow.FixedWidthTypes.Date32, `[{"c":"1970-01-03"},{"c":"1969-12-31"}]`, 0, int64(-1), int64(2)},
		{"timestamp", &arrow.TimestampType{Unit: arrow.Millisecond}, `[{"c":"1970-01-01 00:00:01"},{"c":"1970-01-01 00:00:00.250"}]`, 0, int64(250), int64(1000)},
		{"decimal", &arrow.Decimal128Type{Precision: 10, Scale: 2}, `[{"c":"-1.50"},{"c":"7"}]`, 0, big.NewInt(-150), big.NewInt(700)},
		{"text", arrow.BinaryTypes.String, `[{"c":"b"},{"c":""},{"c":"abc"}]`, 0, "", "b"},
		{"large text", arrow.BinaryTypes.LargeString, `[{"c":"b"},{"c":"a"}]`, 0, "a", "b"},
		{"bytes", arrow.BinaryTypes.Binary, `[{"c":"Yg=="},{"c":"YQ=="},{"c":"YWI="}]`, 0, "a", "b"},
		{"fixed bytes", &arrow.FixedSizeBinaryType{ByteWidth: 1}, `[{"c":"Yg=="},{"c":null}]`, 1, "b", "b"},
		{"long text", arrow.BinaryTypes.String, `[{"c":"` + longer + `"}]`, 0, long, long[:63] + "n"},
		{"long text beside its beginning", arrow.BinaryTypes.String, `[{"c":"` + longer + `"},{"c":"` + long + `"}]`, 0, long, long[:63] + "n"},
		{"text of the longest kept", arrow.BinaryTypes.String, `[{"c":"` + long + `"}]`, 0, long, long},
		{"only nulls", arrow.PrimitiveTypes.Int64, `[{"c":null},{"c":null}]`, 2, nil, nil},
		{"list", arrow.ListOf(arrow.PrimitiveTypes.Int8), `[{"c":[1]},{"c":null}]`, 1, nil, nil},
		{"null type", arrow.Null, `[{"c":null}]`, 1, nil, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: c.typ, Nullable: true}}, nil)
			batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(c.rows))
			require.NoError(t, err)
			defer batch.Release()
			requireStats(t, schema, c.nulls, c.min, c.max, batch)
			parts := make([]arrow.RecordBatch, batch.NumRows()) // slices with offsets
			for i := range parts {
				parts[i] = batch.NewSlice(int64(i), int64(i)+1)
				defer parts[i].Release()
			}
			requireStats(t, schema, c.nulls, c.min, c.max, parts...)
		})
	}
	t.Run("no text is above", func(t *testing.T) {
		b := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
		defer b.Release()
		b.Append([]byte(ff))
		column := b.NewArray()
		defer column.Release()
		schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.BinaryTypes.Binary}}, nil)
		batch := array.NewRecordBatch(schema, []arrow.Array{column}, 1)
		defer batch.Release()
		requireStats(t, schema, 0, ff[:64], nil, batch)
	})
}

// requireStats collects the batches and looks at what is read back of it.
func requireStats(t *testing.T, schema *arrow.Schema, nulls uint64, low, high any, batches ...arrow.RecordBatch) {
	t.Helper()
	c := stats.NewCollector(schema, []int32{7})
	rows := uint64(0)
	for _, b := range batches {
		c.Add(b)
		rows += uint64(b.NumRows())
	}
	back, err := stats.Decode(stats.Encode(c.File(99)))
	require.NoError(t, err)
	want := stats.File{Rows: rows, Size: 99, Columns: []stats.Column{{Field: 7, Stats: predicate.Stats{Rows: rows, Nulls: nulls, Min: low, Max: high}}}}
	require.Equal(t, want, back)
}

func TestCollectNumbersThatAreNone(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	cases := []struct {
		name      string
		values    []float64
		low, high float64
	}{
		{"NaN is the largest", []float64{1, nan, 3}, 1, nan},
		{"NaN first", []float64{nan, 3, 1}, 1, nan},
		{"only NaN", []float64{nan, nan}, nan, nan},
		{"infinities", []float64{inf, -inf, 0}, -inf, inf},
		{"negative zero", []float64{math.Copysign(0, -1), 0}, 0, 0},
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: arrow.PrimitiveTypes.Float64}}, nil)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := array.NewFloat64Builder(memory.DefaultAllocator)
			defer b.Release()
			b.AppendValues(c.values, nil)
			column := b.NewArray()
			defer column.Release()
			batch := array.NewRecordBatch(schema, []arrow.Array{column}, int64(len(c.values)))
			defer batch.Release()
			col := stats.NewCollector(schema, []int32{0})
			col.Add(batch)
			back, err := stats.Decode(stats.Encode(col.File(1)))
			require.NoError(t, err)
			s := back.Columns[0].Stats
			for _, p := range []struct {
				want float64
				got  any
			}{{c.low, s.Min}, {c.high, s.Max}} {
				got := p.got.(float64)
				require.True(t, got == p.want || math.IsNaN(got) && math.IsNaN(p.want), "%v, want %v", got, p.want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := stats.Encode(stats.File{Rows: 3, Size: 9, Columns: []stats.Column{
		{Field: 1, Stats: predicate.Stats{Rows: 3, Nulls: 1, Min: "a", Max: "b"}},
		{Field: 2, Stats: predicate.Stats{Rows: 3, Min: big.NewInt(-4), Max: big.NewInt(4)}},
	}})
	_, err := stats.Decode(good)
	require.NoError(t, err)
	for n := range good { // truncated anywhere
		_, err := stats.Decode(good[:n])
		require.Error(t, err)
	}
	for i := range good { // any byte changed
		bad := append([]byte(nil), good...)
		bad[i] ^= 0x40
		_, err := stats.Decode(bad)
		require.Error(t, err, "byte %d", i)
	}
	later := append([]byte(nil), good...)
	binary.LittleEndian.PutUint16(later[4:], 2)
	_, err = stats.Decode(later)
	require.Equal(t, lake.Unsupported, lake.KindOf(err))
	_, err = stats.Decode(resum(append([]byte(nil), good[:len(good)-6]...)))
	require.Equal(t, lake.Corrupt, lake.KindOf(err), "too short for its columns")
}

// resum completes bytes with a checksum that fits.
func resum(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// FuzzDecode: no bytes, with a checksum that fits, make it panic or take more
// memory than they are worth.
func FuzzDecode(f *testing.F) {
	f.Add(stats.Encode(stats.File{Rows: 3, Columns: []stats.Column{{Field: 1, Stats: predicate.Stats{Nulls: 1, Min: "a", Max: "b"}}}}))
	f.Add(stats.Encode(stats.File{Rows: 3, Columns: []stats.Column{{Field: 1, Stats: predicate.Stats{Min: 1.5}}, {Field: 9}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) >= 4 {
			b = resum(b[:len(b)-4])
		}
		got, err := stats.Decode(b)
		if err != nil {
			return
		}
		for _, c := range got.Columns {
			require.LessOrEqual(t, c.Stats.Nulls, got.Rows)
		}
		_, err = stats.Decode(stats.Encode(got))
		require.NoError(t, err)
	})
}
