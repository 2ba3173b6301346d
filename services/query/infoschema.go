// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/query/directory"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
)

// The views of information_schema (SQL-92, chapter 21, as far as it applies).
// They are ordinary tables to the SQL engine, made from the directory of the
// moment and showing only what the caller may see.
const (
	informationSchema = "information_schema"
	// internalSchema is the name under which the engine is given the views. It
	// has a schema of the usual name of its own, that cannot be replaced. No
	// namespace of a Lake can be called this.
	internalSchema = "information_schema/lake"
)

var (
	schemataView = arrow.NewSchema(textFields("catalog_name", "schema_name"), nil)
	tablesView   = arrow.NewSchema(textFields("table_catalog", "table_schema", "table_name", "table_type"), nil)
	columnsView  = arrow.NewSchema(append(textFields("table_catalog", "table_schema", "table_name", "column_name"),
		arrow.Field{Name: "ordinal_position", Type: arrow.PrimitiveTypes.Int32},
		arrow.Field{Name: "is_nullable", Type: arrow.BinaryTypes.String},
		arrow.Field{Name: "data_type", Type: arrow.BinaryTypes.String},
		arrow.Field{Name: "numeric_precision", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		arrow.Field{Name: "numeric_scale", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	), nil)
	routinesView = arrow.NewSchema(textFields("routine_catalog", "routine_schema", "routine_name", "routine_type"), nil)
	views        = map[string]*arrow.Schema{"schemata": schemataView, "tables": tablesView, "columns": columnsView, "routines": routinesView}
)

func inInformationSchema(ref sqlengine.Name) bool {
	return strings.EqualFold(ref.Namespace, informationSchema)
}

// virtualSchema is the schema of the view a reference names, or nil.
func virtualSchema(ref sqlengine.Name) *arrow.Schema {
	if !inInformationSchema(ref) {
		return nil
	}
	return views[strings.ToLower(ref.Table)]
}

func anyVirtual(refs []sqlengine.Name) bool {
	for _, ref := range refs {
		if inInformationSchema(ref) {
			return true
		}
	}
	return false
}

// engineName is the name under which the engine is given a view.
func engineName(ref sqlengine.Name) sqlengine.Name {
	ref.Namespace = internalSchema
	return ref
}

// virtual makes the view a reference names.
func (s *Server) virtual(ctx context.Context, p access.Principal, ref sqlengine.Name) (sqlengine.Table, error) {
	dir, err := s.directory.Current(ctx)
	if err != nil {
		return nil, err
	}
	v := &view{schema: virtualSchema(ref)}
	b := newRowBuilder(v.schema, func(rec arrow.RecordBatch) error {
		rec.Retain() // released by the garbage collector: the memory is Go's
		v.batches = append(v.batches, rec)
		v.rows += uint64(rec.NumRows())
		return nil
	})
	defer b.Release()
	entries := matching(dir, p, filter(nil), filter(nil))
	switch v.schema {
	case schemataView:
		err = schemataRows(b, entries)
	case tablesView:
		err = tableRows(b, entries)
	case routinesView:
		err = routineRows(b)
	default:
		err = columnRows(b, entries)
	}
	if err != nil {
		return nil, err
	}
	return v, b.flush()
}

func schemataRows(b *rowBuilder, entries []*directory.Entry) error {
	last := ""
	for _, e := range entries {
		if e.Name.Namespace == last {
			continue
		}
		last = e.Name.Namespace
		b.text(0, CatalogName)
		b.text(1, last)
		if err := b.next(); err != nil {
			return err
		}
	}
	return nil
}

func tableRows(b *rowBuilder, entries []*directory.Entry) error {
	for _, e := range entries {
		b.table(e.Name)
		b.text(3, baseTable)
		if err := b.next(); err != nil {
			return err
		}
	}
	return nil
}

// routineRows lists the functions that statements may call; those that stand in
// FROM have the type TABLE FUNCTION.
func routineRows(b *rowBuilder) error {
	expressions, tables := gate.Functions()
	for kind, names := range map[string][]string{"FUNCTION": expressions, "TABLE FUNCTION": tables} {
		for _, name := range names {
			b.text(0, CatalogName)
			b.text(2, name)
			b.text(3, kind)
			b.Field(1).AppendNull()
			if err := b.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

func columnRows(b *rowBuilder, entries []*directory.Entry) error {
	for _, e := range entries {
		schema, err := e.Schema()
		if err != nil {
			return err
		}
		for i, f := range schema.Fields() {
			b.table(e.Name)
			b.text(3, f.Name)
			b.number(4, int32(i+1), true)
			b.text(5, yesNo(f.Nullable))
			b.text(6, typeName(f.Type))
			d, isDecimal := f.Type.(arrow.DecimalType)
			precision, scale := int32(0), int32(0)
			if isDecimal {
				precision, scale = d.GetPrecision(), d.GetScale()
			}
			b.number(7, precision, isDecimal)
			b.number(8, scale, isDecimal)
			if err := b.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *rowBuilder) table(name lake.TableName) {
	b.text(0, CatalogName)
	b.text(1, name.Namespace)
	b.text(2, name.Name)
}

// view is a small table in memory.
type view struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	rows    uint64
}

// Schema implements sqlengine.Table.
func (v *view) Schema() *arrow.Schema { return v.schema }

// Rows implements sqlengine.Table.
func (v *view) Rows() uint64 { return v.rows }

// Scan implements sqlengine.Table.
func (v *view) Scan(_ context.Context, opts storage.ScanOptions) (storage.Scan, error) {
	opts, err := opts.Check(v.schema)
	if err != nil {
		return nil, err
	}
	return &viewScan{schema: storage.Project(v.schema, opts.Columns), columns: opts.Columns, left: v.batches}, nil
}

type viewScan struct {
	schema  *arrow.Schema
	columns []int

	mu   sync.Mutex
	left []arrow.RecordBatch
}

func (s *viewScan) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	rec := s.left[0]
	s.left = s.left[1:]
	columns := make([]arrow.Array, len(s.columns))
	for i, c := range s.columns {
		columns[i] = rec.Column(c)
	}
	return array.NewRecordBatch(s.schema, columns, rec.NumRows()), nil
}

func (s *viewScan) Close() error { return nil }
