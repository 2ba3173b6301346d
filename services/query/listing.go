// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
)

// listingBatchRows bounds a batch of a metadata call, so that a long answer is
// built as it is sent.
const listingBatchRows = 256

// listing is a metadata call: its fixed schema and its rows.
type listing struct {
	schema *arrow.Schema
	rows   func(ctx context.Context, p access.Principal, emit func(arrow.RecordBatch) error) error
}

// listing returns the metadata call a command stands for.
func (s *Server) listing(cmd proto.Message) (listing, bool) {
	switch cmd := cmd.(type) {
	case *pb.CommandGetCatalogs:
		return listing{schema_ref.Catalogs, s.listCatalogs}, true
	case *pb.CommandGetDbSchemas:
		return listing{schema_ref.DBSchemas, s.listSchemas(cmd)}, true
	case *pb.CommandGetTables:
		schema := schema_ref.Tables
		if cmd.GetIncludeSchema() {
			schema = schema_ref.TablesWithIncludedSchema
		}
		return listing{schema, s.listTables(cmd)}, true
	case *pb.CommandGetTableTypes:
		return listing{schema_ref.TableTypes, listTableTypes}, true
	case *pb.CommandGetSqlInfo:
		return listing{schema_ref.SqlInfo, s.listSQLInfo(cmd)}, true
	case *pb.CommandGetXdbcTypeInfo:
		return listing{schema_ref.XdbcTypeInfo, listTypeInfo(cmd)}, true
	case *pb.CommandGetPrimaryKeys:
		return listing{schema_ref.PrimaryKeys, noRows}, true
	case *pb.CommandGetExportedKeys:
		return listing{schema_ref.ExportedKeys, noRows}, true
	case *pb.CommandGetImportedKeys:
		return listing{schema_ref.ImportedKeys, noRows}, true
	case *pb.CommandGetCrossReference:
		return listing{schema_ref.CrossReference, noRows}, true
	}
	return listing{}, false
}

// noRows answers for keys: tables of Lake have none.
func noRows(context.Context, access.Principal, func(arrow.RecordBatch) error) error { return nil }

// rowBuilder collects rows of a listing and emits them in batches.
type rowBuilder struct {
	*array.RecordBuilder
	emit func(arrow.RecordBatch) error
	rows int
}

func newRowBuilder(schema *arrow.Schema, emit func(arrow.RecordBatch) error) *rowBuilder {
	return &rowBuilder{RecordBuilder: array.NewRecordBuilder(memory.DefaultAllocator, schema), emit: emit}
}

// next ends a row; it emits when the batch is full.
func (b *rowBuilder) next() error {
	if b.rows++; b.rows < listingBatchRows {
		return nil
	}
	return b.flush()
}

func (b *rowBuilder) flush() error {
	if b.rows == 0 {
		return nil
	}
	b.rows = 0
	rec := b.NewRecordBatch()
	defer rec.Release()
	return b.emit(rec)
}

func (b *rowBuilder) text(column int, s string) {
	b.Field(column).(*array.StringBuilder).Append(s)
}

// tooManyRows refuses an answer longer than the server allows.
func (s *Server) tooManyRows(what string, n int) error {
	if n <= s.opts.DiscoveryRows {
		return nil
	}
	return lake.Errorf(lake.Exhausted, "more than %d %s match: narrow the patterns", s.opts.DiscoveryRows, what)
}
