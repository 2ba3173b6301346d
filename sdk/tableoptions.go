// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"maps"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// WithTableOptions returns the schema with the options that [Client.CreateTable]
// shall give the table, in place of those it had. They are entries of the
// schema's metadata, whose names are in package lake, so clients in other
// languages can give them too.
func WithTableOptions(s *arrow.Schema, o lake.TableOptions) *arrow.Schema {
	md := s.Metadata()
	entries := md.ToMap()
	delete(entries, lake.OptionCompact)
	if o.Compact {
		entries[lake.OptionCompact] = strconv.FormatBool(true)
	}
	keys := slices.Sorted(maps.Keys(entries))
	values := make([]string, len(keys))
	for i, k := range keys {
		values[i] = entries[k]
	}
	with := arrow.NewMetadata(keys, values)
	return arrow.NewSchema(s.Fields(), &with)
}

// Options are the options the table was created with. Without its schema, in
// listings, they are not known.
func (t Table) Options() lake.TableOptions {
	if t.Schema == nil {
		return lake.TableOptions{}
	}
	md := t.Schema.Metadata()
	o, _ := lake.ParseTableOptions(md.Keys(), md.Values())
	return o
}
