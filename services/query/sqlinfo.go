// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/query/ticket"
)

// absent is the answer to a code whose value is null: a text without a value.
type absent struct{}

// bits makes a bitmask of enumeration values.
func bits[E ~int32](values ...E) int32 {
	var mask int32
	for _, v := range values {
		mask |= 1 << v
	}
	return mask
}

// sqlInfo answers every code of the Flight SQL standard. The value's Go type
// decides the member of the answer's union: string, bool, int64, int32,
// []string, map[int32][]int32 or absent.
func (s *Server) sqlInfo() map[pb.SqlInfo]any {
	info := map[pb.SqlInfo]any{
		pb.SqlInfo_FLIGHT_SQL_SERVER_NAME:                          "Lake",
		pb.SqlInfo_FLIGHT_SQL_SERVER_VERSION:                       s.opts.Version,
		pb.SqlInfo_FLIGHT_SQL_SERVER_ARROW_VERSION:                 arrow.PkgVersion,
		pb.SqlInfo_FLIGHT_SQL_SERVER_READ_ONLY:                     false,
		pb.SqlInfo_FLIGHT_SQL_SERVER_SQL:                           true,
		pb.SqlInfo_FLIGHT_SQL_SERVER_SUBSTRAIT:                     false,
		pb.SqlInfo_FLIGHT_SQL_SERVER_SUBSTRAIT_MIN_VERSION:         absent{},
		pb.SqlInfo_FLIGHT_SQL_SERVER_SUBSTRAIT_MAX_VERSION:         absent{},
		pb.SqlInfo_FLIGHT_SQL_SERVER_TRANSACTION:                   int32(pb.SqlSupportedTransaction_SQL_SUPPORTED_TRANSACTION_NONE),
		pb.SqlInfo_FLIGHT_SQL_SERVER_CANCEL:                        true,
		pb.SqlInfo_FLIGHT_SQL_SERVER_BULK_INGESTION:                true,
		pb.SqlInfo_FLIGHT_SQL_SERVER_INGEST_TRANSACTIONS_SUPPORTED: false,
		pb.SqlInfo_FLIGHT_SQL_SERVER_STATEMENT_TIMEOUT:             int32(PreparedTTL.Milliseconds()),
		pb.SqlInfo_FLIGHT_SQL_SERVER_TRANSACTION_TIMEOUT:           int32(0),
	}
	maps.Copy(info, sqlSyntax)
	maps.Copy(info, sqlLimits)
	maps.Copy(info, sqlTransactions)
	return info
}

