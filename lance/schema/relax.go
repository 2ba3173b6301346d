// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package schema

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lance/lancepb"
)

// Stored returns the Lance fields of a table whose rows have the schema: those of
// [FromArrow], nullable below everything that may be null. Arrow allows a required
// field in a nullable struct; where the struct is null the field is anything. Other
// implementations of Lance can neither read nor write such rows.
func Stored(s *arrow.Schema) ([]*lancepb.Field, error) {
	if err := Check(s); err != nil {
		return nil, err
	}
	return FromArrow(relaxed(s))
}

func relaxed(s *arrow.Schema) *arrow.Schema {
	fields := make([]arrow.Field, s.NumFields())
	for i, f := range s.Fields() {
		fields[i] = relax(f, false)
	}
	md := s.Metadata()
	return arrow.NewSchema(fields, &md)
}

func relax(f arrow.Field, below bool) arrow.Field {
	f.Nullable = f.Nullable || below
	switch dt := f.Type.(type) {
	case *arrow.StructType:
		children := make([]arrow.Field, dt.NumFields())
		for i, c := range dt.Fields() {
			children[i] = relax(c, f.Nullable)
		}
		f.Type = arrow.StructOf(children...)
	case *arrow.ListType:
		f.Type = arrow.ListOfField(relax(dt.ElemField(), f.Nullable))
	case *arrow.LargeListType:
		f.Type = arrow.LargeListOfField(relax(dt.ElemField(), f.Nullable))
	}
	return f
}
