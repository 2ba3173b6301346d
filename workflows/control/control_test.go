// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package control_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
	"github.com/lakeplane/lake/workflows/control"
)

// TestAnOversizedArgumentFailsOnce: a workflow that hands a page of a hundred keys
// to an activity fails for good, before Temporal refuses it without end. (Report 43.)
func TestAnOversizedArgumentFailsOnce(t *testing.T) {
	env, calls := environment(func(ctx workflow.Context, panel *control.Panel) error {
		page := slices.Repeat([]string{strings.Repeat("k", 1024)}, 100)
		_, err := control.Step[int](ctx, panel, control.PageOptions("page"), "Page", page)
		return err
	})
	env.ExecuteWorkflow("W")
	var failure *temporal.ApplicationError
	require.ErrorAs(t, env.GetWorkflowError(), &failure)
	require.True(t, failure.NonRetryable())
	require.Equal(t, lake.Invalid.String(), failure.Type())
	require.ErrorContains(t, env.GetWorkflowError(), "the argument of Page has")
	require.Zero(t, *calls)
}

// TestProgressTellsTheEnd: what the record estimates is in the status, and of one
// phase only.
func TestProgressTellsTheEnd(t *testing.T) {
	end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	env, _ := environment(func(ctx workflow.Context, panel *control.Panel) error {
		if err := panel.Enter(ctx, workflows.PhaseObjects, "deleting"); err != nil {
			return err
		}
		panel.Progress(ctx, workflow.Now(ctx), workflows.Counters{"n": 40}, &workflows.Estimate{Of: "n", Total: 100, PerSecond: 2, End: &end})
		s, _ := panel.Status()
		if s.Estimate == nil || !s.Estimate.End.Equal(end) {
			t.Errorf("status %+v tells no end", s)
		}
		if err := panel.Enter(ctx, workflows.PhaseHistory, "clearing"); err != nil {
			return err
		}
		if s, _ := panel.Status(); s.Estimate != nil {
			t.Errorf("the estimate of the phase before is told: %+v", s)
		}
		return panel.Close(nil)
	})
	env.ExecuteWorkflow("W")
	require.NoError(t, env.GetWorkflowError())
}

// environment runs a body with a panel of a drop.
func environment(body func(workflow.Context, *control.Panel) error) (env *testsuite.TestWorkflowEnvironment, calls *int) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env, calls = suite.NewTestWorkflowEnvironment(), new(int)
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		panel, err := control.Open(ctx, workflows.Ref{Kind: workflows.DropTableKind, ID: "n/t/i"}, workflows.Carry{})
		if err != nil {
			return err
		}
		return body(ctx, panel)
	}, workflow.RegisterOptions{Name: "W"})
	env.RegisterActivityWithOptions(func(context.Context, []string) (int, error) { *calls++; return 0, nil }, activity.RegisterOptions{Name: "Page"})
	return env, calls
}
