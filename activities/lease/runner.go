// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/activities/failure"
	"github.com/lakeplane/lake/workflows"
)

// Runner runs the bodies of activities, each under a lease of its own.
type Runner struct {
	Records Records
	Options Options
	// Log hears the full text of failures.
	Log *slog.Logger
}

// Run claims the procedure for the running activity and calls body. When body
// fails, the record shows why and is free for the next attempt. The error is
// fit for Temporal, except for an *EndedError, which comes as it is: what the
// end of the procedure means is for the activity to say. A procedure that an
// operator holds fails as [workflows.HeldFailure], which package control waits
// out.
func (r Runner) Run(ctx context.Context, kind, id string, body func(context.Context, *Lease) error) error {
	l, err := Claim(ctx, r.Records, kind, id, attemptOf(ctx), r.Options)
	var ended *EndedError
	if errors.As(err, &ended) {
		return ended
	}
	var held *HeldError
	if errors.As(err, &held) {
		// An order that is obeyed is no error, and not logged as one.
		return temporal.NewApplicationErrorWithOptions(held.Error(), workflows.HeldFailure, temporal.ApplicationErrorOptions{
			NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign,
		})
	}
	if err == nil {
		if err = body(ctx, l); err != nil && ctx.Err() == nil {
			l.Note(ctx, failure.Text(err))
		} else if err != nil {
			l.Note(ctx, "") // stopped, not failed
		}
	}
	return failure.Of(ctx, r.Log, err)
}

// attemptOf is the running activity's attempt.
func attemptOf(ctx context.Context) Attempt {
	info := activity.GetInfo(ctx)
	return Attempt{
		Run:  info.WorkflowExecution.RunID,
		Name: fmt.Sprintf("%s attempt %d", info.ActivityType.Name, info.Attempt),
	}
}

// Budget bounds what one activity does before it returns, so that histories
// stay short, a deployment waits for no one and an operator's pause takes
// effect soon.
type Budget struct {
	// Time is how long the activity works at most, give or take one page.
	Time time.Duration
	// Items is how many items it handles at most, give or take one page.
	Items int
}

// Or returns the budget with its zero fields taken from another.
func (b Budget) Or(other Budget) Budget {
	return Budget{Time: cmp.Or(b.Time, other.Time), Items: cmp.Or(b.Items, other.Items)}
}

// Meter measures one activity against a budget.
type Meter struct {
	budget Budget
	end    time.Time
	items  int
	stop   <-chan struct{}
}

// Start begins to measure.
func (b Budget) Start(ctx context.Context) *Meter {
	return &Meter{budget: b, end: time.Now().Add(b.Time), stop: activity.GetWorkerStopChannel(ctx)}
}

// Add counts items that were handled.
func (m *Meter) Add(items int) { m.items += items }

// Spent reports whether the activity should return at this page boundary: a
// part of the budget is used up, or the worker is stopping.
func (m *Meter) Spent() bool {
	select {
	case <-m.stop:
		return true
	default:
	}
	return m.items >= m.budget.Items || !time.Now().Before(m.end)
}

// slowest bounds one wait: under the heartbeat's timeout of every activity. It keeps
// [catalog.MinRate], item by item.
const slowest = 10 * time.Second

// Slow waits until n items that took so long are no more than an operator's rate
// allows; 0 is no bound. One wait is ten seconds at most, so handle few items at a
// time under a small rate. It returns the end of ctx.
func Slow(ctx context.Context, rate float64, n int, took time.Duration) error {
	if rate <= 0 {
		return nil
	}
	return Wait(ctx, time.Duration(min(float64(n)/rate, slowest.Seconds())*float64(time.Second))-took)
}

// Wait waits for d, or not at all when it is not positive. It returns the end of
// ctx.
func Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
