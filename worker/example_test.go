// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/workflows"
	"github.com/lakeplane/lake/workflows/control"
)

// This file is a whole procedure on one page, the example of CONTRIBUTING: it copies
// the records below example-old/ to example-new/.

// 1. Names: a kind, an id, the workflow's type and its activity.
const (
	copyWorkflow = "ExampleCopy"
	copyPage     = "ExampleCopy.Page"
	copied       = "records_copied"
)

var copyRef = workflows.Ref{Kind: "example-copy", ID: "deployment"}

// copyInput is what it is started with, and what it takes along into a fresh history.
type copyInput struct {
	Carry workflows.Carry `json:"carry,omitzero"`
}

// copyProgress is what a step tells the workflow: a few numbers, never a page.
type copyProgress struct {
	Over     bool                `json:"over,omitempty"`
	Counters workflows.Counters  `json:"counters,omitempty"`
	Estimate *workflows.Estimate `json:"estimate,omitempty"`
}

// 2. The workflow reads like the runbook. The panel brings status, pause, resume,
// rates, the details in Temporal's pages, and patience with what fails.
func exampleCopy(ctx workflow.Context, in copyInput) error {
	panel, err := control.Open(ctx, copyRef, in.Carry)
	if err != nil {
		return err
	}
	err = copyAll(ctx, panel)
	if errors.Is(err, control.ErrHistoryFull) {
		in.Carry = panel.Carry()
		err = workflow.NewContinueAsNewError(ctx, copyWorkflow, in)
	}
	return panel.Close(err)
}

func copyAll(ctx workflow.Context, panel *control.Panel) error {
	if err := panel.Enter(ctx, "copying", "copying the records"); err != nil {
		return err
	}
	for {
		began := workflow.Now(ctx)
		page, err := control.Step[copyProgress](ctx, panel, control.PageOptions("copy records"), copyPage, copyInput{})
		if err != nil {
			return err
		}
		panel.Progress(ctx, began, page.Counters, page.Estimate)
		if page.Over {
			return panel.Enter(ctx, workflows.PhaseDone, "every record is copied")
		}
	}
}

// 3. The activity works under the lease. Each commit has a page's effects, the cursor
// and the counters, so running it twice, or beside an older attempt, is safe.
type copier struct {
	store  metastore.Store
	runner lease.Runner
}

func (c copier) page(ctx context.Context, _ copyInput) (out copyProgress, err error) {
	err = c.runner.Run(ctx, string(copyRef.Kind), copyRef.ID, func(ctx context.Context, l *lease.Lease) error {
		defer func() { out.Counters, out.Estimate = l.Record().Counters, lease.Estimate(l.Record()) }()
		for meter := (lease.Budget{Time: control.BeatWithin, Items: 30}).Start(ctx); ; {
			page, err := c.store.Scan(ctx, "example-old/", l.Record().Cursor, 8)
			if err != nil {
				return lake.Wrap("read a page", err)
			}
			if err := l.Commit(ctx, advance(page), effects(page)...); err != nil {
				return err
			}
			activity.RecordHeartbeat(ctx, page.Next)
			meter.Add(len(page.Records))
			switch {
			case page.Next == "":
				out.Over = true
				return l.Release(ctx, func(p *catalog.Procedure) { p.State, p.Phase = catalog.ProcedureCompleted, string(workflows.PhaseDone) })
			case meter.Spent() || l.Held(): // an operator's order is met at a page's end
				return l.Release(ctx, nil)
			}
		}
	})
	var ended *lease.EndedError
	if errors.As(err, &ended) {
		return copyProgress{Over: true, Counters: ended.Record.Counters}, nil
	}
	return out, err
}

// effects are what a page changes beside the record.
func effects(page metastore.Page) (ops []metastore.Op) {
	for _, r := range page.Records {
		ops = append(ops, metastore.Create("example-new/"+strings.TrimPrefix(r.Key, "example-old/"), r.Value))
	}
	return ops
}

// advance moves the record past a page.
func advance(page metastore.Page) func(*catalog.Procedure) {
	return func(p *catalog.Procedure) {
		if p.Counters == nil {
			p.Counters = map[string]int64{}
		}
		p.Phase, p.Cursor, p.Progress.Of = "copying", page.Next, copied
		p.Counters[copied] += int64(len(page.Records))
	}
}

// 4. The test runs it on a real server, over a store that is away for a moment.
func TestTheExampleOfAProcedure(t *testing.T) {
	const records = 100
	store := memoryStore(t)
	c := catalog.New(&losingStore{Store: store}, catalog.Options{})
	intent := []metastore.Op{c.CreateProcedureOp(catalog.Procedure{Kind: string(copyRef.Kind), ID: copyRef.ID})}
	require.NoError(t, store.Commit(t.Context(), metastore.Txn{Ops: intent, Token: lake.NewID().String()}))
	for i := range records {
		op := metastore.Create(fmt.Sprintf("example-old/%03d", i), []byte{byte(i)})
		require.NoError(t, store.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{op}, Token: lake.NewID().String()}))
	}
	server := dial(t, startTemporal(t, ""))
	w := sdk.New(server, workflows.TaskQueue, sdk.Options{DisableRegistrationAliasing: true})
	steps := copier{store: store, runner: lease.Runner{Records: c, Log: silent}}
	w.RegisterWorkflowWithOptions(exampleCopy, workflow.RegisterOptions{Name: copyWorkflow})
	w.RegisterActivityWithOptions(steps.page, activity.RegisterOptions{Name: copyPage})
	require.NoError(t, w.Start())
	defer w.Stop()
	run, err := server.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: copyRef.String(), TaskQueue: workflows.TaskQueue}, copyWorkflow, copyInput{})
	require.NoError(t, err)
	require.NoError(t, run.Get(t.Context(), nil))

	p, err := c.Procedure(t.Context(), string(copyRef.Kind), copyRef.ID)
	require.NoError(t, err)
	require.Equal(t, catalog.ProcedureCompleted, p.State)
	require.EqualValues(t, records, p.Counters[copied], "nothing lost, nothing twice")
	page, err := store.Scan(t.Context(), "example-new/", "", 2*records)
	require.NoError(t, err)
	require.Len(t, page.Records, records)
}

// losingStore refuses some commits, as a store does that is away for a moment.
type losingStore struct {
	metastore.Store
	commits int
}

func (s *losingStore) Commit(ctx context.Context, txn metastore.Txn) error {
	if s.commits++; s.commits > 3 && s.commits < 12 {
		return metastore.ErrRetryable
	}
	return s.Store.Commit(ctx, txn)
}
