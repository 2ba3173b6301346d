// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/services/query"
	sqlengine "github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/gate"
)

// slowPlanner plans statements that have the word slow when it is told to.
type slowPlanner struct {
	sqlengine.Engine
	entered, leave chan struct{}
}

func (p *slowPlanner) Plan(ctx context.Context, req sqlengine.Request) (sqlengine.Plan, error) {
	if strings.Contains(req.SQL, "slow") {
		p.entered <- struct{}{}
		<-p.leave // whatever ctx says, as an engine that computes a constant
		if ctx.Err() != nil {
			return sqlengine.Plan{}, ctx.Err()
		}
	}
	return p.Engine.Plan(ctx, req)
}

// timedGate tells until when each statement may be checked.
type timedGate struct {
	query.Gate
	until chan time.Time
}

func (g timedGate) Check(ctx context.Context, sql string) (gate.Parsed, error) {
	deadline, _ := ctx.Deadline()
	g.until <- deadline
	return g.Gate.Check(ctx, sql)
}

func newSlowPlanner() *slowPlanner {
	return &slowPlanner{Engine: sharedSQL, entered: make(chan struct{}), leave: make(chan struct{})}
}

// TestWaitingForAPlaceIsNotPlanning: the time in which a statement may be planned
// begins when it has its place.
func TestWaitingForAPlaceIsNotPlanning(t *testing.T) {
	planner, metrics, until := newSlowPlanner(), prometheus.NewRegistry(), make(chan time.Time, 2)
	r := newLake(t).replica(func(o *query.Options) {
		o.Planner, o.PlannerPlaces, o.Metrics = planner, 1, metrics
		o.Gate = timedGate{o.Gate, until}
	})
	c := r.client("ann-token")
	done := make(chan error, 2)
	execute := func(sql string) {
		_, err := c.Execute(t.Context(), sql)
		done <- err
	}
	go execute("SELECT 'slow'")
	<-planner.entered
	<-until
	go execute("SELECT 'quick'")
	require.Eventually(t, func() bool { return gauge(t, metrics, "lake_query_inflight_requests") == 2 }, 30*time.Second, time.Millisecond)
	released := time.Now()
	close(planner.leave)
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	end := <-until
	require.False(t, end.Before(released.Add(query.DefaultPlanningTimeout)), "its time ends %s after it could begin", end.Sub(released))
}

// TestTheErrorSaysWhetherPlaceOrPlanningRanOut, by code and text.
func TestTheErrorSaysWhetherPlaceOrPlanningRanOut(t *testing.T) {
	planner := newSlowPlanner()
	r := newLake(t).replica(func(o *query.Options) {
		o.Planner, o.PlannerPlaces, o.PlanningTimeout = planner, 1, 50*time.Millisecond
	})
	c := r.client("ann-token")
	slow := make(chan error, 1)
	go func() {
		_, err := c.Execute(t.Context(), "SELECT 'slow'")
		slow <- err
	}()
	<-planner.entered
	_, err := c.Execute(t.Context(), "SELECT 'quick'")
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "the replica is planning 1 other statements, and none ended within 50ms: this one was not begun")
	close(planner.leave)
	err = <-slow
	require.Equal(t, codes.DeadlineExceeded, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "the statement took too long to plan")
}
