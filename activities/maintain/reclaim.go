// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package maintain

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/workflows"
)

const (
	// deletePage is how many objects one commit of the cursor covers.
	deletePage = objstore.MaxPage
	// historyPage is how many version records are looked at at a time, and
	// historyCommit how many of them one transaction removes: it also replaces
	// the procedure's record.
	historyPage   = 256
	historyCommit = metastore.MaxOps - 2
)

// Reclaim deletes what the versions of the table that stay do not need, and the
// records of versions that are gone. It works through a budget and is over when
// nothing is left.
//
// # Why this deletes nothing that is needed
//
// First the floor is committed ([catalog.Catalog.ReclaimOp]): the versions up to
// it are given up, except for tagged ones. Only then are the tags read and the
// manifests of all versions that stay, the current one included; then come the
// deletes. Under the lease:
//
//   - A version that stays is in the records or is the current one, so all it
//     needs is known. One whose manifest cannot be read, or has a feature this
//     release does not know, stops everything.
//   - A version committed before the floor is in the records. One that was
//     staged before it can no longer be committed: the commit of the floor
//     replaced the table's record, which it expects. One that is staged after it
//     needs what the current version needs and data that were written within
//     [retention.StagedFor], or within what the authority allows writers from
//     outside, and no object younger than the orphan age before the floor goes.
//   - No other compaction of the table runs: its commit would need the
//     procedure's record as an earlier attempt left it.
//
// Age alone therefore never takes an object: it must also be without a version.
//
// Running it twice is safe, beside an older attempt too: what goes is decided
// anew by each attempt, manifests go before what they name, and a version's
// record goes only once a listing no longer has its manifest.
func (a *Activities) Reclaim(ctx context.Context, in workflows.MaintenanceStep) (workflows.MaintenanceProgress, error) {
	return a.round(ctx, in, (*job).reclaim)
}

// reclaim is one budget's worth.
func (j *job) reclaim(ctx context.Context) error {
	if err := j.look(ctx); err != nil {
		return err
	}
	if j.opts.Records == nil {
		return j.finish(ctx)
	}
	meter := j.opts.Budget.Start(ctx)
	if j.Record().Phase != string(workflows.PhaseRecords) {
		if done, err := j.deleteUnneeded(ctx, meter); err != nil || !done {
			return err
		}
	}
	return j.forget(ctx, meter)
}

// deleteUnneeded deletes objects and reports whether none is left.
func (j *job) deleteUnneeded(ctx context.Context, meter *lease.Meter) (bool, error) {
	cleaning, err := j.giveUp(ctx)
	if err != nil {
		return false, err
	}
	j.inform(ctx, "reading what stays")
	if err := j.whileBeating(ctx, func(ctx context.Context) error { return j.keep(ctx, cleaning) }); err != nil {
		return false, err
	}
	limits := engine.CleanLimits{
		Before: j.table.Reclaimed.At.Add(-j.opts.Retention.OrphanAge),
		Floor:  j.table.Reclaimed.Floor, After: j.Record().Cursor,
	}
	pages, stop := j.garbage(ctx, cleaning, limits)
	defer stop()
	for {
		page, more, err := pages()
		if err != nil {
			return false, err
		}
		if err := j.delete(ctx, page); err != nil {
			return false, err
		}
		if !more {
			break
		}
		if meter.Add(len(page)); meter.Spent() {
			return false, j.Release(ctx, nil)
		}
	}
	return true, j.Commit(ctx, func(p *catalog.Procedure) { p.Phase, p.Cursor = string(workflows.PhaseRecords), "" })
}

// garbage returns what is not needed page by page, until more is false. A table of
// which nearly everything is needed is listed for longer than the lease lasts, so the
// lease is renewed beside it. stop ends the listing.
func (j *job) garbage(ctx context.Context, cleaning engine.Cleaning, limits engine.CleanLimits) (pages func() (page []engine.Garbage, more bool, err error), stop func()) {
	listing, cancel := context.WithCancel(ctx)
	next, end := iter.Pull2(cleaning.Unneeded(listing, limits))
	pages = func() (page []engine.Garbage, more bool, err error) {
		err = j.whileBeating(ctx, func(ctx context.Context) error {
			defer context.AfterFunc(ctx, cancel)()
			for len(page) < deletePage {
				g, err, ok := next()
				if err != nil || !ok {
					return err
				}
				page = append(page, g)
			}
			more = true
			return nil
		})
		return page, more, err
	}
	return pages, func() { cancel(); end() }
}

// clean looks at what is there under the table's location, the lease renewed beside
// it.
func (j *job) clean(ctx context.Context) (cleaning engine.Cleaning, err error) {
	err = j.whileBeating(ctx, func(ctx context.Context) (err error) {
		cleaning, err = j.engine.Clean(ctx, j.table.Snapshot)
		return err
	})
	return cleaning, err
}

