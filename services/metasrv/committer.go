// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
)

const (
	commitAttempts   = 12
	firstCommitPause = 5 * time.Millisecond
	maxCommitPause   = 500 * time.Millisecond
)

// stagedAppend is an operation whose rows are staged and wait for a version.
type stagedAppend struct {
	incarnation lake.Incarnation
	operation   catalog.Operation
	data        engine.Data
	begun       time.Time    // when staging the data began
	done        chan outcome // receives once
}

type outcome struct {
	result appended
	err    error
}

// committers run at most one committer a table. A committer exists while
// appends wait for it.
type committers struct {
	server *Server
	mu     sync.Mutex
	queues map[lake.TableName][]*stagedAppend
}

func newCommitters(s *Server) *committers {
	return &committers{server: s, queues: map[lake.TableName][]*stagedAppend{}}
}

// submit has the append committed and returns the version it became part of.
// The caller must be counted as work of the server, as the committer is.
func (c *committers) submit(ctx context.Context, table lake.TableName, a *stagedAppend) (appended, error) {
	a.done = make(chan outcome, 1)
	c.mu.Lock()
	queue, running := c.queues[table]
	if len(queue) >= c.server.opts.Append.Waiting {
		c.mu.Unlock()
		return appended{}, lake.Errorf(lake.Exhausted, "%d appends wait for their commit: try again", len(queue))
	}
	c.queues[table] = append(queue, a)
	c.mu.Unlock()
	if !running {
		c.server.working.Add(1)
		c.server.hands.do(func() {
			defer c.server.working.Done()
			c.run(ctx, table)
		})
	}
	out := <-a.done
	return out.result, out.err
}

// run commits what waits for the table until nothing does.
func (c *committers) run(ctx context.Context, table lake.TableName) {
	w := committer{server: c.server, name: table}
	defer w.landed()
	for {
		group := c.next(table)
		if len(group) == 0 {
			return
		}
		w.commit(ctx, group)
	}
}

// landed waits for the publication under way.
func (w *committer) landed() {
	if w.last != nil {
		<-w.last
	}
}

// next takes the next group, or removes the queue when it is empty.
func (c *committers) next(table lake.TableName) []*stagedAppend {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue := c.queues[table]
	if len(queue) == 0 {
		delete(c.queues, table)
		return nil
	}
	n := min(len(queue), catalog.MaxGroup)
	c.queues[table] = queue[n:len(queue):len(queue)]
	return queue[:n:n]
}

// committer makes versions of one table. It is used by one goroutine. While a
// version is being published, the next one is staged: a version may be written,
// but not committed, on a base that is not published.
type committer struct {
	server *Server
	name   lake.TableName
	// last is closed when the version committed last is published, or could not
	// be; nil before the first.
	last chan struct{}
}

// commit makes one version of the group, or says to each member why not.
//
// Every attempt expects the exact table record and the absence of every
// operation's record. So an attempt whose outcome is unknown is followed by
// another one from the start: at most one of them can ever apply.
func (w *committer) commit(ctx context.Context, group []*stagedAppend) {
	defer w.server.metrics.since("commit", time.Now())
	unknown := false
	var err error
	for attempt := range commitAttempts {
		if attempt > 0 {
			w.server.tables.forget(w.name)
			if !pause(ctx, min(firstCommitPause<<(attempt-1), maxCommitPause)) {
				break
			}
		}
		group, err = w.attempt(ctx, group, attempt > 0)
		w.server.metrics.outcomes.WithLabelValues(outcomeLabel(err)).Inc()
		if len(group) == 0 {
			return
		}
		unknown = unknown || lake.Is(err, lake.Undetermined)
		if !again(err) {
			break
		}
	}
	w.server.tables.forget(w.name)
	if !unknown && len(group) > 1 && blames(err) {
		for _, a := range group {
			w.commit(ctx, []*stagedAppend{a})
		}
		return
	}
	if unknown && !lake.Is(err, lake.Undetermined) {
		err = lake.Errorf(lake.Undetermined, "an earlier attempt may have been committed: %w", err)
	}
	for _, a := range group {
		a.done <- outcome{err: err}
	}
}

// blames reports whether an error may be the fault of one member of a group,
// which then must not be the others' too.
func blames(err error) bool {
	switch lake.KindOf(err) {
	case lake.Invalid, lake.Precondition, lake.Unsupported, lake.Corrupt, lake.Unknown:
		return true
	}
	return false
}

func again(err error) bool { return lake.Is(err, lake.Conflict) || lake.Is(err, lake.Undetermined) }

func outcomeLabel(err error) string {
	if err == nil {
		return "committed"
	}
	return lake.KindOf(err).String()
}

