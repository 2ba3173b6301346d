// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// differ names the first field in which rows of schema got do not fit want, or
// returns nil. It is the authority's own rule: names, types and nullability in
// order, without metadata. owner is whose schema want is, such as "the table".
func differ(want, got *arrow.Schema, owner string) error {
	for i := range min(want.NumFields(), got.NumFields()) {
		if err := differField(i, want.Field(i), got.Field(i), owner); err != nil {
			return err
		}
	}
	if w, g := want.NumFields(), got.NumFields(); w < g {
		return lake.Errorf(lake.Invalid, "field %d, %q, is not in %s, which has %d fields", w, got.Field(w).Name, owner, w)
	} else if g < w {
		return lake.Errorf(lake.Invalid, "field %d, %q, is missing: the rows have %d fields, %s has %d", g, want.Field(g).Name, g, owner, w)
	}
	return nil
}

func differField(i int, want, got arrow.Field, owner string) error {
	switch {
	case want.Name != got.Name:
		return lake.Errorf(lake.Invalid, "field %d is named %q, %s has %q there", i, got.Name, owner, want.Name)
	case !arrow.TypeEqual(want.Type, got.Type):
		return lake.Errorf(lake.Invalid, "field %d, %q, has type %s, %s has %s", i, want.Name, got.Type, owner, want.Type)
	case want.Nullable != got.Nullable:
		return lake.Errorf(lake.Invalid, "field %d, %q, is nullable: %t, in %s: %t", i, want.Name, got.Nullable, owner, want.Nullable)
	}
	return nil
}
