// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package maintain

import (
	"context"
	"strconv"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

// commitTries is how often a version is staged again because an append was
// faster. Staging takes about as long as an append does, so one of a few tries
// succeeds even on a table that is appended to without a pause.
const commitTries = 40

// busyPause is how long a maintenance waits for a place.
const busyPause = 10 * time.Second

// errGone says that the table was dropped.
var errGone error = &lake.Error{Kind: lake.Precondition, Message: "the table was dropped"}

// job is one compaction of one table under a lease.
type job struct {
	*Activities
	*lease.Lease
	in     workflows.MaintenanceStep
	engine Engine
	table  catalog.Table
	out    workflows.MaintenanceProgress
}

// Compact joins pieces of data of the table once, commits the next version with
// them and publishes it. It is over when what is left is not worth another go.
//
// Running it twice is safe. Before its commit an attempt leaves nothing that
// anybody can see. The commit also notes the version in the procedure's record,
// so an attempt after a crash publishes what its predecessor committed.
func (a *Activities) Compact(ctx context.Context, in workflows.MaintenanceStep) (workflows.MaintenanceProgress, error) {
	return a.round(ctx, in, func(j *job, ctx context.Context) error {
		err := j.work(ctx)
		if lake.Is(err, lake.Unsupported) && j.engine != nil {
			return j.refused(ctx, err)
		}
		return err
	})
}

// work is one round: look, compact, commit, publish, decide whether to go on.
func (j *job) work(ctx context.Context) error {
	if err := j.look(ctx); err != nil {
		return err
	}
	if j.Record().Phase == string(workflows.PhasePublishing) {
		return j.publish(ctx)
	}
	made, err := j.compact(ctx)
	if err != nil {
		return err
	}
	if made == nil {
		return j.joined(ctx)
	}
	if err := j.commit(ctx, made); err != nil {
		return err
	}
	return j.publish(ctx)
}

// look reads the table as it is now.
func (j *job) look(ctx context.Context) error {
	table, ok, err := j.Activities.table(ctx, j.in)
	switch {
	case err != nil:
		return err
	case !ok:
		return errGone
	}
	j.table, j.engine = table, j.engines[table.Snapshot.Engine]
	if j.engine == nil {
		return lake.Errorf(lake.Unsupported, "engine %q has no compaction in this worker", table.Snapshot.Engine)
	}
	return nil
}

// compact copies the data. It takes long.
func (j *job) compact(ctx context.Context) (made engine.Compaction, err error) {
	if err := j.expect(ctx); err != nil {
		return nil, err
	}
	err = j.whileBeating(ctx, func(ctx context.Context) (err error) {
		made, err = j.engine.CompactSome(ctx, j.table.Snapshot, j.opts.Pieces)
		return err
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// expect guesses how many pieces will be joined, at the beginning.
func (j *job) expect(ctx context.Context) error {
	if j.Record().Progress.Of == workflows.CountPartsBefore {
		return nil
	}
	before, after, err := j.engine.Fragmentation(ctx, j.table.Snapshot)
	if err != nil || before <= after {
		return err // there is nothing to join
	}
	return j.Commit(ctx, func(p *catalog.Procedure) {
		p.Progress = catalog.Progress{Of: workflows.CountPartsBefore, Total: p.Counters[workflows.CountPartsBefore] + int64(before), About: true}
	})
}

// beat reports, renews the lease and looks whether the table is still there.
func (j *job) beat(ctx context.Context) error {
	activity.RecordHeartbeat(ctx, j.Record().Phase)
	if err := j.Renew(ctx); err != nil {
		return err
	}
	_, ok, err := j.Activities.table(ctx, j.in)
	if lake.Is(err, lake.Unavailable) {
		return nil // the lease bounds how long nothing is known
	}
	if err == nil && !ok {
		err = errGone
	}
	return err
}

// commit makes the next version of the table as it is now, again on each newer
// one that an append made meanwhile.
func (j *job) commit(ctx context.Context, made engine.Compaction) error {
	var err error
	for try := range commitTries {
		if try > 0 {
			if err := j.Renew(ctx); err != nil {
				return err
			}
			if err := j.look(ctx); err != nil {
				return err
			}
		}
		activity.RecordHeartbeat(ctx, "committing")
		if err = j.stage(ctx, made, try); err == nil || !lake.Is(err, lake.Conflict) {
			return err
		}
	}
	return lake.Errorf(lake.Unavailable, "appends were faster in each of %d tries: %w", commitTries, err)
}

// stage stages and commits on the table as it was read. lake.Conflict means
// that it has moved; data that were joined and have changed are as good as
// gone, and the next attempt joins them anew.
func (j *job) stage(ctx context.Context, made engine.Compaction, again int) error {
	// Nothing may be built on a version that cannot be opened by its number:
	// only the current version is ever made good after a crash.
	if err := j.engine.Publish(ctx, j.table.Snapshot); err != nil {
		return err
	}
	staged, err := j.engine.StageCompaction(ctx, j.table.Snapshot, made)
	if lake.Is(err, lake.Conflict) {
		return lake.Errorf(lake.Unavailable, "what was joined has changed: %w", err)
	}
	if err != nil {
		return err
	}
	moved, ops, err := j.catalog.MaintainOps(j.Record(), j.table, staged.Snapshot, staged.Ops)
	if err != nil {
		return err
	}
	before, after := made.Parts()
	err = j.Commit(ctx, func(p *catalog.Procedure) {
		p.Phase, p.Cursor = string(workflows.PhasePublishing), strconv.FormatUint(uint64(moved.Snapshot.Version), 10)
		add(p, workflows.CountVersions, 1)
		add(p, workflows.CountPartsBefore, before)
		add(p, workflows.CountPartsAfter, after)
		add(p, workflows.CountStagedAgain, again)
	}, ops...)
	if err == nil {
		j.table, j.out.Joined = moved, int64(before)
	}
	return err
}

// publish gives the committed version its final name. When a later version is
// current, whoever built it has done so.
func (j *job) publish(ctx context.Context) error {
	version, err := strconv.ParseUint(j.Record().Cursor, 10, 64)
	if err != nil {
		return lake.Errorf(lake.Corrupt, "the record's cursor %q is not a version", j.Record().Cursor)
	}
	if uint64(j.table.Snapshot.Version) == version {
		if err := j.engine.Publish(ctx, j.table.Snapshot); err != nil {
			return err
		}
	}
	before, after, err := j.engine.Fragmentation(ctx, j.table.Snapshot)
	if err != nil {
		return err
	}
	if before-after < j.opts.Saved {
		return j.joined(ctx)
	}
	return j.Release(ctx, func(p *catalog.Procedure) {
		p.Phase, p.Cursor = string(workflows.PhaseCompacting), ""
		p.Progress.Total = p.Counters[workflows.CountPartsBefore] + int64(before)
	})
}

// end closes the record.
func (j *job) end(ctx context.Context, state catalog.ProcedureState, why string) error {
	return j.Release(ctx, func(p *catalog.Procedure) {
		p.State, p.Phase, p.Cursor, p.LastError = state, string(workflows.PhaseDone), "", why
	})
}

func add(p *catalog.Procedure, name string, n int) {
	if p.Counters == nil {
		p.Counters = map[string]int64{}
	}
	p.Counters[name] += int64(n)
}