// attempt tries once. Members that are decided are answered; it returns the
// others with the reason. look says that operations may have been committed
// meanwhile.
func (w *committer) attempt(ctx context.Context, group []*stagedAppend, look bool) ([]*stagedAppend, error) {
	fence, err := w.server.leader.fence(ctx)
	if err != nil {
		return group, err
	}
	era := w.server.tables.begin(fence)
	table, err := w.base(ctx, group, fence)
	if err != nil {
		return group, err
	}
	if group = w.settle(ctx, table, group, look); len(group) == 0 {
		return nil, nil
	}
	seen := wall() // the commit fails if it is not there by then
	moved, err := w.advance(ctx, fence, table, group)
	if err != nil {
		return group, err
	}
	w.server.tables.put(moved, era)
	w.server.metrics.group.Observe(float64(len(group)))
	w.acknowledge(ctx, moved, group, seen)
	return nil, nil
}

// base returns the table to build on.
func (w *committer) base(ctx context.Context, group []*stagedAppend, fence catalog.Fence) (catalog.Table, error) {
	table, kept, err := w.server.table(ctx, w.name, fence)
	foreign := func(a *stagedAppend) bool { return a.incarnation != table.Snapshot.Incarnation }
	if kept && slices.ContainsFunc(group, foreign) { // a recreated table, perhaps: see what is there
		w.server.tables.forget(w.name)
		table, _, err = w.server.table(ctx, w.name, fence)
	}
	if lake.Is(err, lake.NotFound) {
		return table, lake.Errorf(lake.Precondition, "the table was dropped")
	}
	return table, err
}

// settle answers the members that cannot or need not join the next version,
// and returns the others.
func (w *committer) settle(ctx context.Context, table catalog.Table, group []*stagedAppend, look bool) []*stagedAppend {
	var left []*stagedAppend
	for _, a := range group {
		switch {
		case a.incarnation != table.Snapshot.Incarnation:
			a.done <- outcome{err: lake.Errorf(lake.Precondition, "the table was dropped and created again")}
			continue
		case look:
			record, found, err := w.server.catalog.Replay(ctx, table, a.operation)
			if err != nil {
				a.done <- outcome{err: unsettled(err)}
				continue
			}
			if found {
				result, err := w.server.replayed(ctx, table, record)
				a.done <- outcome{result, err}
				continue
			}
		}
		// After the table was read: a clean-up that could have taken the data
		// replaces its record first, so it has not begun, or is seen here.
		if age := time.Since(a.begun); age > w.server.opts.Append.StagedFor {
			a.done <- outcome{err: lake.Errorf(lake.Unavailable, "the rows were staged %s ago and may have been cleaned up since: append them again", age.Round(time.Second))}
			continue
		}
		left = append(left, a)
	}
	return left
}

// unsettled keeps a definite refusal and calls everything else unknown: an
// earlier attempt may have committed the operation that could not be looked up.
func unsettled(err error) error {
	switch lake.KindOf(err) {
	case lake.Invalid, lake.Precondition, lake.AlreadyExists, lake.Corrupt:
		return err
	}
	return lake.Errorf(lake.Undetermined, "whether the operation was committed could not be found out: %w", err)
}

// advance stages the version that adds the group and commits it on a published
// base.
func (w *committer) advance(ctx context.Context, fence catalog.Fence, table catalog.Table, group []*stagedAppend) (catalog.Table, error) {
	adds := make([]engine.Append, len(group))
	operations := make([]catalog.Operation, len(group))
	for i, a := range group {
		operations[i] = a.operation
		adds[i] = engine.Append{
			Operation: engine.Operation{Tenant: a.operation.Tenant, ID: a.operation.ID, Digest: a.operation.Digest},
			Data:      a.data,
		}
	}
	staged, err := w.server.opts.Engine.StageAppend(ctx, table.Snapshot, adds)
	if err != nil {
		return catalog.Table{}, err
	}
	if err := w.published(ctx, table); err != nil {
		return catalog.Table{}, lake.Errorf(lake.Unavailable, "%w", err)
	}
	return w.server.catalog.Advance(ctx, fence, table, staged.Snapshot, staged.Ops, operations)
}

// published waits until the base is published, or publishes it.
func (w *committer) published(ctx context.Context, base catalog.Table) error {
	w.landed()
	return w.server.publish(ctx, base, time.Time{})
}

// acknowledge begins to publish the version; its members are answered when it
// is. One version is published at a time, in their order.
func (w *committer) acknowledge(ctx context.Context, table catalog.Table, group []*stagedAppend, seen time.Time) {
	done := make(chan struct{})
	w.last = done
	w.server.hands.do(func() {
		defer close(done)
		err := w.server.publish(ctx, table, seen)
		for _, a := range group {
			out := outcome{err: err}
			if err == nil {
				out.result = appended{incarnation: table.Snapshot.Incarnation, version: table.Snapshot.Version, rows: a.operation.Rows}
			}
			a.done <- out
		}
	})
}

// pause waits for about d, and reports false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
