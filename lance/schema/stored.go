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
	fields, err := FromArrow(s)
	for _, f := range fields { // parents first, and ids are positions
		if p := f.GetParentId(); p >= 0 && fields[p].GetNullable() {
			f.Nullable = true
		}
	}
	return fields, err
}
