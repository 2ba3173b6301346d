// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

const (
	oldOperations  = 20_000
	drops          = 1000
	objectsPerDrop = 10
	bulkObjects    = 100_000
	largeDrops     = 3
	takeovers      = 3
	// endWithin bounds any procedure here: many times its bar.
	endWithin = 5 * time.Minute
)

// procedures measures durable procedures on a deployment of real processes: a
// metadata server on an embedded metastore, a Temporal development server, and two
// workers.
func procedures(ctx context.Context, _ *lakeServer, c config, work string) (all []figure, err error) {
	d, err := startDeployment(ctx, c.lake, filepath.Join(work, "procedures"))
	if err != nil {
		return nil, err
	}
	defer d.stop()
	for _, step := range []struct {
		name string
		run  func(context.Context) ([]figure, error)
	}{
		{"operation-gc", d.operationGC},
		{"drops", d.manyDrops},
		{"large", d.oneLargeDrop},
		{"takeover", d.takeover},
		{"schedules", d.schedules},
	} {
		if !c.steps.MatchString(step.name) {
			continue
		}
		figures, err := step.run(ctx)
		if err != nil {
			return all, err
		}
		all = append(all, figures...)
		for _, f := range figures { // what follows takes minutes, and may fail
			fmt.Fprintf(os.Stderr, "%s, %s: %.4g %s\n", f.Case, f.Who, f.Value, f.Unit)
		}
	}
	return all, nil
}

func one(name, who, unit string, value float64) figure {
	return figure{Suite: "procedures", Case: name, Who: who, Unit: unit, Value: value}
}

// await waits for the end of a procedure that must complete.
func (d *deployment) await(ctx context.Context, id sdk.ProcedureID) (p sdk.Procedure, err error) {
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	for p, err = range d.client.WatchProcedure(ctx, id, 50*time.Millisecond) {
		if err != nil {
			return p, err
		}
	}
	if p.State != sdk.Completed {
		return p, fmt.Errorf("%s", p)
	}
	return p, nil
}

// operationGC forgets old operations while eight writers append.
func (d *deployment) operationGC(ctx context.Context) ([]figure, error) {
	batch := smallBatch(1)
	defer batch.Release()
	appending, stop := context.WithCancel(ctx)
	defer stop()
	var acknowledged atomic.Int64
	var writers errgroup.Group
	for range 8 {
		writers.Go(func() error {
			for appending.Err() == nil {
				if _, err := d.client.Append(appending, appended, batch); err != nil && appending.Err() == nil {
					return err
				}
				acknowledged.Add(1)
			}
			return nil
		})
	}
	cpu, err := cpuTime(d.pids())
	if err != nil {
		return nil, err
	}
	began := time.Now()
	p, _, err := d.client.StartProcedure(ctx, "operation-gc", sdk.StartOptions{Reason: "bench"})
	if err == nil {
		p, err = d.await(ctx, p.ProcedureID)
	}
	took := time.Since(began).Seconds()
	stop()
	if err := errors.Join(err, writers.Wait()); err != nil {
		return nil, err
	}
	after, err := cpuTime(d.pids())
	if removed := p.Counters["operations_removed"]; err == nil && removed < oldOperations {
		err = fmt.Errorf("operation GC removed %d of %d", removed, oldOperations)
	}
	name := fmt.Sprintf("operation GC of %d beside appends", oldOperations)
	return []figure{
		one(name, "Lake", "records/s", float64(p.Counters["operations_removed"])/took),
		one(name, "the appends", "appends/s", float64(acknowledged.Load())/took),
		one(name, "Lake", "CPU ms", ms(after-cpu)),
	}, err
}

