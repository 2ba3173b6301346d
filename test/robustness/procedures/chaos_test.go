// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build robustness && unix

// Package procedures kills everything that carries durable procedures, at random
// and together: a metadata server, two workers and the Temporal server, all of
// them real processes. Meanwhile procedures of every kind are started, started
// twice, terminated and reset. Afterwards each of them has ended, and nothing is
// leaked: no object, no record.
//
// LAKE_ROBUSTNESS_PROCEDURES is the number of procedures of each kind, 100
// unless set.
package procedures

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

const (
	// atOnce is how many drops, and how many maintenances, are under way.
	atOnce = 24
	// between is the mean time between two disturbances.
	between = time.Second
	// chaosFor bounds the disturbances for a hundred procedures of each kind; what
	// was started by then must end after.
	chaosFor = 3 * time.Minute
	// settled bounds the wait for procedures once nothing is disturbed any more:
	// the lease of a terminated run is a minute, and failed steps pause.
	settled = 3 * time.Minute
)

func loops(t *testing.T) int {
	t.Helper()
	text := os.Getenv("LAKE_ROBUSTNESS_PROCEDURES")
	if text == "" {
		return 100
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "LAKE_ROBUSTNESS_PROCEDURES")
	return n
}

// TestEverythingDiesTogether is the whole of it.
func TestEverythingDiesTogether(t *testing.T) {
	d := deploy(t)
	n := loops(t)
	disturbing, calm := context.WithCancel(t.Context())
	var chaos sync.WaitGroup
	chaos.Go(func() { d.disturb(disturbing) })
	lasts := chaosFor * time.Duration(n) / 100
	ends := time.AfterFunc(lasts, calm)
	defer ends.Stop()

	var drivers sync.WaitGroup
	kinds := []*kind{
		{name: "drop-table", one: d.drop, parallel: atOnce},
		{name: "table-maintenance", one: d.maintain, parallel: atOnce},
		{name: "operation-gc", one: d.collect, parallel: 1},
		{name: "catalog-finalize", one: d.finalize, parallel: 1},
	}
	for _, k := range kinds {
		for range k.parallel {
			drivers.Go(func() { k.run(t, d, n, time.Now(), lasts) })
		}
	}
	drivers.Wait()
	calm()
	chaos.Wait()
	t.Logf("disturbances: %s", d.tally())
	for _, k := range kinds {
		t.Logf("%s: %d ended, %d of them were disturbed meanwhile", k.name, k.ended.Load(), k.disturbed.Load())
		require.EqualValues(t, n, k.ended.Load(), k.name)
	}
	d.verify(t)
}

// kind is one kind of procedure and how many of it there were.
type kind struct {
	name             string
	one              func(ctx context.Context, t *testing.T, i int) error
	parallel         int
	next             atomic.Int64
	ended, disturbed atomic.Int64
}

// run makes procedures, one after the other, until there were n. Their starts are
// spread over the time in which there are disturbances.
func (k *kind) run(t *testing.T, d *deployment, n int, began time.Time, lasts time.Duration) {
	for {
		i := int(k.next.Add(1))
		if i > n || t.Failed() {
			return
		}
		time.Sleep(time.Until(began.Add(lasts * time.Duration(i) / time.Duration(n+n/10+1))))
		before := d.disturbances.Load()
		ctx, cancel := context.WithTimeout(t.Context(), chaosFor+settled)
		err := k.one(ctx, t, i)
		cancel()
		if err != nil {
			t.Errorf("%s %d: %v", k.name, i, err)
			return
		}
		k.ended.Add(1)
		if d.disturbances.Load() > before {
			k.disturbed.Add(1)
		}
	}
}