// giveUp commits how far versions are given up, on the table as it is now.
func (j *job) giveUp(ctx context.Context) (engine.Cleaning, error) {
	cleaning, err := j.clean(ctx)
	if err != nil {
		return nil, err
	}
	floor := j.opts.Retention.Floor(j.table, cleaning.Written(), j.opts.Now())
	for try := range commitTries {
		if try > 0 {
			if err = j.look(ctx); err != nil {
				return nil, err
			}
		}
		activity.RecordHeartbeat(ctx, string(workflows.PhaseReclaiming))
		var moved catalog.Table
		var op metastore.Op
		if moved, op, err = j.catalog.ReclaimOp(j.Record(), j.table, floor); err != nil {
			return nil, err
		}
		given := int(moved.Reclaimed.Floor - j.table.Reclaimed.Floor)
		err = j.Commit(ctx, func(p *catalog.Procedure) {
			if p.Phase != string(workflows.PhaseReclaiming) {
				p.Phase, p.Cursor = string(workflows.PhaseReclaiming), ""
			}
			// How many there are is known when the last one was found.
			if p.Progress.Of != workflows.CountObjects {
				p.Progress = catalog.Progress{Of: workflows.CountObjects}
			}
			add(p, workflows.CountGivenUp, given)
		}, op)
		if err == nil {
			j.table = moved
			return cleaning, nil
		}
		if !lake.Is(err, lake.Conflict) {
			return nil, err
		}
	}
	return nil, lake.Errorf(lake.Unavailable, "appends were faster in each of %d tries: %w", commitTries, err)
}

// keep reads the tags, and the manifests of what stays.
func (j *job) keep(ctx context.Context, cleaning engine.Cleaning) error {
	tagged, err := cleaning.Tagged(ctx)
	if err != nil {
		return err
	}
	prefix := j.engine.HistoryPrefix(j.table.Snapshot.Location)
	_, err = retention.Keep(ctx, j.opts.Records, prefix, cleaning, j.table, j.table.Reclaimed.Floor, tagged)
	return err
}

// delete deletes a page of objects, while the lease lasts, and records it.
func (j *job) delete(ctx context.Context, page []engine.Garbage) error {
	if len(page) == 0 {
		return nil
	}
	keys := make([]string, len(page))
	var bytes, versions int
	for i, g := range page {
		if !strings.HasPrefix(g.Key, j.table.Snapshot.Location.Prefix()) {
			return lake.Errorf(lake.Corrupt, "object %q is not under %q", g.Key, j.table.Snapshot.Location.Prefix())
		}
		keys[i] = g.Key
		bytes += int(g.Size)
		if g.Version > 0 {
			versions++
		}
	}
	if err := j.whileBeating(ctx, func(ctx context.Context) error {
		_, err := objstore.DeleteAll(ctx, j.opts.Objects, keys)
		return lake.Wrap("delete objects", err)
	}); err != nil {
		return err
	}
	return j.Commit(ctx, func(p *catalog.Procedure) {
		p.Cursor = keys[len(keys)-1]
		add(p, workflows.CountObjects, len(keys))
		add(p, workflows.CountBytes, bytes)
		add(p, workflows.CountManifests, versions)
	})
}

// forget removes the records of versions that are given up and whose manifests
// a listing no longer has.
func (j *job) forget(ctx context.Context, meter *lease.Meter) error {
	cleaning, err := j.clean(ctx)
	if err != nil {
		return err
	}
	var tagged []lake.Version
	if err := j.whileBeating(ctx, func(ctx context.Context) (err error) {
		tagged, err = cleaning.Tagged(ctx)
		return err
	}); err != nil {
		return err
	}
	there := cleaning.Written()
	for _, v := range tagged {
		there[v] = time.Time{} // its record stays whatever became of it
	}
	for {
		n, err := j.forgetPage(ctx, there)
		if err != nil {
			return err
		}
		if meter.Add(n); j.Record().Cursor == "" {
			return j.finish(ctx)
		}
		if meter.Spent() {
			return j.Release(ctx, nil)
		}
	}
}

// forgetPage looks at one page of records and moves the cursor, to empty at the
// end of what was given up.
func (j *job) forgetPage(ctx context.Context, there map[lake.Version]time.Time) (int, error) {
	prefix := j.engine.HistoryPrefix(j.table.Snapshot.Location)
	rows, next, err := retention.Rows(ctx, j.opts.Records, prefix, j.Record().Cursor, historyPage)
	if err != nil {
		return 0, err
	}
	var gone []metastore.Op
	for _, r := range rows {
		v := r.Snapshot.Version
		if v > j.table.Reclaimed.Floor {
			next = "" // they come in ascending order
			break
		}
		if _, ok := there[v]; !ok {
			gone = append(gone, metastore.Remove(r.Record.Key, r.Record.Value))
		}
	}
	for len(gone) > historyCommit {
		if err := j.forgetSome(ctx, j.Record().Cursor, gone[:historyCommit]); err != nil {
			return 0, err
		}
		gone = gone[historyCommit:]
	}
	return len(rows), j.forgetSome(ctx, next, gone)
}

