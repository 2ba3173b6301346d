// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
)

// at is a procedure that has n of 1000 objects.
func at(n int64, p catalog.Progress) catalog.Procedure {
	return catalog.Procedure{State: catalog.ProcedureRunning, Counters: map[string]int64{"n": n}, Progress: p}
}

func TestTheRateOfAPhase(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := at(0, catalog.Progress{Of: "n", Total: 1000})
	step := func(n int64, seconds int) {
		next := at(n, p.Progress)
		next.Progress = catalog.Measured(p, next, began.Add(time.Duration(seconds)*time.Second))
		p = next
	}
	step(0, 0)
	require.Zero(t, p.Progress.PerSecond, "nothing has moved yet")
	_, ok := p.ETA()
	require.False(t, ok)
	step(10, 1)
	require.InDelta(t, 10, p.Progress.PerSecond, 1e-9)
	eta, ok := p.ETA()
	require.True(t, ok)
	require.Equal(t, began.Add(100*time.Second), eta)
	step(10, 5) // a renewal that moves nothing takes nothing away
	require.InDelta(t, 10, p.Progress.PerSecond, 1e-9)
	step(130, 7)
	require.InDelta(t, 11.8, p.Progress.PerSecond, 0.1, "six seconds at twenty a second weigh a fifth")
	for s := range 300 {
		step(p.Counters["n"]+1, 8+s)
	}
	require.InDelta(t, 1, p.Progress.PerSecond, 0.01, "what was long ago counts no more")
	step(p.Counters["n"]+400, 8+299+3600)
	require.Zero(t, p.Progress.PerSecond, "an hour in which nobody worked is no rate")
}

func TestNobodyTellsAnEndThatIsUnknown(t *testing.T) {
	moving := catalog.Progress{Of: "n", Total: 1000, PerSecond: 1, At: time.Now()}
	for name, change := range map[string]func(*catalog.Procedure){
		"over":          func(p *catalog.Procedure) { p.State = catalog.ProcedureCompleted },
		"held":          func(p *catalog.Procedure) { p.Paused = true },
		"not counted":   func(p *catalog.Procedure) { p.Progress.Total = 0 },
		"standing":      func(p *catalog.Procedure) { p.Progress.PerSecond = 0 },
		"more than all": func(p *catalog.Procedure) { p.Counters = map[string]int64{"n": 1001} },
		"centuries":     func(p *catalog.Procedure) { p.Progress.PerSecond = 1e-9 },
	} {
		p := at(10, moving)
		change(&p)
		_, ok := p.ETA()
		require.False(t, ok, name)
	}
}

// TestAResumeBeginsTheRateAnew: a night on hold is not how fast it goes.
func TestAResumeBeginsTheRateAnew(t *testing.T) {
	store := newHooked(t)
	c := catalog.New(store, catalog.Options{})
	intend(t, store, c, catalog.Procedure{Kind: "k", ID: "i", Progress: catalog.Progress{Of: "n", Total: 9, PerSecond: 3, At: time.Now()}})
	for _, action := range []catalog.Action{catalog.ActionPause, catalog.ActionResume} {
		_, err := c.Order(t.Context(), "k", "i", catalog.Order{Action: action, By: "ann"})
		require.NoError(t, err)
	}
	p, err := c.Procedure(t.Context(), "k", "i")
	require.NoError(t, err)
	require.Zero(t, p.Progress.PerSecond)
	require.EqualValues(t, 9, p.Progress.Total, "the total stays")
}

func TestANoteIsInTheAuditAndChangesNothing(t *testing.T) {
	store := newHooked(t)
	c := catalog.New(store, catalog.Options{})
	before := intend(t, store, c, catalog.Procedure{Kind: "k", ID: "i", Phase: "p"})
	require.NoError(t, c.Note(t.Context(), "k", "i", catalog.Entry{Action: catalog.ActionPause, By: "ann", Via: "signal", Reason: "r"}))
	audit, _, err := c.Audit(t.Context(), "k", "i", "", 10)
	require.NoError(t, err)
	require.Len(t, audit, 1)
	require.Equal(t, "p", audit[0].Phase)
	after, err := c.Procedure(t.Context(), "k", "i")
	require.NoError(t, err)
	require.Equal(t, before.Raw(), after.Raw())
}
