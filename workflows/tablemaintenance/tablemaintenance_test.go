// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package tablemaintenance_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
	"github.com/lakeplane/lake/workflows/tablemaintenance"
)

var input = workflows.TableMaintenanceInput{Namespace: "robots", Name: "t", Incarnation: lake.NewID()}

func environment(t *testing.T, script ...workflows.MaintenanceProgress) (env *testsuite.TestWorkflowEnvironment, calls *int) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env, calls = suite.NewTestWorkflowEnvironment(), new(int)
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflowWithOptions(tablemaintenance.TableMaintenance, workflow.RegisterOptions{Name: workflows.TableMaintenanceWorkflow})
	env.RegisterActivityWithOptions(func(_ context.Context, s workflows.MaintenanceStep) (workflows.MaintenanceProgress, error) {
		require.Equal(t, input.Step(), s)
		*calls++
		return script[min(*calls, len(script))-1], nil
	}, activity.RegisterOptions{Name: workflows.MaintenanceCompact})
	env.RegisterActivityWithOptions(func(context.Context, workflows.MaintenanceStep) (workflows.MaintenanceProgress, error) {
		return workflows.MaintenanceProgress{Over: true}, nil // nothing is left to delete
	}, activity.RegisterOptions{Name: workflows.MaintenanceReclaim})
	return env, calls
}

func TestItCompactsUntilNothingIsLeft(t *testing.T) {
	made := func(n int64) workflows.Counters { return workflows.Counters{workflows.CountVersions: n} }
	env, calls := environment(t, workflows.MaintenanceProgress{Counters: made(1)}, workflows.MaintenanceProgress{Counters: made(2)},
		workflows.MaintenanceProgress{Over: true, Counters: made(3)})
	env.ExecuteWorkflow(workflows.TableMaintenanceWorkflow, input)
	require.NoError(t, env.GetWorkflowError())
	var r workflows.TableMaintenanceResult
	require.NoError(t, env.GetWorkflowResult(&r))
	require.Equal(t, workflows.TableMaintenanceResult{Counters: made(3)}, r)
	require.Equal(t, 3, *calls)
}

func TestADroppedTableEndsIt(t *testing.T) {
	env, calls := environment(t, workflows.MaintenanceProgress{Over: true, Gone: true})
	env.ExecuteWorkflow(workflows.TableMaintenanceWorkflow, input)
	require.NoError(t, env.GetWorkflowError())
	var r workflows.TableMaintenanceResult
	require.NoError(t, env.GetWorkflowResult(&r))
	require.True(t, r.Gone)
	require.Equal(t, 1, *calls)
}

func TestItWaitsForAPlace(t *testing.T) {
	start := time.Now()
	later := start.Add(time.Hour)
	env, calls := environment(t, workflows.MaintenanceProgress{Wait: &later}, workflows.MaintenanceProgress{Over: true})
	env.SetStartTime(start)
	env.RegisterDelayedCallback(func() { require.Equal(t, 1, *calls) }, 59*time.Minute)
	env.ExecuteWorkflow(workflows.TableMaintenanceWorkflow, input)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, *calls)
}

func TestAFullHistoryContinuesInAFreshOne(t *testing.T) {
	env, _ := environment(t, workflows.MaintenanceProgress{})
	env.SetCurrentHistoryLength(1501)
	env.ExecuteWorkflow(workflows.TableMaintenanceWorkflow, input)
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	require.Equal(t, workflows.TableMaintenanceWorkflow, again.WorkflowType.Name)
}

// TestACancelledMaintenanceIsNotATableThatIsGone: what an operator ended says so,
// and is not cleaned up after.
func TestACancelledMaintenanceIsNotATableThatIsGone(t *testing.T) {
	env, calls := environment(t, workflows.MaintenanceProgress{Over: true, Stopped: true})
	env.ExecuteWorkflow(workflows.TableMaintenanceWorkflow, input)
	require.NoError(t, env.GetWorkflowError())
	var r workflows.TableMaintenanceResult
	require.NoError(t, env.GetWorkflowResult(&r))
	require.Equal(t, workflows.TableMaintenanceResult{Stopped: true}, r)
	require.Equal(t, 1, *calls)
	v, err := env.QueryWorkflow(workflows.StatusQuery)
	require.NoError(t, err)
	var s workflows.Status
	require.NoError(t, v.Get(&s))
	require.Contains(t, s.Note, "cancelled by an operator")
}
