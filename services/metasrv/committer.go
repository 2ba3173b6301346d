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
		c.server.working.Go(func() { c.run(ctx, table) })
	}
	out := <-a.done
	return out.result, out.err
}

// run commits what waits for the table until nothing does.
func (c *committers) run(ctx context.Context, table lake.TableName) {
	w := committer{server: c.server, name: table}
	for {
		group := c.next(table)
		if len(group) == 0 {
			return
		}
		w.commit(ctx, group)
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

// committer makes versions of one table. It is used by one goroutine.
type committer struct {
	server *Server
	name   lake.TableName
	// current is the table as the last commit left it. It is only a guess: the
	// commit checks it.
	current *catalog.Table
}

// commit makes one version of the group, or says to each member why not.
//
// Every attempt expects the exact table record and the absence of every
// operation's record. So an attempt whose outcome is unknown is followed by
// another one from the start: at most one of them can ever apply.
func (w *committer) commit(ctx context.Context, group []*stagedAppend) {
	defer w.server.metrics.since("commit", time.Now())
	if w.current != nil && slices.ContainsFunc(group, w.foreign) {
		w.current = nil // a recreated table, perhaps: see what is there
	}
	unknown := false
	var err error
	for attempt := range commitAttempts {
		if attempt > 0 {
			w.current = nil
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
	w.current = nil
	if unknown && !lake.Is(err, lake.Undetermined) {
		err = lake.Errorf(lake.Undetermined, "an earlier attempt may have been committed: %w", err)
	}
	for _, a := range group {
		a.done <- outcome{err: err}
	}
}

// foreign reports whether the append was staged for another incarnation than
// the one last seen.
func (w *committer) foreign(a *stagedAppend) bool {
	return a.incarnation != w.current.Snapshot.Incarnation
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
	table, err := w.table(ctx)
	if err != nil {
		return group, err
	}
	if group = w.settle(ctx, table, group, look); len(group) == 0 {
		return nil, nil
	}
	// The base must be published before anything is built on it.
	if err := w.server.publish(ctx, table.Snapshot); err != nil {
		return group, lake.Errorf(lake.Unavailable, "%w", err)
	}
	moved, err := w.advance(ctx, fence, table, group)
	if err != nil {
		return group, err
	}
	w.current = &moved
	w.server.metrics.group.Observe(float64(len(group)))
	w.acknowledge(ctx, moved, group)
	return nil, nil
}

// table returns the table to build on.
func (w *committer) table(ctx context.Context) (catalog.Table, error) {
	if w.current != nil {
		return *w.current, nil
	}
	table, err := w.server.catalog.Get(ctx, w.name)
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

// advance stages the version that adds the group and commits it.
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
	return w.server.catalog.Advance(ctx, fence, table, staged.Snapshot, staged.Ops, operations)
}

// acknowledge publishes the version and answers its members.
func (w *committer) acknowledge(ctx context.Context, table catalog.Table, group []*stagedAppend) {
	err := w.server.publish(ctx, table.Snapshot)
	for _, a := range group {
		out := outcome{err: err}
		if err == nil {
			out.result = appended{incarnation: table.Snapshot.Incarnation, version: table.Snapshot.Version, rows: a.operation.Rows}
		}
		a.done <- out
	}
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
