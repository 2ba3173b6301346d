// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/lakeplane/lake/activities/drop"
	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/activities/maintain"
	"github.com/lakeplane/lake/activities/maintain/maintaintest"
	"github.com/lakeplane/lake/catalog"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/worker"
	"github.com/lakeplane/lake/workflows"
)

// periods are equal ones for all schedules.
func periods(d time.Duration) worker.Periods {
	return worker.Periods{Sweep: d, OperationGC: d, Maintain: d}
}

// tended is a deployment with the real storage engine.
type tended struct {
	*deployment
	tables *maintaintest.World
	engine *enginelance.Engine
}

func tend(t *testing.T, store metastore.Store) *tended {
	t.Helper()
	d := deploy(t, store, startTemporal(t, ""))
	e, err := enginelance.New(enginelance.Options{Store: d.objects})
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	tables := &maintaintest.World{Store: store, Catalog: d.Catalog, Engine: e, Fence: d.Fence()}
	return &tended{deployment: d, tables: tables, engine: e}
}

func (d *tended) options() worker.Options {
	o := d.deployment.options()
	o.Engines = map[string]drop.Engine{enginelance.Name: d.engine}
	o.OperationGCEvery, o.MaintainEvery = time.Hour, time.Hour
	o.Maintain = maintain.Options{Lease: lease.Options{TTL: 4 * time.Second}, Beat: 100 * time.Millisecond, Saved: 4}
	return o
}

func (d *tended) ended(t *testing.T, within time.Duration, ref workflows.Ref) catalog.Procedure {
	t.Helper()
	var p catalog.Procedure
	require.Eventually(t, func() bool {
		var err error
		p, err = d.Catalog.Procedure(t.Context(), string(ref.Kind), ref.ID)
		return err == nil && p.State.Terminal()
	}, within, 20*time.Millisecond, "%s did not end", ref)
	return p
}

// trigger fires a schedule now.
func trigger(t *testing.T, c client.Client, id string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return c.ScheduleClient().GetHandle(t.Context(), id).Trigger(t.Context(), client.ScheduleTriggerOptions{}) == nil
	}, 20*time.Second, 50*time.Millisecond)
}

func TestTablesAreCompactedWhileAppendsGoOn(t *testing.T) {
	d := tend(t, memoryStore(t))
	opts := d.options()
	registry := prometheus.NewRegistry()
	opts.Metrics = registry
	name := lake.TableName{Namespace: "robots", Name: "busy"}
	table := d.tables.Appended(t, name, 20)
	quiet := d.tables.Appended(t, lake.TableName{Namespace: "robots", Name: "quiet"}, 3)
	pinned := table.Snapshot
	d.work(t, opts)

	ctx, stop := context.WithCancel(t.Context())
	var appending sync.WaitGroup
	rows, conflicts := int64(200), 0
	appending.Go(func() {
		for ctx.Err() == nil {
			moved, err := d.tables.TryAppend(t.Context(), table, rows, 10)
			if lake.Is(err, lake.Conflict) { // as the leader that keeps the table in memory
				conflicts++
				moved, err = d.tables.Catalog.Get(t.Context(), name)
				rows -= 10
			}
			if err != nil {
				t.Error(err)
				return
			}
			table, rows = moved, rows+10
			time.Sleep(5 * time.Millisecond)
		}
	})
	trigger(t, d.client, workflows.TableMaintenanceSchedule)
	ref := workflows.TableMaintenanceRef(name, pinned.Incarnation)
	record := d.ended(t, time.Minute, ref)
	time.Sleep(50 * time.Millisecond)
	stop()
	appending.Wait()
	require.Equal(t, catalog.ProcedureCompleted, record.State)
	require.GreaterOrEqual(t, record.Counters[workflows.CountVersions], int64(1))
	require.LessOrEqual(t, conflicts, 1+int(record.Counters[workflows.CountVersions]), "an append conflicts once a version, and with the floor")
	now := d.tables.Now(t, name)
	d.tables.RequireNumbers(t, now.Snapshot, rows)
	d.tables.RequireNumbers(t, pinned, 200)
	require.EqualValues(t, 1+rows/10+record.Counters[workflows.CountVersions], now.Snapshot.Version, "versions are dense")
	require.Equal(t, quiet.Snapshot, d.tables.Now(t, quiet.Name).Snapshot, "it is not worth it")

	require.NoError(t, d.starter.Wait(t.Context(), ref))
	status, err := d.starter.Status(t.Context(), ref)
	require.NoError(t, err)
	require.Equal(t, workflows.PhaseDone, status.Phase)
	capture(t, d.client, "tablemaintenance/compacted", ref.String())
	requireSmallHistory(t, d.client, ref.String())
	captureRun(t, d.client, "procedureplan/tables", workflows.ProcedurePlanKind)
	requireCounted(t, registry, "lake_maintenance_joined_total", float64(record.Counters[workflows.CountPartsBefore]))
}

