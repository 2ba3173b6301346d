// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package carry takes columns of types that SQL does not have through a SQL
// engine, as values of types that it has, and gives plain references to them
// their registered types back.
//
//	stored                    in SQL            restored
//	float16                   FLOAT             float16
//	decimal256(p ≤ 38, s)     DECIMAL(p,s)      decimal256(p,s)
//	decimal256(p > 38, s)     DECIMAL(38,s)     decimal256(p,s); a value that does not fit is an error
//	duration(unit)            BIGINT, in units  duration(unit)
//
// The same holds inside lists and structs. A column of any other type that SQL
// lacks can be neither read nor computed with, which an error says when a
// statement uses it; the other columns of its table can.
//
// The types are restored by a mark in the metadata of the carried field, which
// an engine keeps for plain references and no others.
package carry

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lake"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
)

// markKey is the metadata key of a carried field. Its value names the stored
// type, so that equal fields have equal marks.
const markKey = "lake:carried"

// Engine is a SQL engine that also takes tables with carried columns. It is
// safe for concurrent use.
type Engine struct{ sqlengine.Engine }

var _ sqlengine.Engine = Engine{}

// Plan implements [sqlengine.Engine].
func (e Engine) Plan(ctx context.Context, req sqlengine.Request) (sqlengine.Plan, error) {
	c, req := wrap(req)
	plan, err := e.Engine.Plan(ctx, req)
	if err != nil || c == nil {
		return plan, err
	}
	plan.Schema, err = c.restoreSchema(plan.Schema)
	return plan, err
}

// Execute implements [sqlengine.Engine].
func (e Engine) Execute(ctx context.Context, req sqlengine.Request, emit func(arrow.RecordBatch) error) error {
	c, req := wrap(req)
	if c == nil {
		return e.Engine.Execute(ctx, req, emit)
	}
	return e.Engine.Execute(ctx, req, func(rec arrow.RecordBatch) error {
		restored, err := c.restore(rec)
		if err != nil {
			return err
		}
		defer restored.Release()
		return emit(restored)
	})
}

// cargo is what one request carries: the stored types by their marks.
type cargo struct {
	stored map[string]arrow.DataType

	mu       sync.Mutex
	from, to *arrow.Schema // of the last batch
}

// wrap puts tables in between where a schema needs it. It returns nil and the
// request itself where none does.
func wrap(req sqlengine.Request) (*cargo, sqlengine.Request) {
	var c *cargo
	tables := make(map[sqlengine.Name]sqlengine.Table, len(req.Tables))
	between := newTables{}
	for name, t := range req.Tables {
		tables[name] = t
		carried := between.of(name, t)
		if carried == nil {
			continue
		}
		if c == nil {
			c = &cargo{stored: map[string]arrow.DataType{}}
		}
		for i, f := range carried.schema.Fields() {
			if mark, ok := f.Metadata.GetValue(markKey); ok {
				c.stored[mark] = t.Schema().Field(i).Type
			}
		}
		tables[name] = carried
	}
	if c != nil {
		req.Tables = tables
		req.Planned = nil // it is of the stored types
	}
	return c, req
}

// restoreSchema is the schema of what restore makes.
func (c *cargo) restoreSchema(s *arrow.Schema) (*arrow.Schema, error) {
	fields := s.Fields()
	for i, f := range fields {
		mark, ok := f.Metadata.GetValue(markKey)
		if !ok {
			continue
		}
		stored, known := c.stored[mark]
		if !known {
			return nil, lake.Errorf(lake.Unknown, "column %s: carried as %q, which no table of the statement has", f.Name, mark)
		}
		if _, err := carried(stored); err != nil {
			return nil, unreadable(f.Name, stored)
		}
		f.Type, f.Metadata = sqlengine.Delivered(stored), without(f.Metadata, markKey)
		fields[i] = f
	}
	meta := s.Metadata()
	return arrow.NewSchema(fields, &meta), nil
}

// restore gives carried columns their stored types back.
func (c *cargo) restore(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
	to, err := c.restored(rec.Schema())
	if err != nil {
		return nil, err
	}
	columns := make([]arrow.Array, rec.NumCols())
	defer func() {
		for _, col := range columns {
			if col != nil {
				col.Release()
			}
		}
	}()
	for i, col := range rec.Columns() {
		if columns[i], err = convert(col, to.Field(i).Type); err != nil {
			return nil, lake.Wrap("column "+to.Field(i).Name, err)
		}
	}
	return array.NewRecordBatch(to, columns, rec.NumRows()), nil
}

// restored remembers the schema of the last batch: all of a result have one.
func (c *cargo) restored(s *arrow.Schema) (*arrow.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.from == s && c.to != nil {
		return c.to, nil
	}
	to, err := c.restoreSchema(s)
	c.from, c.to = s, to
	return to, err
}

func unreadable(column string, dt arrow.DataType) error {
	return lake.Errorf(lake.Unsupported, "column %s has type %s, which SQL cannot read: name the other columns, or write SELECT * EXCLUDE (%s)", column, dt, column)
}

func with(m arrow.Metadata, key, value string) arrow.Metadata {
	keys, values := append([]string{}, m.Keys()...), append([]string{}, m.Values()...)
	return arrow.NewMetadata(append(keys, key), append(values, value))
}

func without(m arrow.Metadata, key string) arrow.Metadata {
	var keys, values []string
	for i, k := range m.Keys() {
		if k != key {
			keys, values = append(keys, k), append(values, m.Values()[i])
		}
	}
	return arrow.NewMetadata(keys, values)
}
