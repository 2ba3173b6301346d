// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/lake"
)

var (
	errPlanning = errors.New("the statement took too long to plan: constants such as repeat('x', 1000000) are computed then; make them smaller")
	errNoPlace  = errors.New("no place")
)

// planner shares the places in which statements are parsed and bound, in order of
// arrival. How long a statement waits for one says nothing of it, so that has a
// bound of its own and does not count against its planning.
type planner struct {
	places  *semaphore.Weighted
	opts    *Options
	metrics *metrics
}

func newPlanner(opts *Options, m *metrics) *planner {
	return &planner{semaphore.NewWeighted(int64(opts.PlannerPlaces)), opts, m}
}

// run waits for a place and calls work, whose context ends when the statement has
// been planned for too long. Which of the two bounds ran out is in the error:
// lake.Exhausted for a place, the status DeadlineExceeded for planning.
func (p *planner) run(ctx context.Context, work func(context.Context) error) error {
	if err := p.wait(ctx); err != nil {
		return err
	}
	defer p.places.Release(1)
	planning, cancel := context.WithTimeoutCause(ctx, min(p.opts.PlanningTimeout, p.opts.ExecutionTimeout), errPlanning)
	defer cancel()
	err := work(planning)
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(planning), errPlanning):
		return status.Error(codes.DeadlineExceeded, errPlanning.Error())
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return lateFor(ctx, "it was being planned")
	}
	return err
}

func (p *planner) wait(ctx context.Context) error {
	defer p.metrics.time(stagePlanQueue)()
	waiting, cancel := context.WithTimeoutCause(ctx, p.opts.PlanningTimeout, errNoPlace)
	defer cancel()
	if p.places.Acquire(waiting, 1) == nil {
		return nil
	}
	if errors.Is(context.Cause(waiting), errNoPlace) {
		return lake.Errorf(lake.Exhausted, "the replica is planning %d other statements, and none ended within %s: this one was not begun; try again, or another replica",
			p.opts.PlannerPlaces, p.opts.PlanningTimeout)
	}
	return lateFor(ctx, "it waited for a place to be planned")
}

// lateFor says where the statement was when its call ended.
func lateFor(ctx context.Context, where string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return status.Errorf(codes.DeadlineExceeded, "the deadline of the call ended while %s", where)
	}
	return context.Cause(ctx)
}