func TestMaintenanceOfADroppedTableEnds(t *testing.T) {
	d := tend(t, memoryStore(t))
	table := d.tables.Appended(t, lake.TableName{Namespace: "robots", Name: "gone"}, 6)
	step := d.tables.Intend(t, table)
	d.tables.Drop(t, table)
	opts := d.options()
	opts.SweepEvery = time.Second // nobody starts it
	d.work(t, opts)
	require.Equal(t, catalog.ProcedureCancelled, d.ended(t, time.Minute, step.Ref()).State)
	require.NoError(t, d.starter.Wait(t.Context(), step.Ref()))
	capture(t, d.client, "tablemaintenance/gone", step.Ref().String())
	gone := workflows.DropTableRef(table.Name, table.Snapshot.Incarnation)
	require.Equal(t, catalog.ProcedureCompleted, d.ended(t, time.Minute, gone).State)
	require.Zero(t, droptestCount(t, d, table))
}

func TestOldOperationsAreForgotten(t *testing.T) {
	d := tend(t, memoryStore(t))
	const old, young = 300, 40
	d.tables.Operations(t, old, time.Now().Add(-lake.OperationRetention-time.Hour))
	d.tables.Operations(t, young, time.Now().Add(-time.Hour))
	opts := d.options()
	registry := prometheus.NewRegistry()
	opts.Metrics = registry
	opts.OperationGC.Budget = lease.Budget{Items: 100}
	d.work(t, opts)

	require.NoError(t, d.starter.Start(t.Context(), string(workflows.OperationGCKind), workflows.OperationGCDryRunRef().ID))
	require.NoError(t, d.starter.Wait(t.Context(), workflows.OperationGCDryRunRef()))
	counted, err := d.starter.Status(t.Context(), workflows.OperationGCDryRunRef())
	require.NoError(t, err)
	want := workflows.Counters{workflows.CountOperationsSeen: old + young, workflows.CountOperationsRemoved: old}
	require.Equal(t, want, counted.Counters)
	require.Len(t, d.Keys(t, "append-operation/"), old+young, "a dry run changes nothing")

	trigger(t, d.client, workflows.OperationGCSchedule)
	ref := workflows.OperationGCRef()
	record := d.ended(t, time.Minute, ref)
	require.Equal(t, catalog.ProcedureCompleted, record.State)
	require.EqualValues(t, want, record.Counters)
	require.Len(t, d.Keys(t, "append-operation/"), young)
	require.NoError(t, d.starter.Wait(t.Context(), ref))
	requireCounted(t, registry, "lake_operation_gc_removed_total", old)
	requireSmallHistory(t, d.client, ref.String())
	capture(t, d.client, "operationgc/simple", ref.String())
	capture(t, d.client, "operationgc/dryrun", workflows.OperationGCDryRunRef().String())
	captureRun(t, d.client, "procedureplan/operations", workflows.ProcedurePlanKind)

	trigger(t, d.client, workflows.OperationGCSchedule)
	require.Eventually(t, func() bool {
		p, err := d.Catalog.Procedure(t.Context(), string(ref.Kind), ref.ID)
		return err == nil && p.Epoch > record.Epoch && p.State.Terminal()
	}, time.Minute, 20*time.Millisecond, "the record is used again")
	require.Len(t, d.Keys(t, "procedure/operation-gc/"), 1)
}

// captureRun captures the history of a completed run of a kind that is started
// by a schedule.
func captureRun(t *testing.T, c client.Client, name string, kind workflows.Kind) {
	t.Helper()
	require.Eventually(t, func() bool {
		page, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("LakeProcedure = '%s' AND ExecutionStatus = 'Completed'", kind),
		})
		if err != nil || len(page.Executions) == 0 {
			return false
		}
		capture(t, c, name, page.Executions[0].Execution.WorkflowId)
		return true
	}, 20*time.Second, 100*time.Millisecond, "no run of %s completed", kind)
}

func requireCounted(t *testing.T, registry *prometheus.Registry, name string, want float64) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			require.Equal(t, want, f.Metric[0].Counter.GetValue()) //nolint:testifylint // whole numbers
			return
		}
	}
	t.Fatalf("no metric %s", name)
}

func droptestCount(t *testing.T, d *tended, table catalog.Table) int {
	t.Helper()
	return d.ObjectsLeft(t, workflows.DropStep{Namespace: table.Name.Namespace, Name: table.Name.Name, Incarnation: table.Snapshot.Incarnation})
}
