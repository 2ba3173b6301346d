// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sweep_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/lakeplane/lake/activities/drop/droptest"
	"github.com/lakeplane/lake/activities/sweep"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/workflows"
)

// temporal is a Temporal that only knows what is open.
type temporal struct {
	open      map[string]bool
	started   []string
	rechecked []string
	startErr  map[string]error
	openErr   error
}

func (f *temporal) Start(_ context.Context, kind, id string) error {
	if err := f.startErr[id]; err != nil {
		return err
	}
	f.started = append(f.started, kind+"/"+id)
	return nil
}

func (f *temporal) Open(_ context.Context, kind workflows.Kind) (map[string]bool, error) {
	open := map[string]bool{}
	for id := range f.open {
		if k, _, _ := strings.Cut(id, "/"); k == string(kind) || k == "not" && kind == workflows.DropTableKind {
			open[id] = true
		}
	}
	return open, f.openErr
}

func (f *temporal) Recheck(_ context.Context, ref workflows.Ref) error {
	f.rechecked = append(f.rechecked, ref.String())
	return nil
}

// dropped returns a world with n dropped tables, the i-th due since i hours,
// and their procedures.
func dropped(t *testing.T, n int) (*droptest.World, []workflows.Ref) {
	t.Helper()
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	w := droptest.New(t, store, objstore.Store(nil))
	var refs []workflows.Ref
	for i := range n {
		table := w.Table(t, lake.TableName{Namespace: "ns", Name: fmt.Sprintf("t%d", i)}, 1, 0)
		refs = append(refs, w.Drop(t, table, time.Now().Add(-time.Duration(i)*time.Hour)).Ref())
	}
	return w, refs
}

func run(t *testing.T, a *sweep.Activities, step workflows.SweepStep) (workflows.SweepResult, error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(a.Sweep, activity.RegisterOptions{Name: workflows.SweepActivity})
	v, err := env.ExecuteActivity(workflows.SweepActivity, step)
	if err != nil {
		return workflows.SweepResult{}, err
	}
	var r workflows.SweepResult
	return r, v.Get(&r)
}

func TestItStartsWhatHasNoWorkflow(t *testing.T) {
	w, refs := dropped(t, 4)
	f := &temporal{open: map[string]bool{refs[1].String(): true}}
	r, err := run(t, sweep.New(w.Catalog, f, sweep.Options{StartEvery: 1}), workflows.SweepStep{})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{refs[0].String(), refs[2].String(), refs[3].String()}, f.started)
	require.EqualValues(t, 4, r.Intents)
	require.EqualValues(t, 1, r.Live)
	require.EqualValues(t, 3, r.Started)
	require.InDelta(t, 3*3600, r.OldestSeconds, 60)
	require.Empty(t, r.Cursor)
	require.Empty(t, f.rechecked)
}

func TestOneBadIntentKeepsNobodyWaiting(t *testing.T) {
	w, refs := dropped(t, 3)
	f := &temporal{startErr: map[string]error{refs[0].ID: lake.Errorf(lake.Unavailable, "start at https://user:pw@host/x refused")}}
	r, err := run(t, sweep.New(w.Catalog, f, sweep.Options{StartEvery: 1}), workflows.SweepStep{})
	require.NoError(t, err)
	require.Len(t, f.started, 2)
	require.EqualValues(t, 1, r.Failed)
	require.Contains(t, r.LastError, "refused")
	require.NotContains(t, r.LastError, "pw")
}

func TestItIsPaged(t *testing.T) {
	w, refs := dropped(t, 7)
	f := &temporal{}
	a := sweep.New(w.Catalog, f, sweep.Options{Page: 2, Pages: 1, StartEvery: 1})
	var total workflows.SweepResult
	rounds := 0
	for step := (workflows.SweepStep{}); ; rounds++ {
		r, err := run(t, a, step)
		require.NoError(t, err)
		total.Add(r)
		if step.Cursor = r.Cursor; step.Cursor == "" {
			break
		}
	}
	require.Len(t, f.started, len(refs))
	require.EqualValues(t, len(refs), total.Intents)
	require.GreaterOrEqual(t, rounds, 3)
}

func TestAWorkflowWithoutAnIntentIsToldToLook(t *testing.T) {
	w, refs := dropped(t, 1)
	orphan := workflows.DropTableRef(lake.TableName{Namespace: "ns", Name: "undropped"}, lake.NewID())
	f := &temporal{open: map[string]bool{refs[0].String(): true, orphan.String(): true, "not/ours": true}}
	r, err := run(t, sweep.New(w.Catalog, f, sweep.Options{}), workflows.SweepStep{})
	require.NoError(t, err)
	require.Equal(t, []string{orphan.String()}, f.rechecked)
	require.EqualValues(t, 2, r.Orphans)
}

