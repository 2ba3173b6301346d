// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/activities/sweep"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/workflows"
)

// TestEverythingIsRebuiltWithoutTemporalsDatabase loses all that Temporal knew
// in the middle of things, and begins again with an empty one.
func TestEverythingIsRebuiltWithoutTemporalsDatabase(t *testing.T) {
	db := filepath.Join(t.TempDir(), "temporal.db")
	first := startTemporal(t, db)
	d := deploy(t, memoryStore(t), first)
	d.objects.delay = 3 * time.Millisecond
	stop := d.work(t, d.options())
	half := d.dropped(t, "half", 400)
	d.start(t, half)
	d.middle(t, 60)
	paused := d.dropped(t, "paused", 20)
	order(t, d, paused, catalog.ActionPause)
	d.start(t, paused)
	cancelled := d.dropped(t, "cancelled", 20)
	order(t, d, cancelled, catalog.ActionCancel)
	waiting := d.Drop(t, d.Table(t, lake.TableName{Namespace: "robots", Name: "waiting"}, 1, 5), time.Now().Add(time.Hour))
	d.start(t, waiting)
	_, _, err := d.Catalog.StartProcedure(t.Context(), catalog.Procedure{Kind: catalog.OperationGCKind, ID: workflows.OperationGCID}, "ann", "", "")
	require.NoError(t, err)
	stop()
	require.NotZero(t, d.ObjectsLeft(t, half), "nothing is left to be rebuilt")
	require.NoError(t, first.Stop(5*time.Second))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(db + suffix); err != nil {
			require.ErrorIs(t, err, os.ErrNotExist)
		}
	}

	second := startTemporal(t, db)
	d.temporal, d.client = second, dial(t, second)
	d.starter = workflows.NewClient(d.client, second.Namespace(), "")
	var lost []string
	look := sweep.New(d.Catalog, d.starter, sweep.Options{StartEvery: time.Millisecond})
	result, err := look.All(t.Context(), func(ref workflows.Ref) bool { lost = append(lost, ref.String()); return false })
	require.NoError(t, err)
	require.ElementsMatch(t, []string{half.Ref().String(), paused.Ref().String(), waiting.Ref().String(), workflows.OperationGCRef().String()}, lost)
	require.EqualValues(t, 1, result.Stopped)
	require.Zero(t, result.Started, "a look starts nothing")

	_, err = worker.Ensure(t.Context(), d.client, worker.Deployment{Namespace: second.Namespace(), Periods: periods(time.Hour)}, worker.Bring)
	require.NoError(t, err)
	result, err = look.All(t.Context(), nil)
	require.NoError(t, err)
	require.EqualValues(t, 4, result.Started)
	opts := d.options()
	registry := prometheus.NewRegistry()
	opts.Metrics = registry
	opts.SweepEvery = time.Second
	d.work(t, opts)
	d.wait(t, time.Minute, half)
	d.RequireGone(t, half)
	require.Eventually(t, func() bool {
		gc, err := d.Catalog.Procedure(t.Context(), catalog.OperationGCKind, workflows.OperationGCID)
		return err == nil && gc.State == catalog.ProcedureCompleted
	}, 30*time.Second, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		s, err := d.starter.Status(t.Context(), paused.Ref())
		return err == nil && s.Phase == workflows.PhasePaused
	}, 30*time.Second, 50*time.Millisecond, "a pause was lost with Temporal's database")
	require.Equal(t, 20, d.ObjectsLeft(t, paused))
	require.Equal(t, 20, d.ObjectsLeft(t, cancelled))
	require.Equal(t, 5, d.ObjectsLeft(t, waiting))
	for _, want := range []struct {
		kind, what string
		n          float64
	}{{"drop-table", "waiting", 1}, {"drop-table", "due", 1}, {"drop-table", "stopped", 1}, {"operation-gc", "due", 0}} {
		require.Eventually(t, func() bool {
			n, ok := gauge(t, registry, "lake_procedure_backlog", want.kind, want.what)
			return ok && n == want.n
		}, 30*time.Second, 100*time.Millisecond, "%+v", want)
	}

	// What the operators held goes on when they say so.
	order(t, d, paused, catalog.ActionResume)
	require.NoError(t, d.starter.Resume(t.Context(), paused.Ref()))
	order(t, d, cancelled, catalog.ActionRetry)
	d.start(t, cancelled)
	d.wait(t, time.Minute, paused, cancelled)
	d.RequireGone(t, paused)
	d.RequireGone(t, cancelled)
}

func order(t *testing.T, d *deployment, step workflows.DropStep, action catalog.Action) {
	t.Helper()
	_, err := d.Catalog.Order(t.Context(), catalog.DropKind, step.Ref().ID, catalog.Order{Action: action, By: "ann", Reason: "test"})
	require.NoError(t, err)
}

// gauge is the value of a series by its labels' values, in any order.
func gauge(t *testing.T, registry *prometheus.Registry, name string, labels ...string) (float64, bool) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.Metric {
			found := 0
			for _, l := range m.Label {
				for _, want := range labels {
					if l.GetValue() == want {
						found++
					}
				}
			}
			if f.GetName() == name && found == len(labels) {
				return m.GetGauge().GetValue(), true
			}
		}
	}
	return 0, false
}
