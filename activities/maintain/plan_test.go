// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package maintain_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/activities/maintain"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/workflows"
)

func TestThePlannerStartsWhatIsWorthIt(t *testing.T) {
	f := setup(t, maintain.Options{Saved: 4})
	worth := f.Appended(t, name, 5)
	f.Appended(t, lake.TableName{Namespace: "robots", Name: "few"}, 3)
	f.Table(t, lake.TableName{Namespace: "robots", Name: "empty"})
	out := f.plan(t, workflows.PlanStep{})
	ref := workflows.TableMaintenanceRef(name, worth.Snapshot.Incarnation)
	require.Equal(t, []string{ref.String()}, f.starts.ids)
	require.Equal(t, workflows.PlanResult{Looked: 2, Intended: 1, Started: 1}, out)
	require.Equal(t, catalog.ProcedurePending, f.Procedure(t, ref).State)

	// What is under way is not asked for again.
	require.Zero(t, f.plan(t, workflows.PlanStep{}).Intended)
	_, err := f.compact(workflows.MaintenanceStep{Namespace: "robots", Name: "t", Incarnation: worth.Snapshot.Incarnation})
	require.NoError(t, err)
	require.Zero(t, f.plan(t, workflows.PlanStep{}).Intended, "nothing is left to join")
	table := f.Now(t, name)
	for i := range int64(5) {
		table = f.Append(t, table, 50+10*i, 10)
	}
	require.EqualValues(t, 1, f.plan(t, workflows.PlanStep{}).Intended, "the record is used again")
	require.EqualValues(t, 1, f.Procedure(t, ref).Epoch, "its epoch goes on")
}

// A manifest is read only when enough versions were made since the last time.
func TestUnchangedTablesAreNotLookedAt(t *testing.T) {
	f := setup(t, maintain.Options{Saved: 100})
	table := f.Appended(t, name, 4)
	f.plan(t, workflows.PlanStep{})
	require.EqualValues(t, 1, f.engine.looks.Load())
	f.Append(t, table, 40, 10)
	f.plan(t, workflows.PlanStep{})
	require.EqualValues(t, 1, f.engine.looks.Load())
	for i := range int64(10) {
		f.Append(t, f.Now(t, name), 50+10*i, 10)
	}
	f.plan(t, workflows.PlanStep{})
	require.EqualValues(t, 2, f.engine.looks.Load())
}

func TestARunStartsOnlySoManyAndTheNextGoesOn(t *testing.T) {
	f := setup(t, maintain.Options{Saved: 2, Tables: 2})
	for i := range 5 {
		f.Appended(t, lake.TableName{Namespace: "robots", Name: fmt.Sprintf("t%d", i)}, 3)
	}
	for round, want := range []int64{2, 2, 1, 0} {
		out := f.plan(t, workflows.PlanStep{})
		require.Equal(t, want, out.Intended, "round %d", round)
		require.Empty(t, out.Cursor)
	}
	require.Len(t, f.starts.ids, 5)
	require.Zero(t, f.plan(t, workflows.PlanStep{Intended: 2}).Intended, "earlier page sets of the run count")
}

// One bad table must not keep the others waiting.
func TestAFailedStartIsLeftToTheSweep(t *testing.T) {
	f := setup(t, maintain.Options{Saved: 2})
	f.starts.err = lake.Errorf(lake.Unavailable, "Temporal at http://x/y is away")
	for i := range 3 {
		f.Appended(t, lake.TableName{Namespace: "robots", Name: fmt.Sprintf("t%d", i)}, 3)
	}
	out := f.plan(t, workflows.PlanStep{})
	require.Equal(t, []int64{3, 0, 3}, []int64{out.Intended, out.Started, out.Failed})
	require.NotContains(t, out.LastError, "http")
}

func TestRecordsOfEndedMaintenancesAreForgotten(t *testing.T) {
	now := time.Now()
	f := setup(t, maintain.Options{Saved: 100, Now: func() time.Time { return now }})
	done := f.Intend(t, f.Appended(t, name, 3))
	open := f.Intend(t, f.Appended(t, lake.TableName{Namespace: "robots", Name: "open"}, 3))
	_, err := f.compact(done)
	require.NoError(t, err)
	require.Zero(t, f.plan(t, workflows.PlanStep{}).Forgotten, "people still look for it")
	now = now.Add(2 * time.Hour)
	require.EqualValues(t, 1, f.plan(t, workflows.PlanStep{}).Forgotten)
	_, err = f.Catalog.Procedure(t.Context(), catalog.MaintenanceKind, done.Ref().ID)
	require.True(t, lake.Is(err, lake.NotFound), "%v", err)
	require.Equal(t, catalog.ProcedurePending, f.Procedure(t, open.Ref()).State)
	page, err := f.Store.Scan(t.Context(), "procedure/", "", metastore.MaxPage)
	require.NoError(t, err)
	require.Len(t, page.Records, 1, "no record leaks")
}

func TestOptionsReportEveryMistake(t *testing.T) {
	bad := maintain.Options{Saved: -1, Beat: time.Hour}
	err := bad.Validate()
	require.ErrorContains(t, err, "negative")
	require.ErrorContains(t, err, "a quarter of the lease")
}
