// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package proceduresweep_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/workflows"
	"github.com/lakeplane/lake/workflows/proceduresweep"
)

type sweepFunc = func(context.Context, workflows.SweepStep) (workflows.SweepResult, error)

func run(t *testing.T, sweep sweepFunc) (workflows.SweepResult, error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflowWithOptions(proceduresweep.ProcedureSweep, workflow.RegisterOptions{Name: workflows.ProcedureSweepWorkflow})
	env.RegisterActivityWithOptions(sweep, activity.RegisterOptions{Name: workflows.SweepActivity})
	env.ExecuteWorkflow(workflows.ProcedureSweepWorkflow)
	require.True(t, env.IsWorkflowCompleted())
	if err := env.GetWorkflowError(); err != nil {
		return workflows.SweepResult{}, err
	}
	var r workflows.SweepResult
	require.NoError(t, env.GetWorkflowResult(&r))
	return r, nil
}

func TestItGoesThroughAllPages(t *testing.T) {
	var cursors []string
	r, err := run(t, func(_ context.Context, s workflows.SweepStep) (workflows.SweepResult, error) {
		cursors = append(cursors, s.Cursor)
		next := map[string]string{"": "a", "a": "b"}[s.Cursor]
		return workflows.SweepResult{Cursor: next, Intents: 10, Started: 2, OldestSeconds: int64(len(cursors) % 3)}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"", "a", "b"}, cursors)
	require.Equal(t, workflows.SweepResult{Intents: 30, Started: 6, OldestSeconds: 2}, r)
}

func TestItGivesUpForTheNextRun(t *testing.T) {
	calls := 0
	_, err := run(t, func(context.Context, workflows.SweepStep) (workflows.SweepResult, error) {
		calls++
		return workflows.SweepResult{}, temporal.NewApplicationError("away", "unavailable")
	})
	require.ErrorContains(t, err, "away")
	require.Equal(t, 4, calls)
}

func TestItEnds(t *testing.T) {
	calls := 0
	r, err := run(t, func(context.Context, workflows.SweepStep) (workflows.SweepResult, error) {
		calls++
		return workflows.SweepResult{Cursor: "again", Intents: 1}, nil
	})
	require.NoError(t, err)
	require.Equal(t, 100, calls)
	require.EqualValues(t, 100, r.Intents)
}
