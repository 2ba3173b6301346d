// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package retention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/retention"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// history is a table whose versions were written so many minutes ago each; 0 is
// a manifest that is not there.
func history(ago ...int) (catalog.Table, map[lake.Version]time.Time) {
	written := map[lake.Version]time.Time{}
	for i, minutes := range ago {
		if minutes > 0 {
			written[lake.Version(i+1)] = now.Add(-time.Duration(minutes) * time.Minute)
		}
	}
	return catalog.Table{Snapshot: lake.Snapshot{Version: lake.Version(len(ago))}}, written
}

// What counts is when a version was replaced, not when it was written: a ticket
// may be issued on it until then.
func TestAVersionStaysUntilNoTicketCanHoldIt(t *testing.T) {
	for name, c := range map[string]struct {
		policy retention.Policy
		ago    []int
		want   lake.Version
	}{
		"an old version replaced a moment ago": {retention.Policy{Versions: 1}, []int{9000, 1}, 0},
		"replaced 64 minutes ago":              {retention.Policy{Versions: 1}, []int{9000, 64}, 0},
		"replaced 66 minutes ago":              {retention.Policy{Versions: 1}, []int{9000, 66}, 1},
		"one of them":                          {retention.Policy{Versions: 1}, []int{9000, 200, 100, 60, 5}, 2},
		"enough of them stay":                  {retention.Policy{Versions: 4}, []int{9000, 8000, 7000, 6000, 5000}, 1},
		"the default keeps ten":                {retention.Policy{}, []int{99, 98, 97, 96, 95, 94, 93, 92, 91, 90, 89, 88}, 2},
		"a later one stands in":                {retention.Policy{Versions: 1}, []int{9000, 0, 60, 5}, 0},
		"nothing is known":                     {retention.Policy{Versions: 1}, []int{0, 0, 0}, 0},
		"the only version":                     {retention.Policy{Versions: 1}, []int{9000}, 0},
	} {
		table, written := history(c.ago...)
		require.Equal(t, c.want, c.policy.Floor(table, written, now), name)
	}
	table, written := history(9000, 8000, 7000, 1)
	table.Reclaimed.Floor = 2
	require.EqualValues(t, 2, retention.Policy{Versions: 4}.Floor(table, written, now), "it does not move back")
}
