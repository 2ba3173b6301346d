// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"time"

	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// OpenSlot opens the engine of a slot process: one instance. The replica
// decides when a statement is lost, and then ends the process.
func OpenSlot(s slotwire.Setup) (*Engine, error) {
	return New(Options{
		Slots: 1, Parsers: 1, Threads: s.Threads, Memory: s.Memory,
		SpillDir: s.SpillDir, SpillBytes: s.SpillBytes, Catalog: s.Catalog, Grace: time.Hour,
	})
}