// insist repeats a call until it succeeds: whoever answers may be dead.
func insist(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil {
			return nil
		}
		if kind := lake.KindOf(err); kind == lake.Invalid || kind == lake.Corrupt || kind == lake.Unsupported || kind == lake.Denied {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// await waits for the end of a procedure.
func (d *deployment) await(ctx context.Context, id sdk.ProcedureID) (p sdk.Procedure, err error) {
	for {
		err = insist(ctx, func() (err error) {
			if p, err = d.client.Procedure(ctx, id); lake.Is(err, lake.NotFound) {
				return nil // forgotten after its end
			}
			return err
		})
		if err != nil || p.State.Terminal() || p.Kind == "" {
			if err != nil {
				err = fmt.Errorf("%w; the record is %+v", err, p)
			}
			return p, err
		}
		select {
		case <-ctx.Done():
			return p, fmt.Errorf("%s did not end: %+v", id, p)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// drop makes a table, drops it twice at once, and waits until nothing is left.
func (d *deployment) drop(ctx context.Context, t *testing.T, i int) error {
	name := lake.TableName{Namespace: "drops", Name: fmt.Sprintf("t%03d", i)}
	table, err := d.table(ctx, name)
	if err != nil {
		return err
	}
	d.litter(t, table, 40)
	opts := sdk.DropOptions{Incarnation: table.Snapshot.Incarnation, UndropWindow: new(time.Duration), Reason: "chaos"}
	var twice [2]sdk.Drop
	var both sync.WaitGroup
	var errs [2]error
	for j := range twice {
		both.Go(func() {
			errs[j] = insist(ctx, func() (err error) { twice[j], err = d.client.DropTable(ctx, name, opts); return err })
		})
	}
	if both.Wait(); errors.Join(errs[:]...) != nil {
		return errors.Join(errs[:]...)
	}
	if twice[0].Procedure != twice[1].Procedure {
		return fmt.Errorf("two drops of one incarnation: %s and %s", twice[0].Procedure, twice[1].Procedure)
	}
	p, err := d.await(ctx, twice[0].Procedure)
	switch {
	case err != nil:
		return err
	case p.State != sdk.Completed:
		return fmt.Errorf("%s", p)
	case p.Counters["objects_deleted"] > int64(d.most(name)):
		return fmt.Errorf("%d objects were deleted of %d: %s", p.Counters["objects_deleted"], d.most(name), p)
	}
	if left := d.objects(table); left > 0 {
		return fmt.Errorf("%s is completed and left %d objects", p, left)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropped = append(d.dropped, table)
	return nil
}

// maintain makes a table of some small appends and compacts it.
func (d *deployment) maintain(ctx context.Context, t *testing.T, i int) error {
	name := lake.TableName{Namespace: "kept", Name: fmt.Sprintf("t%03d", i)}
	if _, err := d.table(ctx, name); err != nil {
		return err
	}
	for n := range appends {
		if err := insist(ctx, func() error { return d.appendOnce(ctx, name, int64(n)) }); err != nil {
			return err
		}
	}
	var c sdk.Compaction
	if err := insist(ctx, func() (err error) { c, err = d.client.CompactTable(ctx, name, sdk.CompactOptions{}); return err }); err != nil {
		return err
	}
	p, err := d.await(ctx, c.Procedure)
	if err == nil && p.Kind != "" && p.State != sdk.Completed {
		err = fmt.Errorf("%s", p)
	}
	return err
}

// collect runs the operation GC, asked for twice.
func (d *deployment) collect(ctx context.Context, _ *testing.T, i int) error {
	var p sdk.Procedure
	for range 2 {
		err := insist(ctx, func() (err error) {
			p, _, err = d.client.StartProcedure(ctx, "operation-gc", sdk.StartOptions{DryRun: i%2 == 1, Reason: "chaos"})
			return err
		})
		if err != nil {
			return err
		}
	}
	p, err := d.await(ctx, p.ProcedureID)
	if err == nil && p.State != sdk.Completed {
		err = fmt.Errorf("%s", p)
	}
	return err
}

// finalize takes the marker away, as if an older release had made the tables,
// and makes the directory authoritative again.
func (d *deployment) finalize(ctx context.Context, _ *testing.T, i int) error {
	if err := d.forgetMarker(ctx); err != nil {
		return err
	}
	var p sdk.Procedure
	err := insist(ctx, func() (err error) {
		p, _, err = d.client.StartProcedure(ctx, "catalog-finalize", sdk.StartOptions{Reason: fmt.Sprint("chaos ", i)})
		return err
	})
	if err != nil {
		return err
	}
	approve := sdk.Approve("chaos", "writer-rollout", "write-quiescence")
	err = insist(ctx, func() error { // refused until everything is verified
		_, err := d.client.Control(ctx, p.ProcedureID, approve)
		if lake.Is(err, lake.Precondition) {
			if now, e := d.client.Procedure(ctx, p.ProcedureID); e == nil && now.State.Terminal() {
				return nil
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if p, err = d.await(ctx, p.ProcedureID); err == nil && p.State != sdk.Completed {
		err = fmt.Errorf("%s", p)
	}
	return err
}

// disturb kills, terminates and resets until ctx ends.
func (d *deployment) disturb(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(between/2 + rand.N(between)):
		}
		switch what := rand.IntN(10); {
		case what < 3:
			d.workers[rand.IntN(len(d.workers))].again(d, "worker")
		case what < 5:
			d.meta.again(d, "meta")
		case what < 6:
			d.killTemporal()
		case what < 7: // all at once
			d.killTemporal()
			d.meta.again(d, "meta")
			for _, w := range d.workers {
				w.again(d, "worker")
			}
		case what < 8:
			d.workers[0].stall(d)
		case what < 9:
			d.terminate(ctx)
		default:
			d.reset(ctx)
		}
		d.disturbances.Add(1)
	}
}

// some returns a workflow that is open.
func (d *deployment) some(ctx context.Context) (*common.WorkflowExecution, bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	page, err := d.workflows.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: "LakeProcedure IN ('drop-table', 'table-maintenance', 'operation-gc', 'catalog-finalize') AND ExecutionStatus = 'Running'", PageSize: 50,
	})
	if err != nil || len(page.Executions) == 0 {
		return nil, false
	}
	return page.Executions[rand.IntN(len(page.Executions))].Execution, true
}

// terminate ends an open workflow as an operator can in the UI: the sweep starts
// another.
func (d *deployment) terminate(ctx context.Context) {
	if w, ok := d.some(ctx); ok && d.workflows.TerminateWorkflow(ctx, w.WorkflowId, w.RunId, "chaos") == nil {
		d.count("terminations")
	}
}

// reset sends an open workflow back to its beginning.
func (d *deployment) reset(ctx context.Context) {
	w, ok := d.some(ctx)
	if !ok {
		return
	}
	_, err := d.workflows.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "lake", WorkflowExecution: w, Reason: "chaos", RequestId: lake.NewID().String(), WorkflowTaskFinishEventId: 4,
	})
	if err == nil {
		d.count("resets")
	}
}
