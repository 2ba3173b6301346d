// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// CheckSameSchema fails with [lake.Invalid] unless rows of schema got can join
// a table of schema want: the same fields in the same order, with equal names,
// types and nullability. Metadata may differ. The error names the first field
// that differs.
func CheckSameSchema(want, got *arrow.Schema) error {
	if got == nil {
		return lake.Errorf(lake.Invalid, "the rows have no schema")
	}
	for i := range min(want.NumFields(), got.NumFields()) {
		if err := checkSameField(i, want.Field(i), got.Field(i)); err != nil {
			return err
		}
	}
	if w, g := want.NumFields(), got.NumFields(); w < g {
		return lake.Errorf(lake.Invalid, "field %d, %q, is not in the table, which has %d fields", w, got.Field(w).Name, w)
	} else if g < w {
		return lake.Errorf(lake.Invalid, "field %d, %q, is missing: the rows have %d fields, the table %d", g, want.Field(g).Name, g, w)
	}
	return nil
}

func checkSameField(i int, want, got arrow.Field) error {
	switch {
	case want.Name != got.Name:
		return lake.Errorf(lake.Invalid, "field %d is named %q, the table has %q there", i, got.Name, want.Name)
	case !arrow.TypeEqual(want.Type, got.Type):
		return lake.Errorf(lake.Invalid, "field %d, %q, has type %s, the table has %s", i, want.Name, got.Type, want.Type)
	case want.Nullable != got.Nullable:
		return lake.Errorf(lake.Invalid, "field %d, %q, is nullable: %t, in the table: %t", i, want.Name, got.Nullable, want.Nullable)
	}
	return nil
}

// Project returns the schema of a scan: the given top-level fields in the
// given order, with the table's schema metadata.
func Project(schema *arrow.Schema, columns []int) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = schema.Field(c)
	}
	md := schema.Metadata()
	return arrow.NewSchema(fields, &md)
}
