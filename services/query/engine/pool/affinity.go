// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"hash/maphash"

	"github.com/lakeplane/lake/services/query/engine"
)

var affinitySeed = maphash.MakeSeed()

// affinity is a number for the tables of a request: a slot that has seen the same
// tables just before need not be told of them again. It only has to be the same
// for equal tables as a rule: what a slot may use again it finds out itself. 0 is
// for requests to which it does not matter.
func affinity(req engine.Request) (sum uint64) {
	if !req.Steady {
		return 0
	}
	for name, t := range req.Tables { // in any order
		sum += maphash.Comparable(affinitySeed, struct {
			name   engine.Name
			schema any
			rows   uint64
		}{name, t.Schema(), t.Rows()})
	}
	return sum
}
