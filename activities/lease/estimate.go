// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lease

import (
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/workflows"
)

// Estimate is how far the procedure's phase is, for its workflow; nil where that
// cannot be told.
func Estimate(p catalog.Procedure) *workflows.Estimate {
	m := p.Progress
	if m.Of == "" || p.State.Terminal() {
		return nil
	}
	e := &workflows.Estimate{Of: m.Of, Total: m.Total, About: m.About, PerSecond: m.PerSecond}
	if end, ok := p.ETA(); ok {
		e.End = &end
	}
	return e
}
