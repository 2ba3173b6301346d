// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package procedureplan_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/workflows"
	"github.com/lakeplane/lake/workflows/procedureplan"
)

func environment(plan func(context.Context, workflows.PlanStep) (workflows.PlanResult, error)) *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflowWithOptions(procedureplan.ProcedurePlan, workflow.RegisterOptions{Name: workflows.ProcedurePlanWorkflow})
	env.RegisterActivityWithOptions(plan, activity.RegisterOptions{Name: workflows.MaintenancePlan})
	return env
}

func TestItGoesThroughAllPages(t *testing.T) {
	var steps []workflows.PlanStep
	env := environment(func(_ context.Context, s workflows.PlanStep) (workflows.PlanResult, error) {
		steps = append(steps, s)
		next := map[string]string{"": "a", "a": "b"}[s.Cursor]
		return workflows.PlanResult{Cursor: next, Looked: 10, Intended: 2}, nil
	})
	env.ExecuteWorkflow(workflows.ProcedurePlanWorkflow, workflows.PlanInput{Kind: workflows.TableMaintenanceKind})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []workflows.PlanStep{{}, {Cursor: "a", Intended: 2}, {Cursor: "b", Intended: 4}}, steps)
	var r workflows.PlanResult
	require.NoError(t, env.GetWorkflowResult(&r))
	require.Equal(t, workflows.PlanResult{Looked: 30, Intended: 6}, r)
}

func TestItEnds(t *testing.T) {
	calls := 0
	env := environment(func(context.Context, workflows.PlanStep) (workflows.PlanResult, error) {
		calls++
		return workflows.PlanResult{Cursor: "again"}, nil
	})
	env.ExecuteWorkflow(workflows.ProcedurePlanWorkflow, workflows.PlanInput{Kind: workflows.TableMaintenanceKind})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 100, calls)
}

func TestAKindWithoutAPlanIsRefused(t *testing.T) {
	env := environment(nothing)
	env.ExecuteWorkflow(workflows.ProcedurePlanWorkflow, workflows.PlanInput{Kind: workflows.DropTableKind})
	require.ErrorContains(t, env.GetWorkflowError(), "no plan for kind drop-table")
}

func nothing(context.Context, workflows.PlanStep) (workflows.PlanResult, error) {
	return workflows.PlanResult{}, nil
}
