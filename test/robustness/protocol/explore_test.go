// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// key is the same for states that differ only in which thread is called which.
func (s state) key() state {
	if less(s.process[1], s.process[0]) {
		s.process[0], s.process[1] = s.process[1], s.process[0]
	}
	return s
}

func less(a, b process) bool {
	x := [...]uint8{a.epoch, uint8(a.at), a.fence, a.op, a.inc, a.ver, a.drops}
	y := [...]uint8{b.epoch, uint8(b.at), b.fence, b.op, b.inc, b.ver, b.drops}
	return slices.Compare(x[:], y[:]) < 0
}

// explore visits every state that can be reached, breadth first. When one
// breaks an invariant it returns a shortest way there.
func (d design) explore(first state) (states int, broken violation, way []string) {
	type visit struct {
		state state
		from  int
		label string
	}
	visits := []visit{{state: first, from: -1}}
	seen := map[state]struct{}{first.key(): {}}
	for i := 0; i < len(visits); i++ {
		if broken = visits[i].state.check(); broken != "" {
			for ; visits[i].from >= 0; i = visits[i].from {
				way = append(way, visits[i].label)
			}
			slices.Reverse(way)
			return len(visits), broken, way
		}
		for _, m := range d.moves(visits[i].state) {
			k := m.next.key()
			if _, ok := seen[k]; !ok {
				seen[k] = struct{}{}
				visits = append(visits, visit{m.next, i, m.label})
			}
		}
	}
	return len(visits), "", nil
}

// budgets are what is explored: leaders that come and go, and drops that are
// taken back. The build tag "robustness" sets larger ones.
var budgets = map[string]budget{
	"takeovers": {takeovers: 2, versions: 3},
	"undrops":   {takeovers: 1, undrops: 2, versions: 2},
}

// TestEveryInterleaving: no order of steps of two threads, a purge and two
// appends breaks an invariant.
func TestEveryInterleaving(t *testing.T) {
	for label, b := range budgets {
		t.Run(label, func(t *testing.T) {
			states, broken, way := design{}.explore(state{budget: b})
			require.Empty(t, broken, strings.Join(way, "\n"))
			t.Logf("%d states", states)
			require.Greater(t, states, 10_000)
		})
	}
}

// TestEveryPartIsNeeded leaves out one part of the protocol at a time, and
// expects the invariant that falls without it.
func TestEveryPartIsNeeded(t *testing.T) {
	for label, tc := range map[string]struct {
		without design
		breaks  string
	}{
		"fence":                         {design{noFence: true}, "I9"},
		"operation record":              {design{noRecord: true}, "I1"},
		"publication before the answer": {design{ackUnfinished: true}, "does not open"},
		"publication of the base":       {design{noBase: true}, "does not open"},
		"undrop guards the procedure":   {design{blindUndrop: true}, "I3"},
		"exact tombstone":               {design{anyTombstone: true}, "I3"},
		"incarnation named":             {design{noName: true}, "I4"},
		"settling before the end":       {design{noSettle: true}, "I7"},
		"retired pointer":               {design{noRetire: true}, "I5"},
	} {
		t.Run(label, func(t *testing.T) {
			_, broken, way := tc.without.explore(state{budget: budget{takeovers: 2, undrops: 2, versions: 3}})
			require.NotEmpty(t, broken, "nothing falls")
			require.Contains(t, string(broken), tc.breaks)
			t.Logf("%s\n  %s", broken, strings.Join(way, "\n  "))
		})
	}
}
