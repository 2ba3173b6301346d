// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold

// run are rows of a chunk that lie together and belong to one group.
type run struct {
	from, to int
	group    uint32
}

// maxRuns is how many runs a chunk may have for them to be worth it. Rows often
// come that way, such as one robot's after another's, and a run is added up as
// fast as rows without groups: adding to a state in memory has to wait for the
// addition before it.
const maxRuns = chunkRows / 32

// runsOf are the runs of the groups, in room; nil where there are too many.
func runsOf(g []uint32, room []run) []run {
	runs := room[:0]
	from, last := 0, g[0]
	for i, k := range g {
		if k == last {
			continue
		}
		if len(runs) == maxRuns-1 {
			return nil
		}
		runs = append(runs, run{from, i, last})
		from, last = i, k
	}
	return append(runs, run{from, len(g), last})
}
