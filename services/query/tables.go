// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"

	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/query/directory"
)

const (
	// tableType is the one table type of Lake.
	tableType = "TABLE"
	// baseTable is what information_schema calls it.
	baseTable = "BASE TABLE"
)

func (s *Server) listCatalogs(_ context.Context, _ access.Principal, emit func(arrow.RecordBatch) error) error {
	return oneText(schema_ref.Catalogs, CatalogName, emit)
}

func listTableTypes(_ context.Context, _ access.Principal, emit func(arrow.RecordBatch) error) error {
	return oneText(schema_ref.TableTypes, tableType, emit)
}

func oneText(schema *arrow.Schema, value string, emit func(arrow.RecordBatch) error) error {
	b := newRowBuilder(schema, emit)
	defer b.Release()
	b.text(0, value)
	if err := b.next(); err != nil {
		return err
	}
	return b.flush()
}

// inCatalog applies the catalog filter of Flight SQL: absent means any, and
// the empty string means objects without a catalog, of which there are none.
func inCatalog(filter *string) bool { return filter == nil || *filter == CatalogName }

// filter is a name filter of Flight SQL: absent means any.
func filter(pattern *string) func(string) bool {
	if pattern == nil {
		return func(string) bool { return true }
	}
	return directory.Compile(*pattern).Match
}

// listSchemas lists the namespaces that hold a table the caller may see. An
// empty pattern asks for objects without a schema; there are none, and no
// namespace has an empty name, so it needs no special case.
func (s *Server) listSchemas(cmd *pb.CommandGetDbSchemas) func(context.Context, access.Principal, func(arrow.RecordBatch) error) error {
	return func(ctx context.Context, p access.Principal, emit func(arrow.RecordBatch) error) error {
		if !inCatalog(cmd.Catalog) {
			return nil
		}
		dir, err := s.directory.Current(ctx)
		if err != nil {
			return err
		}
		matches := filter(cmd.DbSchemaFilterPattern)
		var found []string
		for _, e := range dir.Entries {
			ns := e.Name.Namespace
			if n := len(found); (n == 0 || found[n-1] != ns) && p.May(ns) && matches(ns) {
				found = append(found, ns)
			}
		}
		if err := s.tooManyRows("schemas", len(found)); err != nil {
			return err
		}
		b := newRowBuilder(schema_ref.DBSchemas, emit)
		defer b.Release()
		for _, ns := range found {
			b.text(0, CatalogName)
			b.text(1, ns)
			if err := b.next(); err != nil {
				return err
			}
		}
		return b.flush()
	}
}

func (s *Server) listTables(cmd *pb.CommandGetTables) func(context.Context, access.Principal, func(arrow.RecordBatch) error) error {
	return func(ctx context.Context, p access.Principal, emit func(arrow.RecordBatch) error) error {
		if !inCatalog(cmd.Catalog) || !ofTables(cmd.GetTableTypes()) {
			return nil
		}
		dir, err := s.directory.Current(ctx)
		if err != nil {
			return err
		}
		found := matching(dir, p, filter(cmd.DbSchemaFilterPattern), filter(cmd.TableNameFilterPattern))
		if err := s.tooManyRows("tables", len(found)); err != nil {
			return err
		}
		return emitTables(ctx, found, cmd.GetIncludeSchema(), emit)
	}
}

// ofTables applies the filter of table types: none means any. Clients also ask for
// tables in lower case, and by their name in information_schema.
func ofTables(types []string) bool {
	return len(types) == 0 || slices.ContainsFunc(types, func(t string) bool {
		return strings.EqualFold(t, tableType) || strings.EqualFold(t, baseTable)
	})
}

func matching(dir *directory.Snapshot, p access.Principal, schema, table func(string) bool) []*directory.Entry {
	var found []*directory.Entry
	last, visible := "", false // entries are sorted by namespace
	for i, e := range dir.Entries {
		if i == 0 || e.Name.Namespace != last {
			last = e.Name.Namespace
			visible = p.May(last) && schema(last)
		}
		if visible && table(e.Name.Name) {
			found = append(found, e)
		}
	}
	return found
}

func emitTables(ctx context.Context, found []*directory.Entry, withSchema bool, emit func(arrow.RecordBatch) error) error {
	schema := schema_ref.Tables
	if withSchema {
		schema = schema_ref.TablesWithIncludedSchema
	}
	b := newRowBuilder(schema, emit)
	defer b.Release()
	for _, e := range found {
		b.text(0, CatalogName)
		b.text(1, e.Name.Namespace)
		b.text(2, e.Name.Name)
		b.text(3, tableType)
		if withSchema {
			encoded, err := e.SchemaIPC()
			if err != nil {
				return err
			}
			b.Field(4).(*array.BinaryBuilder).Append(encoded)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.next(); err != nil {
			return err
		}
	}
	return b.flush()
}
