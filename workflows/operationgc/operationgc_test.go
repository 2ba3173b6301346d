// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package operationgc_test

import (
	"context"
	"log/slog"
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
	"github.com/lakeplane/lake/workflows/operationgc"
)

type stepFunc = func(context.Context, workflows.OperationGCStep) (workflows.OperationGCProgress, error)

func environment(forget, count stepFunc) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflowWithOptions(operationgc.OperationGC, workflow.RegisterOptions{Name: workflows.OperationGCWorkflow})
	env.RegisterActivityWithOptions(forget, activity.RegisterOptions{Name: workflows.OperationGCForget})
	env.RegisterActivityWithOptions(count, activity.RegisterOptions{Name: workflows.OperationGCCount})
	return env
}

func never(context.Context, workflows.OperationGCStep) (workflows.OperationGCProgress, error) {
	return workflows.OperationGCProgress{}, temporal.NewNonRetryableApplicationError("not this one", lake.Invalid.String(), nil)
}

func TestItGoesOnUntilItIsOver(t *testing.T) {
	pages := int64(0)
	env := environment(func(_ context.Context, s workflows.OperationGCStep) (workflows.OperationGCProgress, error) {
		if s.Cursor != "" || s.Counters != nil {
			return workflows.OperationGCProgress{}, temporal.NewNonRetryableApplicationError("the record has it", lake.Invalid.String(), nil)
		}
		pages++
		return workflows.OperationGCProgress{Over: pages == 5, Counters: workflows.Counters{workflows.CountOperationsRemoved: pages}}, nil
	}, never)
	env.ExecuteWorkflow(workflows.OperationGCWorkflow, workflows.OperationGCInput{})
	require.NoError(t, env.GetWorkflowError())
	var r workflows.OperationGCResult
	require.NoError(t, env.GetWorkflowResult(&r))
	require.EqualValues(t, 5, r.Counters[workflows.CountOperationsRemoved])
}

// A dry run carries its cursor itself, into fresh histories too.
func TestADryRunCarriesItsCursor(t *testing.T) {
	var cursors []string
	env := environment(never, func(_ context.Context, s workflows.OperationGCStep) (workflows.OperationGCProgress, error) {
		cursors = append(cursors, s.Cursor)
		return workflows.OperationGCProgress{Over: len(cursors) == 3, Cursor: s.Cursor + "x", Counters: s.Counters}, nil
	})
	env.ExecuteWorkflow(workflows.OperationGCWorkflow, workflows.OperationGCInput{
		DryRun: true, Step: workflows.OperationGCStep{Cursor: "at", Counters: workflows.Counters{workflows.CountOperationsSeen: 7}},
	})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"at", "atx", "atxx"}, cursors)
	var r workflows.OperationGCResult
	require.NoError(t, env.GetWorkflowResult(&r))
	require.EqualValues(t, 7, r.Counters[workflows.CountOperationsSeen])
}

func TestAFullHistoryContinuesInAFreshOne(t *testing.T) {
	env := environment(func(context.Context, workflows.OperationGCStep) (workflows.OperationGCProgress, error) {
		return workflows.OperationGCProgress{}, nil
	}, never)
	env.SetCurrentHistoryLength(1501)
	env.ExecuteWorkflow(workflows.OperationGCWorkflow, workflows.OperationGCInput{})
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	require.Equal(t, workflows.OperationGCWorkflow, again.WorkflowType.Name)
}

func TestAFailureIsShownAndTriedAgain(t *testing.T) {
	tries := 0
	env := environment(func(context.Context, workflows.OperationGCStep) (workflows.OperationGCProgress, error) {
		if tries++; tries < 3 {
			return workflows.OperationGCProgress{}, temporal.NewNonRetryableApplicationError("a record does not decode", lake.Corrupt.String(), nil)
		}
		return workflows.OperationGCProgress{Over: true}, nil
	}, never)
	var seen workflows.Status
	env.RegisterDelayedCallback(func() {
		v, err := env.QueryWorkflow(workflows.StatusQuery)
		require.NoError(t, err)
		require.NoError(t, v.Get(&seen))
	}, 5*time.Second)
	env.ExecuteWorkflow(workflows.OperationGCWorkflow, workflows.OperationGCInput{})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, workflows.PhaseBlocked, seen.Phase)
	require.Contains(t, seen.LastError, "a record does not decode")
}