func (j *job) forgetSome(ctx context.Context, cursor string, gone []metastore.Op) error {
	activity.RecordHeartbeat(ctx, string(workflows.PhaseRecords))
	return j.Commit(ctx, func(p *catalog.Procedure) {
		p.Cursor = cursor
		add(p, workflows.CountHistory, len(gone))
	}, gone...)
}

// finish ends the maintenance. A table whose compaction was refused has failed,
// although it was cleaned up: the planner then leaves it alone for a while.
func (j *job) finish(ctx context.Context) error {
	j.out.Over = true
	record := j.Record()
	if record.Counters[workflows.CountRefused] > 0 {
		return j.end(ctx, catalog.ProcedureFailed, record.LastError)
	}
	return j.end(ctx, catalog.ProcedureCompleted, "")
}

// refused notes that the table cannot be compacted, which will not be otherwise
// next time, and goes on to the clean-up.
func (j *job) refused(ctx context.Context, why error) error {
	j.out.Over = true
	if j.opts.Records == nil {
		return j.end(ctx, catalog.ProcedureFailed, why.Error())
	}
	return j.Release(ctx, func(p *catalog.Procedure) {
		p.Phase, p.Cursor, p.LastError = string(workflows.PhaseReclaiming), "", why.Error()
		if p.Counters[workflows.CountRefused] == 0 {
			add(p, workflows.CountRefused, 1)
		}
	})
}

// joined ends the compacting and leaves the record to the clean-up.
func (j *job) joined(ctx context.Context) error {
	j.out.Over = true
	if j.opts.Records == nil {
		return j.end(ctx, catalog.ProcedureCompleted, "")
	}
	return j.Release(ctx, func(p *catalog.Procedure) { p.Phase, p.Cursor = string(workflows.PhaseReclaiming), "" })
}

// inform tells where a long step stands.
func (j *job) inform(ctx context.Context, what string) { activity.RecordHeartbeat(ctx, what) }

// whileBeating runs work beside a beat that renews the lease, and stops it when
// the lease is lost, when the table is dropped, or when the worker stops.
func (j *job) whileBeating(ctx context.Context, work func(ctx context.Context) error) error {
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var err error // of the work, once it is done
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = work(working)
	}()
	beat := time.NewTicker(j.opts.Beat)
	defer beat.Stop()
	for {
		select {
		case <-done:
			if why := context.Cause(working); err != nil && why != nil {
				return why
			}
			return err
		case <-activity.GetWorkerStopChannel(ctx):
			stop(lake.Errorf(lake.Unavailable, "the worker is stopping"))
			<-done
			return context.Cause(working)
		case <-beat.C:
			if lost := j.beat(ctx); lost != nil {
				stop(lost)
				<-done // nothing touches the location any more
				return lost
			}
		}
	}
}

// round runs one activity of a maintenance under its lease.
func (a *Activities) round(ctx context.Context, in workflows.MaintenanceStep, body func(*job, context.Context) error) (workflows.MaintenanceProgress, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	default:
		later := a.opts.Now().Add(busyPause)
		return workflows.MaintenanceProgress{Wait: &later}, nil
	}
	ref := in.Ref()
	j := &job{Activities: a, in: in}
	err := a.runner.Run(ctx, string(ref.Kind), ref.ID, func(ctx context.Context, l *lease.Lease) error {
		j.Lease = l
		err := j.settle(ctx, body(j, ctx))
		j.out.Counters, j.out.Estimate = l.Record().Counters, lease.Estimate(l.Record())
		return err
	})
	var ended *lease.EndedError
	if errors.As(err, &ended) {
		stopped := ended.Record.Stopped
		return workflows.MaintenanceProgress{
			Over: true, Stopped: stopped, Gone: ended.Record.State == catalog.ProcedureCancelled && !stopped, Counters: ended.Record.Counters,
		}, nil
	}
	return j.out, err
}

// settle ends the procedure for errors that another attempt would meet again.
func (j *job) settle(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errGone):
		j.out.Over, j.out.Gone = true, true
		return j.end(ctx, catalog.ProcedureCancelled, "the table was dropped")
	case lake.Is(err, lake.Unsupported):
		j.out.Over = true
		return j.end(ctx, catalog.ProcedureFailed, err.Error())
	}
	return err
}