// sqlSyntax describes the dialect, which is that of DuckDB's SELECT.
var sqlSyntax = map[pb.SqlInfo]any{
	pb.SqlInfo_SQL_DDL_CATALOG:               false,
	pb.SqlInfo_SQL_DDL_SCHEMA:                false,
	pb.SqlInfo_SQL_DDL_TABLE:                 false,
	pb.SqlInfo_SQL_IDENTIFIER_CASE:           int32(pb.SqlSupportedCaseSensitivity_SQL_CASE_SENSITIVITY_CASE_INSENSITIVE),
	pb.SqlInfo_SQL_IDENTIFIER_QUOTE_CHAR:     `"`,
	pb.SqlInfo_SQL_QUOTED_IDENTIFIER_CASE:    int32(pb.SqlSupportedCaseSensitivity_SQL_CASE_SENSITIVITY_CASE_INSENSITIVE),
	pb.SqlInfo_SQL_ALL_TABLES_ARE_SELECTABLE: true,
	pb.SqlInfo_SQL_NULL_ORDERING:             int32(pb.SqlNullOrdering_SQL_NULLS_SORTED_AT_END),
	pb.SqlInfo_SQL_KEYWORDS:                  []string{"ASOF", "EXCLUDE", "FILTER", "PIVOT", "QUALIFY", "REPLACE", "SAMPLE", "UNPIVOT"},
	pb.SqlInfo_SQL_NUMERIC_FUNCTIONS:         []string{"ABS", "ACOS", "ASIN", "ATAN", "ATAN2", "CEILING", "COS", "COT", "DEGREES", "EXP", "FLOOR", "LOG", "LOG10", "MOD", "PI", "POWER", "RADIANS", "ROUND", "SIGN", "SIN", "SQRT", "TAN", "TRUNC"},
	pb.SqlInfo_SQL_STRING_FUNCTIONS:          []string{"ASCII", "CHR", "CONCAT", "CONTAINS", "LEFT", "LENGTH", "LOWER", "LTRIM", "REPLACE", "REVERSE", "RIGHT", "RTRIM", "STARTS_WITH", "SUBSTRING", "TRIM", "UPPER"},
	pb.SqlInfo_SQL_SYSTEM_FUNCTIONS:          []string{"COALESCE", "IFNULL", "NULLIF"},
	pb.SqlInfo_SQL_DATETIME_FUNCTIONS:        []string{"DATE_DIFF", "DATE_PART", "DATE_TRUNC", "DAYNAME", "EPOCH", "EXTRACT", "MONTHNAME", "STRFTIME", "STRPTIME"},
	pb.SqlInfo_SQL_SEARCH_STRING_ESCAPE:      `\`,
	pb.SqlInfo_SQL_EXTRA_NAME_CHARACTERS:     "",
	pb.SqlInfo_SQL_SUPPORTS_COLUMN_ALIASING:  true,
	pb.SqlInfo_SQL_NULL_PLUS_NULL_IS_NULL:    true,
	pb.SqlInfo_SQL_SUPPORTS_CONVERT:          sqlConversions(),

	pb.SqlInfo_SQL_SUPPORTS_TABLE_CORRELATION_NAMES:           true,
	pb.SqlInfo_SQL_SUPPORTS_DIFFERENT_TABLE_CORRELATION_NAMES: false,
	pb.SqlInfo_SQL_SUPPORTS_EXPRESSIONS_IN_ORDER_BY:           true,
	pb.SqlInfo_SQL_SUPPORTS_ORDER_BY_UNRELATED:                true,
	pb.SqlInfo_SQL_SUPPORTED_GROUP_BY: bits(pb.SqlSupportedGroupBy_SQL_GROUP_BY_UNRELATED,
		pb.SqlSupportedGroupBy_SQL_GROUP_BY_BEYOND_SELECT),
	pb.SqlInfo_SQL_SUPPORTS_LIKE_ESCAPE_CLAUSE:             true,
	pb.SqlInfo_SQL_SUPPORTS_NON_NULLABLE_COLUMNS:           true,
	pb.SqlInfo_SQL_SUPPORTED_GRAMMAR:                       bits(pb.SupportedSqlGrammar_SQL_MINIMUM_GRAMMAR, pb.SupportedSqlGrammar_SQL_CORE_GRAMMAR),
	pb.SqlInfo_SQL_ANSI92_SUPPORTED_LEVEL:                  bits(pb.SupportedAnsi92SqlGrammarLevel_ANSI92_ENTRY_SQL),
	pb.SqlInfo_SQL_SUPPORTS_INTEGRITY_ENHANCEMENT_FACILITY: false,
	pb.SqlInfo_SQL_OUTER_JOINS_SUPPORT_LEVEL:               bits(pb.SqlOuterJoinsSupportLevel_SQL_LIMITED_OUTER_JOINS, pb.SqlOuterJoinsSupportLevel_SQL_FULL_OUTER_JOINS),
	pb.SqlInfo_SQL_SCHEMA_TERM:                             "namespace",
	pb.SqlInfo_SQL_PROCEDURE_TERM:                          "procedure",
	pb.SqlInfo_SQL_CATALOG_TERM:                            "catalog",
	pb.SqlInfo_SQL_CATALOG_AT_START:                        true,
	pb.SqlInfo_SQL_SCHEMAS_SUPPORTED_ACTIONS:               int32(0),
	pb.SqlInfo_SQL_CATALOGS_SUPPORTED_ACTIONS:              int32(0),
	pb.SqlInfo_SQL_SUPPORTED_POSITIONED_COMMANDS:           int32(0),
	pb.SqlInfo_SQL_SELECT_FOR_UPDATE_SUPPORTED:             false,
	pb.SqlInfo_SQL_STORED_PROCEDURES_SUPPORTED:             false,
	pb.SqlInfo_SQL_SUPPORTED_SUBQUERIES: bits(pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_COMPARISONS,
		pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_EXISTS, pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_INS,
		pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_QUANTIFIEDS),
	pb.SqlInfo_SQL_CORRELATED_SUBQUERIES_SUPPORTED: true,
	pb.SqlInfo_SQL_SUPPORTED_UNIONS:                bits(pb.SqlSupportedUnions_SQL_UNION, pb.SqlSupportedUnions_SQL_UNION_ALL),
}

// sqlLimits are the limits a client may ask for; 0 means none, or not known.
var sqlLimits = map[pb.SqlInfo]any{
	pb.SqlInfo_SQL_MAX_BINARY_LITERAL_LENGTH:   int64(lake.MaxSQLBytes),
	pb.SqlInfo_SQL_MAX_CHAR_LITERAL_LENGTH:     int64(lake.MaxSQLBytes),
	pb.SqlInfo_SQL_MAX_COLUMN_NAME_LENGTH:      int64(0),
	pb.SqlInfo_SQL_MAX_COLUMNS_IN_GROUP_BY:     int64(0),
	pb.SqlInfo_SQL_MAX_COLUMNS_IN_INDEX:        int64(0),
	pb.SqlInfo_SQL_MAX_COLUMNS_IN_ORDER_BY:     int64(0),
	pb.SqlInfo_SQL_MAX_COLUMNS_IN_SELECT:       int64(0),
	pb.SqlInfo_SQL_MAX_COLUMNS_IN_TABLE:        int64(0),
	pb.SqlInfo_SQL_MAX_CONNECTIONS:             int64(0),
	pb.SqlInfo_SQL_MAX_CURSOR_NAME_LENGTH:      int64(0),
	pb.SqlInfo_SQL_MAX_INDEX_LENGTH:            int64(0),
	pb.SqlInfo_SQL_DB_SCHEMA_NAME_LENGTH:       int64(lake.MaxNameBytes),
	pb.SqlInfo_SQL_MAX_PROCEDURE_NAME_LENGTH:   int64(0),
	pb.SqlInfo_SQL_MAX_CATALOG_NAME_LENGTH:     int64(len(CatalogName)),
	pb.SqlInfo_SQL_MAX_ROW_SIZE:                int64(maxMessageBytes),
	pb.SqlInfo_SQL_MAX_ROW_SIZE_INCLUDES_BLOBS: true,
	pb.SqlInfo_SQL_MAX_STATEMENT_LENGTH:        int64(lake.MaxSQLBytes),
	pb.SqlInfo_SQL_MAX_STATEMENTS:              int64(0),
	pb.SqlInfo_SQL_MAX_TABLE_NAME_LENGTH:       int64(lake.MaxNameBytes),
	pb.SqlInfo_SQL_MAX_TABLES_IN_SELECT:        int64(ticket.MaxSnapshots),
	pb.SqlInfo_SQL_MAX_USERNAME_LENGTH:         int64(0),
}

// sqlTransactions says that there are none: each statement reads its own
// snapshot of each table.
var sqlTransactions = map[pb.SqlInfo]any{
	// The standard says int32 here, but the JDBC driver casts to Long and fails
	// on anything else, as the servers of the Arrow project send int64.
	pb.SqlInfo_SQL_DEFAULT_TRANSACTION_ISOLATION:             int64(pb.SqlTransactionIsolationLevel_SQL_TRANSACTION_NONE),
	pb.SqlInfo_SQL_TRANSACTIONS_SUPPORTED:                    false,
	pb.SqlInfo_SQL_SUPPORTED_TRANSACTIONS_ISOLATION_LEVELS:   bits(pb.SqlTransactionIsolationLevel_SQL_TRANSACTION_NONE),
	pb.SqlInfo_SQL_DATA_DEFINITION_CAUSES_TRANSACTION_COMMIT: false,
	pb.SqlInfo_SQL_DATA_DEFINITIONS_IN_TRANSACTIONS_IGNORED:  false,
	pb.SqlInfo_SQL_SUPPORTED_RESULT_SET_TYPES: bits(pb.SqlSupportedResultSetType_SQL_RESULT_SET_TYPE_UNSPECIFIED,
		pb.SqlSupportedResultSetType_SQL_RESULT_SET_TYPE_FORWARD_ONLY),
	pb.SqlInfo_SQL_SUPPORTED_CONCURRENCIES_FOR_RESULT_SET_UNSPECIFIED:        bits(pb.SqlSupportedResultSetConcurrency_SQL_RESULT_SET_CONCURRENCY_READ_ONLY),
	pb.SqlInfo_SQL_SUPPORTED_CONCURRENCIES_FOR_RESULT_SET_FORWARD_ONLY:       bits(pb.SqlSupportedResultSetConcurrency_SQL_RESULT_SET_CONCURRENCY_READ_ONLY),
	pb.SqlInfo_SQL_SUPPORTED_CONCURRENCIES_FOR_RESULT_SET_SCROLL_SENSITIVE:   int32(0),
	pb.SqlInfo_SQL_SUPPORTED_CONCURRENCIES_FOR_RESULT_SET_SCROLL_INSENSITIVE: int32(0),
	pb.SqlInfo_SQL_BATCH_UPDATES_SUPPORTED:                                   false,
	pb.SqlInfo_SQL_SAVEPOINTS_SUPPORTED:                                      false,
	pb.SqlInfo_SQL_NAMED_PARAMETERS_SUPPORTED:                                false,
	pb.SqlInfo_SQL_LOCATORS_UPDATE_COPY:                                      false,
	pb.SqlInfo_SQL_STORED_FUNCTIONS_USING_CALL_SYNTAX_SUPPORTED:              false,
}

// sqlConversions lists what CAST converts between.
func sqlConversions() map[int32][]int32 {
	numbers := []int32{
		int32(pb.SqlSupportsConvert_SQL_CONVERT_BIGINT), int32(pb.SqlSupportsConvert_SQL_CONVERT_BIT),
		int32(pb.SqlSupportsConvert_SQL_CONVERT_DECIMAL), int32(pb.SqlSupportsConvert_SQL_CONVERT_FLOAT),
		int32(pb.SqlSupportsConvert_SQL_CONVERT_INTEGER), int32(pb.SqlSupportsConvert_SQL_CONVERT_NUMERIC),
		int32(pb.SqlSupportsConvert_SQL_CONVERT_REAL), int32(pb.SqlSupportsConvert_SQL_CONVERT_SMALLINT),
		int32(pb.SqlSupportsConvert_SQL_CONVERT_TINYINT),
	}
	text := int32(pb.SqlSupportsConvert_SQL_CONVERT_VARCHAR)
	out := map[int32][]int32{text: append(slices.Clone(numbers),
		int32(pb.SqlSupportsConvert_SQL_CONVERT_DATE), int32(pb.SqlSupportsConvert_SQL_CONVERT_TIME),
		int32(pb.SqlSupportsConvert_SQL_CONVERT_TIMESTAMP), int32(pb.SqlSupportsConvert_SQL_CONVERT_VARBINARY))}
	for _, n := range numbers {
		out[n] = append(slices.Clone(numbers), text)
	}
	out[int32(pb.SqlSupportsConvert_SQL_CONVERT_DATE)] = []int32{text, int32(pb.SqlSupportsConvert_SQL_CONVERT_TIMESTAMP)}
	out[int32(pb.SqlSupportsConvert_SQL_CONVERT_TIMESTAMP)] = []int32{text, int32(pb.SqlSupportsConvert_SQL_CONVERT_DATE), int32(pb.SqlSupportsConvert_SQL_CONVERT_TIME)}
	out[int32(pb.SqlSupportsConvert_SQL_CONVERT_TIME)] = []int32{text}
	return out
}

// listSQLInfo answers the codes asked for, in their order, or all of them in
// ascending order. Codes that are not of the standard are left out.
func (s *Server) listSQLInfo(cmd *pb.CommandGetSqlInfo) func(context.Context, access.Principal, func(arrow.RecordBatch) error) error {
	return func(_ context.Context, _ access.Principal, emit func(arrow.RecordBatch) error) error {
		info := s.sqlInfo()
		codes := slices.Sorted(maps.Keys(info))
		if asked := cmd.GetInfo(); len(asked) > 0 {
			codes = codes[:0]
			seen := map[uint32]bool{} // bounds the answer
			for _, code := range asked {
				if _, ok := info[pb.SqlInfo(code)]; ok && !seen[code] {
					seen[code] = true
					codes = append(codes, pb.SqlInfo(code))
				}
			}
		}
		b := newRowBuilder(schema_ref.SqlInfo, emit)
		defer b.Release()
		values := b.Field(1).(*array.DenseUnionBuilder)
		for _, code := range codes {
			b.Field(0).(*array.Uint32Builder).Append(uint32(code))
			appendSQLInfo(values, info[code])
			if err := b.next(); err != nil {
				return err
			}
		}
		return b.flush()
	}
}

// appendSQLInfo adds a value to the union of schema_ref.SqlInfo.
func appendSQLInfo(b *array.DenseUnionBuilder, v any) {
	switch v := v.(type) {
	case absent:
		b.Append(0)
		b.Child(0).AppendNull()
	case string:
		b.Append(0)
		b.Child(0).(*array.StringBuilder).Append(v)
	case bool:
		b.Append(1)
		b.Child(1).(*array.BooleanBuilder).Append(v)
	case int64:
		b.Append(2)
		b.Child(2).(*array.Int64Builder).Append(v)
	case int32:
		b.Append(3)
		b.Child(3).(*array.Int32Builder).Append(v)
	case []string:
		b.Append(4)
		list := b.Child(4).(*array.ListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.StringBuilder).AppendValues(v, nil)
	case map[int32][]int32:
		b.Append(5)
		m := b.Child(5).(*array.MapBuilder)
		m.Append(true)
		items := m.ItemBuilder().(*array.ListBuilder)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			m.KeyBuilder().(*array.Int32Builder).Append(key)
			items.Append(true)
			items.ValueBuilder().(*array.Int32Builder).AppendValues(v[key], nil)
		}
	}
}