// manyDrops drops a thousand small tables at once.
func (d *deployment) manyDrops(ctx context.Context) ([]figure, error) {
	names := make([]lake.TableName, drops)
	var making errgroup.Group
	making.SetLimit(8)
	for i := range names {
		names[i] = lake.TableName{Namespace: "bench", Name: fmt.Sprintf("small%04d", i)}
		making.Go(func() error {
			_, err := d.table(ctx, names[i], objectsPerDrop)
			return err
		})
	}
	if err := making.Wait(); err != nil {
		return nil, err
	}
	before, err := d.shares()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	cost, err := measure(d.pids(), func() error {
		ids := make([]sdk.ProcedureID, drops)
		var dropping errgroup.Group
		dropping.SetLimit(8)
		for i, name := range names {
			dropping.Go(func() (err error) { ids[i], err = d.drop(ctx, name); return err })
		}
		if err := dropping.Wait(); err != nil {
			return err
		}
		for _, id := range ids {
			if _, err := d.await(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%d drops of %d objects", drops, objectsPerDrop)
	all := []figure{
		one(name, "Lake", "s", time.Since(began).Seconds()),
		one(name, "Lake", "CPU ms a drop", ms(cost.cpu)/drops),
	}
	after, err := d.shares()
	for _, who := range []string{"Temporal", "metadata server", "workers"} {
		all = append(all, one(name, "of which "+who, "CPU ms a drop", ms(after[who]-before[who])/drops))
	}
	return all, err
}

// oneLargeDrop deletes many objects of one table; the peer removes as many files of
// the same disk one by one, without any sync. They take turns, and what counts is the
// ratio of neighbours: a disk has better and worse minutes.
func (d *deployment) oneLargeDrop(ctx context.Context) ([]figure, error) {
	var dropped, peer, rates, times []float64
	for round := range largeDrops {
		raw, err := d.removeFiles(filepath.Join(d.dir, fmt.Sprintf("raw%d", round)))
		if err != nil {
			return nil, err
		}
		drop, err := d.dropLarge(ctx, fmt.Sprintf("large%d", round))
		if err != nil {
			return nil, err
		}
		dropped, peer = append(dropped, bulkObjects/drop.wall.Seconds()), append(peer, bulkObjects/raw.wall.Seconds())
		rates, times = append(rates, raw.wall.Seconds()/drop.wall.Seconds()), append(times, raw.cpu.Seconds()/drop.cpu.Seconds())
	}
	name := fmt.Sprintf("one drop of %d objects", bulkObjects)
	return []figure{
		summary("procedures", name, "Lake, to the end of the procedure", "objects/s", dropped),
		summary("procedures", name, "os.Remove", "objects/s", peer),
		summary("procedures", name, "rate of Lake ÷ os.Remove, by turns", "ratio", rates),
		summary("procedures", name, "processor time of os.Remove ÷ all of Lake's and Temporal's", "CPU ratio", times),
	}, nil
}

// removeFiles makes files and measures how os.Remove deletes them.
func (d *deployment) removeFiles(folder string) (cost, error) {
	if err := fillFolder(folder, bulkObjects); err != nil {
		return cost{}, err
	}
	return measure(nil, func() error {
		for i := range bulkObjects {
			if err := os.Remove(filepath.Join(folder, fileName(i))); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropLarge makes a table and measures its drop.
func (d *deployment) dropLarge(ctx context.Context, name string) (cost, error) {
	table := lake.TableName{Namespace: "bench", Name: name}
	if _, err := d.table(ctx, table, bulkObjects); err != nil {
		return cost{}, err
	}
	return measure(d.pids(), func() error {
		id, err := d.drop(ctx, table)
		if err == nil {
			_, err = d.await(ctx, id)
		}
		return err
	})
}

// takeover kills the worker that deletes, and waits until another goes on.
func (d *deployment) takeover(ctx context.Context) ([]figure, error) {
	table := lake.TableName{Namespace: "bench", Name: "orphaned"}
	if _, err := d.table(ctx, table, 20_000); err != nil {
		return nil, err
	}
	id, err := d.drop(ctx, table)
	if err == nil {
		_, err = d.client.Control(ctx, id, sdk.SetRate(100, "bench"))
	}
	if err != nil {
		return nil, err
	}
	var seconds []float64
	for range takeovers {
		took, err := d.killHolder(ctx, id)
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, took.Seconds())
	}
	if _, err := d.client.Control(ctx, id, sdk.SetRate(0, "bench")); err != nil {
		return nil, err
	}
	_, err = d.await(ctx, id)
	return []figure{summary("procedures", "takeover of a dead worker's page", "Lake", "s", seconds)}, err
}
