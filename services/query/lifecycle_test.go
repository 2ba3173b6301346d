// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/admission"
)

// stuck is storage whose scans never deliver; they end with their context.
type stuck struct {
	engine.Engine
	waiting atomic.Int64
	opened  atomic.Int64
	closed  atomic.Int64
}

type stuckDataset struct {
	engine.Dataset
	s *stuck
}

type stuckScan struct {
	ctx context.Context
	s   *stuck
}

func (s *stuck) Open(ctx context.Context, snap lake.Snapshot) (engine.Dataset, error) {
	d, err := s.Engine.Open(ctx, snap)
	return &stuckDataset{d, s}, err
}

func (d *stuckDataset) Scan(ctx context.Context, _ engine.ScanOptions) (engine.Scan, error) {
	d.s.opened.Add(1)
	return &stuckScan{ctx, d.s}, nil
}

func (sc *stuckScan) Next(ctx context.Context) (arrow.RecordBatch, error) {
	sc.s.waiting.Add(1)
	defer sc.s.waiting.Add(-1)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-sc.ctx.Done():
		return nil, sc.ctx.Err()
	}
}

func (sc *stuckScan) Close() error { sc.s.closed.Add(1); return nil }

func gauge(t *testing.T, r *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// The report: the query kept running after its client went away.
func TestAQueryStopsWithinASecondOfItsClientLeaving(t *testing.T) {
	l := newLake(t)
	name := l.authority.create(t, "lab.notes", simple)
	l.authority.insert(t, name, rows(t, simple, `[{"id":1}]`))
	metrics := prometheus.NewRegistry()
	st := &stuck{Engine: l.authority.engine}
	r := l.replica(func(o *query.Options) {
		o.Storage, o.Metrics = st, metrics
		o.Admission = admission.Options{Concurrent: 1}
	})
	stay := r.client("ann-token")
	mustRun(t, stay, "SELECT 1")
	before := runtime.NumGoroutine()
	for _, sql := range []string{
		"SELECT sum(id) FROM lab.notes",                       // waits for storage
		"SELECT count(*) FROM range(1000000000000)",           // computes, sends nothing
		"SELECT range AS x FROM range(1000000000000) AS t",    // the client does not read
		"SELECT sum(sqrt(range)) FROM range(100000000000000)", // computes more
	} {
		leaving, err := flightsql.NewClient(r.addr, nil, nil, dialInsecure("ann-token")...)
		require.NoError(t, err)
		info, err := leaving.Execute(t.Context(), sql)
		require.NoError(t, err, sql)
		_, err = leaving.Client.DoGet(t.Context(), info.GetEndpoint()[0].GetTicket())
		require.NoError(t, err)
		require.Eventually(t, func() bool { return gauge(t, metrics, "lake_query_inflight_requests") == 1 }, time.Minute, time.Millisecond)
		if strings.Contains(sql, "lab.notes") {
			require.Eventually(t, func() bool { return st.waiting.Load() > 0 }, time.Minute, time.Millisecond)
		} else {
			time.Sleep(100 * time.Millisecond) // let it reach the engine
		}
		start := time.Now()
		require.NoError(t, leaving.Close())
		require.Eventually(t, func() bool { return gauge(t, metrics, "lake_query_inflight_requests") == 0 }, 20*time.Second, time.Millisecond, sql)
		took := time.Since(start)
		t.Logf("%-60s stopped in %s", sql, took)
		require.Less(t, took, 5*time.Second, "the promise is one second, and a busy machine gets more: "+sql)
		mustRun(t, stay, "SELECT 1") // the one permit is free again
	}
	require.Zero(t, st.waiting.Load())
	require.Equal(t, st.opened.Load(), st.closed.Load(), "every scan was closed")
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+3 }, 20*time.Second, 10*time.Millisecond, "goroutines: %d before, %d after", before, runtime.NumGoroutine())
}

