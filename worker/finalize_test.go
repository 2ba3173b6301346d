// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/activities/migrate"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

// update sends an update to a procedure and returns how it went.
func (d *deployment) update(t *testing.T, ref workflows.Ref, name string, in workflows.OrderInput) error {
	t.Helper()
	handle, err := d.client.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: ref.String(), UpdateName: name, Args: []any{in}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(t.Context(), nil)
}

// TestCatalogFinalize makes a deployment of an older release authoritative on a
// real server: blocked while a writer of that release lives, approved by an
// update that refuses what is not complete, and idempotent.
func TestCatalogFinalize(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	d.Table(t, lake.TableName{Namespace: "robots", Name: "t"}, 1, 0)
	leader := catalog.Peer{Role: catalog.RoleMeta, Instance: d.Fence().Holder(), Capabilities: catalog.Capabilities()}
	require.NoError(t, d.Catalog.Announce(t.Context(), leader))
	old := catalog.Peer{Role: catalog.RoleMeta, Instance: "old", Address: "old.example:50052", Version: "0.1"}
	require.NoError(t, d.Catalog.Announce(t.Context(), old))
	opts := d.options()
	opts.CatalogFinalize = migrate.Options{Lease: lease.Options{TTL: 4 * time.Second}}
	d.work(t, opts)

	ref := workflows.CatalogFinalizeRef()
	start := func() {
		_, _, err := d.Catalog.StartProcedure(t.Context(), catalog.Procedure{Kind: string(ref.Kind), ID: ref.ID}, "ann", "", "older tables")
		require.NoError(t, err)
		require.NoError(t, d.starter.Start(t.Context(), string(ref.Kind), ref.ID))
	}
	record := func() catalog.Procedure {
		p, err := d.Catalog.Procedure(t.Context(), string(ref.Kind), ref.ID)
		require.NoError(t, err)
		return p
	}
	phase := func(want workflows.Phase) {
		t.Helper()
		require.Eventually(t, func() bool {
			s, err := d.starter.Status(t.Context(), ref)
			return err == nil && s.Phase == want
		}, 30*time.Second, 20*time.Millisecond)
	}
	start()
	phase(workflows.PhaseBlocked)
	require.Contains(t, record().LastError, "metadata server old")
	both := []string{workflows.AckWriterRollout, workflows.AckWriteQuiescence}
	require.ErrorContains(t, d.update(t, ref, workflows.ApproveUpdate, workflows.OrderInput{By: "ann", Reason: "now", Acknowledgements: both}), "waits for no approval")
	require.NoError(t, d.Catalog.Leave(t.Context(), old.Role, old.Instance))
	require.NoError(t, d.starter.Resume(t.Context(), ref))
	phase(workflows.PhaseApproval)
	require.ErrorContains(t, d.update(t, ref, workflows.ApproveUpdate, workflows.OrderInput{By: "ann", Reason: "now", Acknowledgements: both[:1]}), "is missing")
	require.ErrorContains(t, d.update(t, ref, workflows.ApproveUpdate, workflows.OrderInput{Acknowledgements: both}), `"by" and "reason"`)
	ok, err := d.Catalog.Authoritative(t.Context())
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, d.update(t, ref, workflows.ApproveUpdate, workflows.OrderInput{By: "ann", Reason: "now", Acknowledgements: both}))
	require.NoError(t, d.starter.Wait(t.Context(), ref))
	capture(t, d.client, "migration/finalized", ref.String())
	require.Equal(t, catalog.ProcedureCompleted, record().State)
	ok, err = d.Catalog.Authoritative(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	dir, err := d.Catalog.Directory(t.Context(), "")
	require.NoError(t, err)

	start()
	require.NoError(t, d.starter.Wait(t.Context(), ref))
	require.Equal(t, catalog.ProcedureCompleted, record().State)
	again, err := d.Catalog.Directory(t.Context(), dir.Generation)
	require.NoError(t, err)
	require.True(t, again.NotModified, "a second run changed the generation")
}

// TestADropTakesItsRateByAnUpdate is the way of Temporal's UI: the update
// records the order, and the page under way meets it.
func TestADropTakesItsRateByAnUpdate(t *testing.T) {
	d := deploy(t, memoryStore(t), startTemporal(t, ""))
	step := d.dropped(t, "t", 400)
	_, err := d.Catalog.Order(t.Context(), catalog.DropKind, step.Ref().ID, catalog.Order{Action: catalog.ActionRate, Rate: 40, By: "ann"})
	require.NoError(t, err)
	d.work(t, d.options())
	began := time.Now()
	d.start(t, step)
	d.middle(t, 80)
	require.Greater(t, time.Since(began), 900*time.Millisecond, "40 a second were allowed")
	require.ErrorContains(t, d.update(t, step.Ref(), workflows.RateUpdate, workflows.OrderInput{By: "ann", Reason: "x", Rate: -1}), "want 0 for no bound")
	require.NoError(t, d.update(t, step.Ref(), workflows.RateUpdate, workflows.OrderInput{By: "ann", Reason: "the night is long", Rate: 0}))
	d.wait(t, 6*time.Second, step) // eight at the rate
	d.RequireGone(t, step)
	capture(t, d.client, "droptable/inplace-rated", step.Ref().String())
}
