// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"

	"github.com/lakeplane/lake/services/access"
)

// sqlType is one row of GetXdbcTypeInfo. Zero values of optional columns are
// sent as null.
type sqlType struct {
	name           string
	code           pb.XdbcDataType
	size           int32 // digits, characters or bytes
	prefix, suffix string
	params         []string
	text           bool // case sensitive, searchable by LIKE
	unsigned       bool
	number         bool // unsigned, radix and scales apply
	maxScale       int32
	subcode        pb.XdbcDatetimeSubcode
	radix          int32
}

const unlimited = math.MaxInt32

// sqlTypes are the types of columns and results, ordered by code as the
// standard wants it.
var sqlTypes = []sqlType{
	{name: "BOOLEAN", code: pb.XdbcDataType_XDBC_BIT, size: 1},
	{name: "TINYINT", code: pb.XdbcDataType_XDBC_TINYINT, size: 3, number: true, radix: 10},
	{name: "UTINYINT", code: pb.XdbcDataType_XDBC_TINYINT, size: 3, number: true, unsigned: true, radix: 10},
	{name: "BIGINT", code: pb.XdbcDataType_XDBC_BIGINT, size: 19, number: true, radix: 10},
	{name: "UBIGINT", code: pb.XdbcDataType_XDBC_BIGINT, size: 20, number: true, unsigned: true, radix: 10},
	{name: "BLOB", code: pb.XdbcDataType_XDBC_VARBINARY, size: unlimited, prefix: "'", suffix: "'::BLOB"},
	{name: "LIST", code: pb.XdbcDataType_XDBC_UNKNOWN_TYPE, prefix: "[", suffix: "]"},
	{name: "ARRAY", code: pb.XdbcDataType_XDBC_UNKNOWN_TYPE, prefix: "[", suffix: "]", params: []string{"length"}},
	{name: "STRUCT", code: pb.XdbcDataType_XDBC_UNKNOWN_TYPE, prefix: "{", suffix: "}"},
	{name: "DECIMAL", code: pb.XdbcDataType_XDBC_DECIMAL, size: 38, number: true, params: []string{"precision", "scale"}, maxScale: 38, radix: 10},
	{name: "INTEGER", code: pb.XdbcDataType_XDBC_INTEGER, size: 10, number: true, radix: 10},
	{name: "UINTEGER", code: pb.XdbcDataType_XDBC_INTEGER, size: 10, number: true, unsigned: true, radix: 10},
	{name: "SMALLINT", code: pb.XdbcDataType_XDBC_SMALLINT, size: 5, number: true, radix: 10},
	{name: "USMALLINT", code: pb.XdbcDataType_XDBC_SMALLINT, size: 5, number: true, unsigned: true, radix: 10},
	{name: "FLOAT", code: pb.XdbcDataType_XDBC_REAL, size: 24, number: true, radix: 2},
	{name: "DOUBLE", code: pb.XdbcDataType_XDBC_DOUBLE, size: 53, number: true, radix: 2},
	{name: "VARCHAR", code: pb.XdbcDataType_XDBC_VARCHAR, size: unlimited, prefix: "'", suffix: "'", text: true},
	{name: "DATE", code: pb.XdbcDataType_XDBC_DATE, size: 10, prefix: "DATE '", suffix: "'", subcode: pb.XdbcDatetimeSubcode_XDBC_SUBCODE_DATE},
	{name: "TIME", code: pb.XdbcDataType_XDBC_TIME, size: 15, prefix: "TIME '", suffix: "'", subcode: pb.XdbcDatetimeSubcode_XDBC_SUBCODE_TIME},
	{name: "TIMESTAMP", code: pb.XdbcDataType_XDBC_TIMESTAMP, size: 26, prefix: "TIMESTAMP '", suffix: "'", subcode: pb.XdbcDatetimeSubcode_XDBC_SUBCODE_TIMESTAMP},
	{name: "TIMESTAMP_S", code: pb.XdbcDataType_XDBC_TIMESTAMP, size: 19, prefix: "TIMESTAMP_S '", suffix: "'", subcode: pb.XdbcDatetimeSubcode_XDBC_SUBCODE_TIMESTAMP},
	{name: "TIMESTAMP_MS", code: pb.XdbcDataType_XDBC_TIMESTAMP, size: 23, prefix: "TIMESTAMP_MS '", suffix: "'", subcode: pb.XdbcDatetimeSubcode_XDBC_SUBCODE_TIMESTAMP},
	{name: "TIMESTAMP_NS", code: pb.XdbcDataType_XDBC_TIMESTAMP, size: 29, prefix: "TIMESTAMP_NS '", suffix: "'", subcode: pb.XdbcDatetimeSubcode_XDBC_SUBCODE_TIMESTAMP},
	{name: "TIMESTAMP WITH TIME ZONE", code: pb.XdbcDataType_XDBC_TIMESTAMP, size: 32, prefix: "TIMESTAMPTZ '", suffix: "'", subcode: pb.XdbcDatetimeSubcode_XDBC_SUBCODE_TIMESTAMP_WITH_TIMEZONE},
}

