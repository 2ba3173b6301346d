// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
)

// optionsOf reads the options of a table off its registered schema.
func optionsOf(s *arrow.Schema) (lake.TableOptions, error) {
	md := s.Metadata()
	return lake.ParseTableOptions(md.Keys(), md.Values())
}

// compactOf reads [lake.OptionCompact] off a manifest, which keeps the metadata of
// the schema. Another writer may have changed it to anything.
func compactOf(m *format.Manifest) bool {
	return string(m.Message().GetSchemaMetadata()[lake.OptionCompact]) == "true"
}

// writing is how the data of a table are written.
func (e *Engine) writing(compact bool) format.WriteOptions {
	o := e.write
	o.Compact = compact
	return o
}
