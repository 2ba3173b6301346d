// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"time"
)

// Step makes one move of the election, for tests that interleave by hand.
func (e *Election) Step(ctx context.Context) time.Duration { return e.step(ctx) }

// Raw returns the exact record of a table.
func (t Table) Raw() []byte { return t.raw }

// TableKey returns the key of a table's record.
var TableKey = tableKey