func listTypeInfo(cmd *pb.CommandGetXdbcTypeInfo) func(context.Context, access.Principal, func(arrow.RecordBatch) error) error {
	return func(_ context.Context, _ access.Principal, emit func(arrow.RecordBatch) error) error {
		b := newRowBuilder(schema_ref.XdbcTypeInfo, emit)
		defer b.Release()
		for _, t := range sqlTypes {
			if cmd.DataType != nil && *cmd.DataType != int32(t.code) {
				continue
			}
			t.appendTo(b)
			if err := b.next(); err != nil {
				return err
			}
		}
		return b.flush()
	}
}

// appendTo adds the row, column by column in the order of the schema.
func (t sqlType) appendTo(b *rowBuilder) {
	b.text(0, t.name)
	b.number(1, int32(t.code), true)
	b.number(2, t.size, t.size > 0)
	b.optional(3, t.prefix)
	b.optional(4, t.suffix)
	params := b.Field(5).(*array.ListBuilder)
	params.Append(len(t.params) > 0)
	for _, p := range t.params {
		params.ValueBuilder().(*array.StringBuilder).Append(p)
	}
	b.number(6, int32(pb.Nullable_NULLABILITY_NULLABLE), true)
	b.flag(7, t.text, true)
	searchable := pb.Searchable_SEARCHABLE_BASIC
	if t.text {
		searchable = pb.Searchable_SEARCHABLE_FULL
	}
	b.number(8, int32(searchable), true)
	b.flag(9, t.unsigned, t.number)
	b.flag(10, false, true)
	b.flag(11, false, t.number)
	b.text(12, t.name)
	b.number(13, 0, t.number)
	b.number(14, t.maxScale, t.number)
	sqlCode := t.code
	if t.subcode != 0 {
		sqlCode = pb.XdbcDataType_XDBC_DATETIME
	}
	b.number(15, int32(sqlCode), true)
	b.number(16, int32(t.subcode), t.subcode != 0)
	b.number(17, t.radix, t.radix != 0)
	b.number(18, 0, false)
}

func (b *rowBuilder) number(column int, v int32, valid bool) {
	if valid {
		b.Field(column).(*array.Int32Builder).Append(v)
	} else {
		b.Field(column).AppendNull()
	}
}

func (b *rowBuilder) flag(column int, v, valid bool) {
	if valid {
		b.Field(column).(*array.BooleanBuilder).Append(v)
	} else {
		b.Field(column).AppendNull()
	}
}

func (b *rowBuilder) optional(column int, s string) {
	if s != "" {
		b.text(column, s)
	} else {
		b.Field(column).AppendNull()
	}
}