func TestItFailsWhenTemporalDoesNotAnswer(t *testing.T) {
	w, _ := dropped(t, 1)
	f := &temporal{openErr: lake.Errorf(lake.Unavailable, "away")}
	_, err := run(t, sweep.New(w.Catalog, f, sweep.Options{}), workflows.SweepStep{})
	require.ErrorContains(t, err, "away")
	require.Empty(t, f.started)
}

// The intents of other kinds are their open records.
func TestItStartsEveryKind(t *testing.T) {
	w, refs := dropped(t, 3)
	maintenance := workflows.TableMaintenanceRef(lake.TableName{Namespace: "ns", Name: "m"}, lake.NewID())
	ended := workflows.TableMaintenanceRef(lake.TableName{Namespace: "ns", Name: "n"}, lake.NewID())
	want := append(refs, maintenance, workflows.OperationGCRef())
	for _, ref := range []workflows.Ref{maintenance, ended, workflows.OperationGCRef()} {
		p, opened, err := w.Catalog.OpenProcedure(t.Context(), catalog.Procedure{Kind: string(ref.Kind), ID: ref.ID})
		require.NoError(t, err)
		require.True(t, opened)
		if ref == ended {
			next := p
			next.State = catalog.ProcedureCompleted
			_, err = w.Catalog.CommitProcedure(t.Context(), p, next)
			require.NoError(t, err)
		}
	}
	for _, pages := range []int{1, 2, 20} {
		f := &temporal{open: map[string]bool{workflows.OperationGCDryRunRef().String(): true}}
		a := sweep.New(w.Catalog, f, sweep.Options{Page: 2, Pages: pages, StartEvery: 1})
		var total workflows.SweepResult
		for step := (workflows.SweepStep{}); ; step.Cursor = total.Cursor {
			r, err := run(t, a, step)
			require.NoError(t, err)
			if total.Add(r); total.Cursor == "" {
				break
			}
		}
		var names []string
		for _, ref := range want {
			names = append(names, ref.String())
		}
		require.ElementsMatch(t, names, f.started, "%d pages at a time", pages)
		require.Empty(t, f.rechecked)
		require.Zero(t, total.Orphans)
	}
}

// damaged is a catalog of which some records do not decode.
type damaged struct {
	*catalog.Catalog
	record string // the id of a drop whose record does not
}

func (d damaged) Procedure(ctx context.Context, kind, id string) (catalog.Procedure, error) {
	if id == d.record {
		return catalog.Procedure{}, lake.Errorf(lake.Corrupt, "record of %s does not decode", id)
	}
	return d.Catalog.Procedure(ctx, kind, id)
}

// Damage keeps waiting what is damaged, and nothing else.
func TestADamagedRecordKeepsNobodyElseWaiting(t *testing.T) {
	w, refs := dropped(t, 3)
	_, _, err := w.Catalog.OpenProcedure(t.Context(), catalog.Procedure{Kind: catalog.OperationGCKind, ID: workflows.OperationGCID})
	require.NoError(t, err)
	gc := workflows.OperationGCRef().String()

	f := &temporal{}
	r, err := run(t, sweep.New(damaged{Catalog: w.Catalog, record: refs[0].ID}, f, sweep.Options{StartEvery: 1}), workflows.SweepStep{})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{refs[1].String(), refs[2].String(), gc}, f.started)
	require.EqualValues(t, 1, r.Failed)
	require.Contains(t, r.LastError, "does not decode")

	for _, at := range []string{"a", "ns/t1/0", "z"} { // before, among and behind the drops
		err = w.Store.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("drop/"+at, []byte("{"))}})
		require.NoError(t, err)
	}
	orphan := workflows.Ref{Kind: workflows.DropTableKind, ID: "ns/gone/" + lake.NewID().String()}.String()
	f = &temporal{open: map[string]bool{orphan: true}}
	r, err = run(t, sweep.New(w.Catalog, f, sweep.Options{StartEvery: 1, Page: 2}), workflows.SweepStep{})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{refs[0].String(), refs[1].String(), refs[2].String(), gc}, f.started)
	require.EqualValues(t, 3, r.Failed)
	require.Contains(t, r.LastError, "drop/z")
	require.Empty(t, f.rechecked, "what was not read is no orphan")
}
