// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package schema

import "github.com/apache/arrow-go/v18/arrow"

// Relax returns the schema with every field below a nullable struct or list
// made nullable, and reports whether that changed anything.
//
// Arrow allows a required field in a nullable struct; where the struct is null
// the field is anything. Other implementations of Lance refuse to write such
// rows, so a table that they shall append to needs the relaxed schema.
func Relax(s *arrow.Schema) (*arrow.Schema, bool) {
	changed := false
	fields := make([]arrow.Field, s.NumFields())
	for i, f := range s.Fields() {
		fields[i] = relax(f, false, &changed)
	}
	md := s.Metadata()
	return arrow.NewSchema(fields, &md), changed
}

func relax(f arrow.Field, below bool, changed *bool) arrow.Field {
	if below && !f.Nullable {
		f.Nullable, *changed = true, true
	}
	switch dt := f.Type.(type) {
	case *arrow.StructType:
		children := make([]arrow.Field, dt.NumFields())
		for i, c := range dt.Fields() {
			children[i] = relax(c, f.Nullable, changed)
		}
		f.Type = arrow.StructOf(children...)
	case *arrow.ListType:
		f.Type = arrow.ListOfField(relax(dt.ElemField(), f.Nullable, changed))
	case *arrow.LargeListType:
		f.Type = arrow.LargeListOfField(relax(dt.ElemField(), f.Nullable, changed))
	}
	return f
}
