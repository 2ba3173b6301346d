// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/activities/drop"
	"github.com/lakeplane/lake/activities/drop/droptest"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/workflows"
)

// TestWhatIsBlockedOrHeldShowsItAndGoesOn: a step that no repetition helps is shown
// with its error and waits, and so does a drop whose record is held; both go on when an
// operator says so.
func TestWhatIsBlockedOrHeldShowsItAndGoesOn(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	opts := d.options()
	opts.Engines = map[string]drop.Engine{"another": droptest.Engine}
	stop := d.work(t, opts)
	shows := func(step workflows.DropStep, phase workflows.Phase) (s workflows.Status) {
		t.Helper()
		require.Eventually(t, func() (ok bool) {
			var err error
			s, err = d.starter.Status(t.Context(), step.Ref())
			return err == nil && s.Phase == phase
		}, 30*time.Second, 20*time.Millisecond)
		return s
	}
	goOn := func(step workflows.DropStep, shape string) {
		t.Helper()
		require.NoError(t, d.starter.Resume(t.Context(), step.Ref()))
		require.NoError(t, d.client.GetWorkflow(t.Context(), step.Ref().String(), "").Get(t.Context(), nil))
		d.RequireGone(t, step)
		capture(t, d.client, "droptable/"+shape, step.Ref().String())
	}

	blocked := d.dropped(t, "blocked", 5)
	d.start(t, blocked)
	require.Contains(t, shows(blocked, workflows.PhaseBlocked).LastError, "which this worker does not have")
	require.Contains(t, d.Procedure(t, blocked).LastError, "which this worker does not have", "without Temporal, too")
	require.Equal(t, 5, d.ObjectsLeft(t, blocked))
	stop()
	d.work(t, d.options())
	goOn(blocked, "inplace-blocked")

	held := d.dropped(t, "held", 5)
	order(t, d, held, catalog.ActionPause)
	d.start(t, held)
	shows(held, workflows.PhasePaused)
	require.Equal(t, 5, d.ObjectsLeft(t, held))
	order(t, d, held, catalog.ActionResume)
	goOn(held, "inplace-held")
}
