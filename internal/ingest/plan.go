// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
)

// plan says how a file's batches become a table's.
type plan struct {
	schema *arrow.Schema
	// source is, for each column of schema, its index in the file, or -1 for a
	// column the file lacks.
	source []int
	// names are the file's own names, for errors.
	names []string
	notes []string
}

// newPlan fits a file's schema to the options.
func newPlan(file *arrow.Schema, opts Options) (plan, error) {
	p := plan{}
	for _, f := range file.Fields() {
		p.names = append(p.names, f.Name)
	}
	var renamed []string
	renamed, p.notes = tableNames(p.names)
	chosen, err := choose(renamed, opts.Columns)
	if err != nil {
		return plan{}, err
	}
	if opts.Target != nil {
		return p.toTarget(file, opts.Target, renamed, chosen)
	}
	var fields []arrow.Field
	for _, i := range chosen {
		f, err := tableField(file.Field(i), renamed[i])
		if err != nil {
			return plan{}, withHint(columnError(p.names[i], err), len(chosen))
		}
		if note := typeNote(file.Field(i), f); note != "" {
			p.notes = append(p.notes, note)
		}
		fields = append(fields, f)
	}
	if len(fields) == 0 {
		return plan{}, lake.Errorf(lake.Invalid, "it has no columns")
	}
	p.source, p.schema = chosen, arrow.NewSchema(fields, nil)
	return p, nil
}

// choose returns the indexes of the wanted columns.
func choose(names, wanted []string) ([]int, error) {
	var out []int
	if wanted == nil {
		for i := range names {
			out = append(out, i)
		}
		return out, nil
	}
	for _, w := range wanted {
		i := slices.Index(names, w)
		switch {
		case i < 0:
			return nil, lake.Errorf(lake.Invalid, "there is no column %q: the columns are %s", w, quoteAll(names))
		case slices.Contains(out, i):
			return nil, lake.Errorf(lake.Invalid, "column %q is asked for twice", w)
		}
		out = append(out, i)
	}
	return out, nil
}

func quoteAll(names []string) string {
	const most = 20
	var text strings.Builder
	for i, n := range names {
		if i == most {
			fmt.Fprintf(&text, ", … (%d in all)", len(names))
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%q", n)
	}
	return text.String()
}

func tableField(f arrow.Field, name string) (arrow.Field, error) {
	dt, err := tableType(f.Type)
	return arrow.Field{Name: name, Type: dt, Nullable: f.Nullable || f.Type.ID() == arrow.NULL}, err
}

func typeNote(from, to arrow.Field) string {
	if arrow.TypeEqual(from.Type, to.Type) {
		return ""
	}
	return fmt.Sprintf("column %q of type %s is read as %s", to.Name, from.Type, to.Type)
}

func columnError(name string, err error) error {
	return lake.Wrap(fmt.Sprintf("column %q", name), err)
}

// withHint says how to go on without a column.
func withHint(err error, columns int) error {
	if columns < 2 {
		return err
	}
	return lake.Errorf(lake.KindOf(err), "%w (the other columns can be read with --columns)", err)
}

// toTarget matches columns by name with those of a table.
func (p plan) toTarget(file, target *arrow.Schema, renamed []string, chosen []int) (plan, error) {
	p.schema = target
	p.source = make([]int, target.NumFields())
	used := 0
	for i, f := range target.Fields() {
		at := slices.IndexFunc(chosen, func(c int) bool { return renamed[c] == f.Name })
		if p.source[i] = -1; at >= 0 {
			p.source[i] = chosen[at]
			used++
			continue
		}
		if !f.Nullable {
			return plan{}, lake.Errorf(lake.Invalid, "column %q of the table is missing and may not be null: the file has %s", f.Name, quoteAll(renamed))
		}
		p.notes = append(p.notes, fmt.Sprintf("column %q of the table is not in the file and stays null", f.Name))
	}
	if used < len(chosen) {
		return plan{}, p.stranger(target, renamed, chosen)
	}
	return p, p.tryTypes(file)
}

func (p plan) stranger(target *arrow.Schema, renamed []string, chosen []int) error {
	for _, c := range chosen {
		if !slices.Contains(p.source, c) {
			var names []string
			for _, f := range target.Fields() {
				names = append(names, f.Name)
			}
			return withHint(lake.Errorf(lake.Invalid, "column %q is not in the table, which has %s", renamed[c], quoteAll(names)), len(chosen))
		}
	}
	return nil
}

// tryTypes converts no rows, to learn early which types never fit.
func (p plan) tryTypes(file *arrow.Schema) error {
	for i, c := range p.source {
		if c < 0 {
			continue
		}
		none := array.MakeArrayOfNull(allocator, file.Field(c).Type, 0)
		out, err := convert(none, p.schema.Field(i).Type)
		none.Release()
		if err != nil {
			return columnError(p.names[c], err)
		}
		out.Release()
	}
	return nil
}

// apply makes a table's batch of a file's. first is the number of the batch's
// first row in the file, from 0.
func (p plan) apply(b arrow.RecordBatch, first int64) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, len(p.source))
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	where := fmt.Sprintf("rows %d to %d", first+1, first+b.NumRows())
	for i, at := range p.source {
		f := p.schema.Field(i)
		if at < 0 {
			columns[i] = array.MakeArrayOfNull(allocator, f.Type, int(b.NumRows()))
			continue
		}
		var err error
		if columns[i], err = column(b.Column(at), f); err != nil {
			return nil, columnError(p.names[at], lake.Wrap(where, err))
		}
	}
	out := array.NewRecordBatch(p.schema, columns, b.NumRows())
	if err := engine.CheckNulls(p.schema, out); err != nil { // of the fields inside of columns
		out.Release()
		return nil, lake.Wrap(where, err)
	}
	return out, nil
}

// column makes a table's column of a file's.
func column(arr arrow.Array, f arrow.Field) (arrow.Array, error) {
	if err := checkArray(arr); err != nil {
		return nil, err
	}
	if n := arr.NullN(); n > 0 && !f.Nullable {
		return nil, lake.Errorf(lake.Invalid, "it holds %d nulls and the table allows none", n)
	}
	return convert(arr, f.Type)
}