func TestCancelStopsARunningQueryAndItsTicket(t *testing.T) {
	r := newLake(t).replica()
	c := r.client("ann-token")
	for _, how := range []string{"CancelFlightInfo", "CancelQuery"} {
		t.Run(how, func(t *testing.T) {
			info, err := c.Execute(t.Context(), "SELECT count(*) FROM range(1000000000000)")
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() { _, err := fetch(t, context.Background(), c, info); done <- err }()
			time.Sleep(100 * time.Millisecond)
			start := time.Now()
			if how == "CancelQuery" {
				res, err := c.CancelQuery(t.Context(), info) //nolint:staticcheck // older clients use it
				require.NoError(t, err)
				require.Equal(t, flightsql.CancelResultCancelled, res)
			} else {
				res, err := c.CancelFlightInfo(t.Context(), &flight.CancelFlightInfoRequest{Info: info})
				require.NoError(t, err)
				require.Equal(t, flight.CancelStatusCancelled, res.GetStatus())
			}
			err = <-done
			require.Less(t, time.Since(start), 5*time.Second)
			require.Equal(t, codes.Canceled, status.Code(err), "%v", err)
			require.ErrorContains(t, err, "the query was cancelled")
			_, err = fetch(t, t.Context(), c, info)
			require.Equal(t, codes.Canceled, status.Code(err), "a cancelled ticket stays cancelled")
		})
	}
	info, err := c.GetCatalogs(t.Context())
	require.NoError(t, err)
	res, err := c.CancelFlightInfo(t.Context(), &flight.CancelFlightInfoRequest{Info: info})
	require.NoError(t, err)
	require.Equal(t, flight.CancelStatusNotCancellable, res.GetStatus())
	_, err = c.CancelFlightInfo(t.Context(), &flight.CancelFlightInfoRequest{Info: &flight.FlightInfo{}})
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

func TestAQueryThatRunsTooLongIsStopped(t *testing.T) {
	r := newLake(t).replica(func(o *query.Options) { o.ExecutionTimeout = 200 * time.Millisecond })
	start := time.Now()
	_, err := run(t, r.client("ann-token"), "SELECT count(*) FROM range(1000000000000)")
	require.Equal(t, codes.DeadlineExceeded, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "the query ran longer than 200ms")
	require.Less(t, time.Since(start), 5*time.Second)
}

func TestATenantOverItsShareIsRefusedSoon(t *testing.T) {
	l := newLake(t)
	l.authority.create(t, "lab.notes", simple)
	metrics := prometheus.NewRegistry()
	r := l.replica(func(o *query.Options) {
		o.Storage = &stuck{Engine: l.authority.engine}
		o.Metrics = metrics
		o.Admission = admission.Options{PerTenant: 2}
	})
	ann, bob := r.client("ann-token"), r.client("bob-token")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		info, err := ann.Execute(ctx, "SELECT count(*) FROM range(1000000000000)")
		require.NoError(t, err)
		wg.Go(func() {
			for ctx.Err() == nil { // the questions below may take its permit
				_, _ = fetch(t, ctx, ann, info)
			}
		})
	}
	require.Eventually(t, func() bool { // both have their permits
		_, err := ann.Execute(ctx, "SELECT 1")
		return status.Code(err) == codes.ResourceExhausted
	}, time.Minute, time.Millisecond)
	_, err := ann.Execute(ctx, "SELECT 1")
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "the tenant already runs 2 queries on this replica")
	mustRun(t, bob, "SELECT 1")
	cancel()
	wg.Wait()
	require.Eventually(t, func() bool { _, err := run(t, ann, "SELECT 1"); return err == nil }, time.Minute, 10*time.Millisecond)
}

func TestMetricsHaveTheirNames(t *testing.T) {
	metrics := prometheus.NewRegistry()
	r := newLake(t).replica(func(o *query.Options) { o.Metrics = metrics })
	c := r.client("ann-token")
	mustRun(t, c, "SELECT 1")
	_, err := run(t, c, "DROP TABLE x")
	require.Error(t, err)
	require.EqualValues(t, 1, gauge(t, metrics, "lake_query_ready"))
	require.EqualValues(t, 0, gauge(t, metrics, "lake_query_inflight_requests"))
	require.Positive(t, gauge(t, metrics, "lake_query_admission_total"))
	require.EqualValues(t, 1, gauge(t, metrics, "lake_query_rejections_total"))
	require.Positive(t, gauge(t, metrics, "lake_query_catalog_refresh_total"))
}
