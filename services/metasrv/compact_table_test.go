// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"google.golang.org/grpc/codes"

	"github.com/lakeplane/lake/activities/maintain"
	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/metasrv"
	"github.com/lakeplane/lake/workflows"
)

// maintainer runs the real activity of a maintenance beside an authority.
func maintainer(t *testing.T, a *authority, e *enginelance.Engine) func(id string) workflows.MaintenanceProgress {
	t.Helper()
	steps, err := maintain.New(a.records, nil, map[string]maintain.Engine{enginelance.Name: e}, maintain.Options{})
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(steps.Compact, activity.RegisterOptions{Name: workflows.MaintenanceCompact})
	return func(id string) (out workflows.MaintenanceProgress) {
		in, err := workflows.ParseTableMaintenanceID(id)
		require.NoError(t, err)
		v, err := env.ExecuteActivity(workflows.MaintenanceCompact, in.Step())
		require.NoError(t, err)
		require.NoError(t, v.Get(&out))
		return out
	}
}

// TestCompactionBesideALeader compacts a table again and again while a leader,
// which keeps the table in memory, appends to it. An advance that is not the
// leader's makes its next commit conflict and be staged again, and nothing else.
func TestCompactionBesideALeader(t *testing.T) {
	store, storage, closeAll := onDisk{t.TempDir()}.open(t)
	defer closeAll()
	a := startOn(t, store, storage, func(o *metasrv.Options) { o.Engine = storage })
	defer a.stop()
	compact := maintainer(t, a, storage)
	a.create(t, "a", "t")
	request := &lakepb.CompactTableRequest{Name: nameOf("a", "t")}

	const appends, rounds = 60, 4
	var appending sync.WaitGroup
	appending.Go(func() {
		for i := range appends {
			if _, err := a.put(t.Context(), newOp(t, "a", "t", int64(i))); err != nil {
				t.Error(err)
				return
			}
		}
	})
	versions := int64(0)
	for range rounds {
		asked, err := a.catalog.CompactTable(t.Context(), request)
		require.NoError(t, err)
		out := compact(asked.GetProcedureId())
		require.True(t, out.Over)
		versions += out.Counters[workflows.CountVersions]
	}
	appending.Wait()
	requireEach(t, a, appends)
	asked, err := a.catalog.CompactTable(t.Context(), request)
	require.NoError(t, err)
	versions += compact(asked.GetProcedureId()).Counters[workflows.CountVersions]
	requireEach(t, a, appends)
	require.Positive(t, versions)
	table, err := a.catalog.GetTable(t.Context(), &lakepb.GetTableRequest{Name: nameOf("a", "t")})
	require.NoError(t, err)
	require.LessOrEqual(t, table.GetSnapshot().GetVersion(), uint64(1+appends+versions))

	// The leader finds out by itself that it was overtaken.
	last, err := a.put(t.Context(), newOp(t, "a", "t", appends))
	require.NoError(t, err)
	require.Equal(t, table.GetSnapshot().GetVersion()+1, last.GetVersion())
	requireEach(t, a, appends+1)
}

func TestCompactTableRecordsTheIntentOnce(t *testing.T) {
	store, storage, closeAll := onDisk{t.TempDir()}.open(t)
	defer closeAll()
	a := startOn(t, store, storage, func(o *metasrv.Options) { o.Engine = storage })
	defer a.stop()
	made := a.create(t, "a", "t")
	for i := range 3 {
		_, err := a.put(t.Context(), newOp(t, "a", "t", int64(i)))
		require.NoError(t, err)
	}
	id := "a/t/" + made.GetSnapshot().GetIncarnation()
	dry, err := a.catalog.CompactTable(t.Context(), &lakepb.CompactTableRequest{Name: nameOf("a", "t"), DryRun: true})
	require.NoError(t, err)
	require.Equal(t, []uint64{3, 1}, []uint64{dry.GetPartsBefore(), dry.GetPartsAfter()})
	require.True(t, dry.GetDryRun())
	_, err = a.records.Procedure(t.Context(), catalog.MaintenanceKind, id)
	require.True(t, lake.Is(err, lake.NotFound), "a dry run records nothing: %v", err)

	a.starter.refuse(lake.Errorf(lake.Unavailable, "Temporal is down"))
	var epochs []catalog.Procedure
	for range 2 {
		resp, err := a.catalog.CompactTable(t.Context(), &lakepb.CompactTableRequest{Name: nameOf("a", "t")})
		require.NoError(t, err, "the answer does not depend on Temporal")
		require.Equal(t, id, resp.GetProcedureId())
		require.Equal(t, "http://ui/table-maintenance/"+id, resp.GetUiUrl())
		p, err := a.records.Procedure(t.Context(), catalog.MaintenanceKind, id)
		require.NoError(t, err)
		epochs = append(epochs, p)
	}
	require.Equal(t, epochs[0].Raw(), epochs[1].Raw(), "an open intent is shared")
	require.Equal(t, catalog.ProcedurePending, epochs[0].State)

	_, err = a.catalog.CompactTable(as(t.Context(), "red"), &lakepb.CompactTableRequest{Name: nameOf("a", "t")})
	requireCode(t, codes.NotFound, err)
	_, err = a.catalog.CompactTable(t.Context(), &lakepb.CompactTableRequest{Name: nameOf("a", "none")})
	requireCode(t, codes.NotFound, err)
	page, err := a.procedures.ListProcedures(t.Context(), &lakepb.ListProceduresRequest{Kind: catalog.MaintenanceKind})
	require.NoError(t, err)
	require.Len(t, page.GetProcedures(), 1)
}

func TestCompactTableNeedsAnEngineThatCan(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	_, err := a.catalog.CompactTable(t.Context(), &lakepb.CompactTableRequest{Name: nameOf("a", "t")})
	requireCode(t, codes.Unimplemented, err, "no compaction")
}
