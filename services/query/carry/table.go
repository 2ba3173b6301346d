// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
)

// table is a table whose columns have types that SQL has.
type table struct {
	sqlengine.Table
	name   sqlengine.Name
	schema *arrow.Schema
	// lost are the columns that nothing can carry.
	lost map[int]bool
}

// newTables are those of one request: two names of one table stay that.
type newTables map[sqlengine.Table]*table

func (m newTables) of(name sqlengine.Name, t sqlengine.Table) *table {
	if !reflect.TypeOf(t).Comparable() {
		return newTable(name, t)
	}
	carried, known := m[t]
	if !known {
		carried = newTable(name, t)
		m[t] = carried
	}
	return carried
}

// newTable returns nil where the table needs no carrying.
func newTable(name sqlengine.Name, t sqlengine.Table) *table {
	stored := t.Schema()
	out := &table{Table: t, name: name, lost: map[int]bool{}}
	fields, changed := stored.Fields(), false
	for i, f := range fields {
		dt, err := carried(f.Type)
		switch {
		case err != nil:
			f.Type, f.Nullable, out.lost[i] = arrow.Null, true, true
		case arrow.TypeEqual(dt, f.Type, arrow.CheckMetadata()):
			continue
		default:
			f.Type = dt
		}
		f.Metadata = with(f.Metadata, markKey, stored.Field(i).Type.String()+" "+stored.Field(i).Type.Fingerprint())
		fields[i], changed = f, true
	}
	if !changed {
		return nil
	}
	meta := stored.Metadata()
	out.schema = arrow.NewSchema(fields, &meta)
	return out
}

// Schema implements sqlengine.Table.
func (t *table) Schema() *arrow.Schema { return t.schema }

// Scan implements sqlengine.Table. A scan of a column that cannot be carried is
// refused.
func (t *table) Scan(ctx context.Context, opts storage.ScanOptions) (storage.Scan, error) {
	opts, err := opts.Check(t.schema)
	if err != nil {
		return nil, err
	}
	for _, c := range opts.Columns {
		if t.lost[c] {
			return nil, unreadable(t.name.Table+"."+t.schema.Field(c).Name, t.Table.Schema().Field(c).Type)
		}
	}
	inner, err := t.Table.Scan(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &scan{Scan: inner, table: t, schema: storage.Project(t.schema, opts.Columns)}, nil
}

// scan carries the batches of a scan.
type scan struct {
	storage.Scan
	table  *table
	schema *arrow.Schema
}

// Next implements storage.Scan.
func (s *scan) Next(ctx context.Context) (arrow.RecordBatch, error) {
	rec, err := s.Scan.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	columns := make([]arrow.Array, rec.NumCols())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i, col := range rec.Columns() {
		f := s.schema.Field(i)
		if _, ok := f.Metadata.GetValue(markKey); !ok {
			col.Retain()
			columns[i] = col
		} else if columns[i], err = convert(col, f.Type); err != nil {
			return nil, lake.Wrap("column "+s.table.name.Table+"."+f.Name, err)
		}
	}
	return array.NewRecordBatch(s.schema, columns, rec.NumRows()), nil
}
