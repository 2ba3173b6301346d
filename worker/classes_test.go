// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/workflows"
)

// hugeObjects is what one huge drop deletes. At two a second it would take a
// quarter of an hour.
const hugeObjects = 1500

// crowd is how many huge and small drops there are.
func crowd() (huge, small int) {
	if thorough {
		return 3, 2000
	}
	return 2, 100
}

// TestSmallDropsFinishWhileHugeOnesRun is a purge queue that does not grow:
// drops that would take long have the only place for bulk work, and small ones that
// begin later are all over before. (Report 20.)
func TestSmallDropsFinishWhileHugeOnesRun(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	short := d.options()
	short.Classes = []workflows.Class{workflows.ShortClass}
	d.work(t, short)
	larges, smalls := crowd()
	var huge, small []workflows.DropStep
	for i := range larges {
		step := d.dropped(t, fmt.Sprintf("huge%d", i), hugeObjects)
		huge = append(huge, step)
		setRate(t, d, step, 2)
		d.start(t, step)
	}
	bulk := d.options()
	bulk.Temporal, bulk.Classes, bulk.BulkSlots = dial(t, d.temporal), []workflows.Class{workflows.BulkClass}, 1
	d.work(t, bulk)
	requireEstimates(t, d, huge)

	for i := range smalls {
		step := d.dropped(t, fmt.Sprintf("small%04d", i), 3)
		small = append(small, step)
		d.start(t, step)
	}
	d.wait(t, 10*time.Minute, small...)
	for _, step := range huge {
		require.False(t, d.Procedure(t, step).State.Terminal(), "%s was to take a quarter of an hour", step.Ref())
		require.NotZero(t, d.ObjectsLeft(t, step))
		setRate(t, d, step, 0)
	}
	d.wait(t, 5*time.Minute, huge...)
	for _, step := range append(huge, small[0], small[smalls-1]) {
		d.RequireGone(t, step)
	}
	require.NoError(t, d.starter.Wait(t.Context(), huge[0].Ref()))
	require.Contains(t, queuesOf(t, d, huge[0]), workflows.BulkTaskQueue)
	require.NotContains(t, queuesOf(t, d, small[0]), workflows.BulkTaskQueue)
	capture(t, d.client, "droptable/inplace-bulk", huge[0].Ref().String())
}

func setRate(t *testing.T, d *deployment, step workflows.DropStep, rate float64) {
	t.Helper()
	_, err := d.Catalog.Order(t.Context(), catalog.DropKind, step.Ref().ID, catalog.Order{Action: catalog.ActionRate, Rate: rate, By: "ann"})
	require.NoError(t, err)
}

// requireEstimates waits until the drops have been counted and tell when they end,
// in their records and in Temporal.
func requireEstimates(t *testing.T, d *deployment, steps []workflows.DropStep) {
	t.Helper()
	for _, step := range steps {
		require.Eventually(t, func() bool {
			p := d.Procedure(t, step)
			eta, ok := p.ETA()
			s, err := d.starter.Status(t.Context(), step.Ref())
			return ok && p.Progress.Total == hugeObjects && p.Progress.PerSecond > 0 && p.Progress.PerSecond < 20 && eta.After(p.UpdatedAt) &&
				err == nil && s.Estimate != nil && s.Estimate.Total == hugeObjects && s.Estimate.End != nil
		}, 2*time.Minute, 100*time.Millisecond, "%s tells no end", step.Ref())
	}
}

// queuesOf are the queues that the activities of a drop were put into.
func queuesOf(t *testing.T, d *deployment, step workflows.DropStep) (queues []string) {
	t.Helper()
	for _, e := range historyOf(t, d.client, step.Ref().String()).Events {
		if e.EventType == enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			queues = append(queues, e.GetActivityTaskScheduledEventAttributes().TaskQueue.Name)
		}
	}
	return queues
}

// TestASignalFromTemporalsPagesIsInTheAudit: a pause that nobody gave by `lake
// procedure` has its line all the same.
func TestASignalFromTemporalsPagesIsInTheAudit(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	d.work(t, d.options())
	step := d.Drop(t, d.Table(t, lake.TableName{Namespace: "robots", Name: "kept"}, 2, 5), time.Now().Add(time.Hour))
	d.start(t, step)
	id := step.Ref().String()
	signal := func(name string, input any) {
		require.NoError(t, d.client.SignalWorkflow(t.Context(), id, "", name, input))
	}
	signal(workflows.PauseSignal, map[string]string{"by": "ann", "reason": "looks wrong"})
	signal(workflows.ResumeSignal, nil)
	require.NoError(t, d.starter.Resume(t.Context(), step.Ref())) // as who has recorded it
	signal(workflows.PauseSignal, "a text, by mistake")
	var lines []string
	require.Eventually(t, func() bool {
		page, _, err := d.Catalog.Audit(t.Context(), catalog.DropKind, step.Ref().ID, "", 100)
		require.NoError(t, err)
		lines = nil
		for _, e := range page {
			if e.Via == "temporal-signal" {
				lines = append(lines, string(e.Action)+" by "+e.By)
			}
		}
		return len(lines) >= 3
	}, time.Minute, 50*time.Millisecond)
	require.ElementsMatch(t, []string{"pause by ann", "resume by unknown", "pause by unknown"}, lines)
	require.False(t, d.Procedure(t, step).Paused, "a signal is no order")
	require.True(t, d.Undrop(t, step))
	signal(workflows.ResumeSignal, map[string]string{"by": "ann"})
	require.NoError(t, d.starter.Wait(t.Context(), step.Ref()))
	capture(t, d.client, "droptable/inplace-signalled", id)
}

func TestUnknownClassesAreRefused(t *testing.T) {
	err := worker.Options{Classes: []workflows.Class{"large"}, BulkSlots: -1}.Validate()
	require.ErrorContains(t, err, `class "large": want one of [short bulk]`)
	require.ErrorContains(t, err, "-1 for bulk")
}
