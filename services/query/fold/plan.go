// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// typeOf is the type of a column.
func (f *Fold) typeOf(column int) (arrow.DataType, error) {
	if column < 0 || column >= f.schema.NumFields() {
		return nil, lake.Errorf(lake.Invalid, "there is no column %d", column)
	}
	return f.schema.Field(column).Type, nil
}

func (f *Fold) newKey(column int) (numberer, error) {
	dt, err := f.typeOf(column)
	if err != nil {
		return nil, err
	}
	if !Groups(dt) {
		return nil, lake.Errorf(lake.Unsupported, "grouping by %s", dt)
	}
	return newNumberer(dt), nil
}

// plan arranges for what an aggregate needs, once.
func (f *Fold) plan(a Aggregate) error {
	var dt arrow.DataType
	if a.Func == CountRows {
		a.Column = -1
	} else {
		var err error
		if dt, err = f.typeOf(a.Column); err != nil {
			return err
		}
	}
	if _, ok := a.Func.Type(dt); !ok {
		return lake.Errorf(lake.Unsupported, "aggregate %d of %s", a.Func, dt)
	}
	if a.Filter >= 0 {
		if dt, err := f.typeOf(a.Filter); err != nil || dt.ID() != arrow.BOOL {
			return lake.Errorf(lake.Invalid, "column %d is no filter", a.Filter)
		}
	}
	out := output{f: a.Func, rows: f.selection(a.Column, max(a.Filter, -1))}
	if a.Func != CountRows && a.Func != Count {
		out.part = f.part(need{basis(a.Func), a.Column, out.rows.filter}, dt, out.rows)
	}
	f.outputs = append(f.outputs, out)
	return nil
}

// basis is the function that stands for those with the same states.
func basis(f Func) Func {
	switch f {
	case Avg:
		return Sum
	case StddevSamp, StddevPop, VarSamp:
		return VarPop
	}
	return f
}

func (f *Fold) selection(column, filter int) *selection {
	for _, s := range f.selections {
		if s.column == column && s.filter == filter {
			return s
		}
	}
	s := &selection{column: column, filter: filter}
	if column >= 0 && filter < 0 {
		s.all = f.all
	}
	f.selections = append(f.selections, s)
	return s
}

func (f *Fold) part(of need, dt arrow.DataType, rows *selection) *accumulated {
	for _, p := range f.parts {
		if p.of == of {
			return p
		}
	}
	p := &accumulated{newAccumulator(of.f, dt), of, rows}
	f.parts = append(f.parts, p)
	return p
}
