// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine/enginetest"
	metamemory "github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/services/metasrv"
	"github.com/lakeplane/lake/services/query"
	"github.com/lakeplane/lake/services/query/gate"
)

// fleet is a real authority, which can stop and begin again at its address, and
// replicas that redeem each other's tickets.
type fleet struct {
	t       *testing.T
	store   *metamemory.Store
	storage *enginetest.Memory
	meta    string // its address
	stop    func() // ends the authority
}

// member is a replica of a fleet, with its series.
type member struct {
	*replica
	t      *testing.T
	series *prometheus.Registry
}

func newFleet(t *testing.T) *fleet {
	f := &fleet{t: t, store: metamemory.New(), storage: enginetest.NewMemory(), meta: "127.0.0.1:0"}
	t.Cleanup(func() { _ = f.store.Close() })
	f.begin()
	return f
}

// begin starts the authority.
func (f *fleet) begin() {
	f.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	meta, err := metasrv.New(metasrv.Options{Store: f.store, Engine: f.storage, Logger: quiet, Election: catalog.ElectionOptions{Exclusive: true}})
	require.NoError(f.t, err)
	lis, err := net.Listen("tcp", f.meta)
	require.NoError(f.t, err)
	f.meta = lis.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- meta.Serve(ctx, lis, metasrv.ListenOptions{Auth: people, Logger: quiet}) }()
	f.stop = sync.OnceFunc(func() { cancel(); require.NoError(f.t, <-served) })
	f.t.Cleanup(f.stop)
	require.Eventually(f.t, meta.Leading, 20*time.Second, time.Millisecond)
}

// join starts a replica, and waits until it hears of cancellations.
func (f *fleet) join(tune ...func(*query.Options)) *member {
	f.t.Helper()
	conn, err := grpc.NewClient(f.meta, append(dialInsecure("service"),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1, MaxDelay: 50 * time.Millisecond}}))...)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = conn.Close() })
	m := &member{t: f.t, series: prometheus.NewRegistry()}
	opts := query.Options{
		Authority: conn, Storage: f.storage, SQL: sharedSQL, Gate: gate.New(sharedSQL, gate.DefaultLimits()),
		Log: slog.New(slog.DiscardHandler), Metrics: m.series,
	}
	for _, change := range append(tune, keys(f.t, 1)) {
		change(&opts)
	}
	q, err := query.New(opts)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { require.NoError(f.t, q.Close()) })
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(f.t, err)
	background(f.t, func(ctx context.Context) error {
		return q.Serve(ctx, lis, query.ListenOptions{Auth: people}, time.Second)
	})
	m.replica = &replica{Server: q, t: f.t, addr: lis.Addr().String(), opts: opts}
	require.Eventually(f.t, q.Ready, 20*time.Second, time.Millisecond)
	m.awaitHearing(1)
	return m
}

// awaitHearing waits until the replica says that it hears (1) or not (0).
func (m *member) awaitHearing(want float64) {
	m.t.Helper()
	require.Eventually(m.t, func() bool { return gauge(m.t, m.series, "lake_query_hears_cancellations") == want }, 20*time.Second, time.Millisecond)
}

// cancelled is how many queries a replica counts as cancelled by somebody.
func (m *member) cancelled(from string) (n float64) {
	m.t.Helper()
	families, err := m.series.Gather()
	require.NoError(m.t, err)
	for _, f := range families {
		for _, s := range f.GetMetric() {
			if f.GetName() == "lake_query_cancellations_total" && s.GetLabel()[0].GetValue() == from {
				n += s.GetCounter().GetValue()
			}
		}
	}
	return n
}

func cancelAt(t *testing.T, c *flightsql.Client, info *flight.FlightInfo) (flight.CancelStatus, error) {
	t.Helper()
	res, err := c.CancelFlightInfo(t.Context(), &flight.CancelFlightInfoRequest{Info: info})
	return res.GetStatus(), err
}

// requireCancelled checks that a query's ticket is good for nothing any more.
func requireCancelled(t *testing.T, c *flightsql.Client, info *flight.FlightInfo) {
	t.Helper()
	_, err := fetch(t, t.Context(), c, info)
	require.Equal(t, codes.Canceled, status.Code(err), "%v", err)
	_, err = c.RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: info.GetEndpoint()[0]})
	require.Equal(t, codes.Canceled, status.Code(err), "nor can it be renewed: %v", err)
}

// awaitCancelled waits until a replica has heard that a query is cancelled.
func awaitCancelled(t *testing.T, c *flightsql.Client, info *flight.FlightInfo) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := c.RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: info.GetEndpoint()[0]})
		return status.Code(err) == codes.Canceled
	}, 20*time.Second, time.Millisecond)
	requireCancelled(t, c, info)
}

const (
	endlessRows    = "SELECT range AS x FROM range(1000000000000) AS t"
	endlessThought = "SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000000) b"
)

// runAt begins a query on a replica and returns how it ends.
func runAt(t *testing.T, m *member, c *flightsql.Client, sql string) (info *flight.FlightInfo, ended <-chan error) {
	t.Helper()
	info, err := c.Execute(t.Context(), sql)
	require.NoError(t, err)
	done, first := make(chan error, 1), make(chan struct{})
	go func() {
		r, err := c.DoGet(context.Background(), info.GetEndpoint()[0].GetTicket())
		if err != nil {
			done <- err
			return
		}
		defer r.Release()
		for r.Next() {
			select {
			case <-first:
			default:
				close(first)
			}
		}
		done <- r.Err()
	}()
	if sql == endlessRows {
		<-first
	} else {
		require.Eventually(t, func() bool { return gauge(t, m.series, "lake_query_inflight_requests") == 1 }, 20*time.Second, time.Millisecond)
		time.Sleep(100 * time.Millisecond) // let it reach the engine
	}
	return info, done
}

func TestACancelReachesTheReplicaThatRunsTheQuery(t *testing.T) {
	f := newFleet(t)
	a, b := f.join(), f.join()
	atA, atB := a.client("ann-token"), b.client("ann-token")
	for i, sql := range []string{endlessRows, endlessThought} {
		info, ended := runAt(t, a, atA, sql)
		_, err := cancelAt(t, b.client("bob-token"), info)
		require.Equal(t, codes.Unauthenticated, status.Code(err), "nobody else cancels it")
		select {
		case err := <-ended:
			require.Fail(t, "the query ended", "%v", err)
		case <-time.After(100 * time.Millisecond):
		}

		start := time.Now()
		got, err := cancelAt(t, atB, info)
		require.NoError(t, err)
		require.Equal(t, flight.CancelStatusCancelling, got, "it does not run here")
		err = <-ended
		t.Logf("stopped on the other replica within %s: %s", time.Since(start).Round(time.Millisecond), sql)
		require.Less(t, time.Since(start), 5*time.Second, "the promise is one second, and a busy machine gets more")
		require.Equal(t, codes.Canceled, status.Code(err), "%v", err)
		require.ErrorContains(t, err, "the query was cancelled")
		requireCancelled(t, atA, info)
		requireCancelled(t, atB, info)
		require.EqualValues(t, i+1, b.cancelled("client"))
		require.EqualValues(t, i+1, a.cancelled("authority"))
	}
	require.Zero(t, b.cancelled("authority"), "what comes back was known")
	require.Zero(t, a.cancelled("client"))

	info, ended := runAt(t, a, atA, endlessRows)
	got, err := cancelAt(t, atA, info)
	require.NoError(t, err)
	require.Equal(t, flight.CancelStatusCancelled, got, "it ran here")
	require.Equal(t, codes.Canceled, status.Code(<-ended))
	awaitCancelled(t, atB, info)
}

func TestAReplicaThatComesLaterKnowsWhatWasCancelled(t *testing.T) {
	f := newFleet(t)
	here := f.join().client("ann-token")
	info, err := here.Execute(t.Context(), endlessRows)
	require.NoError(t, err)
	got, err := cancelAt(t, here, info)
	require.NoError(t, err)
	require.Equal(t, flight.CancelStatusCancelling, got, "somebody may have begun it elsewhere")
	later := f.join()
	awaitCancelled(t, later.client("ann-token"), info)
	require.EqualValues(t, 1, later.cancelled("authority"))
}

// TestCancellationsOutliveTheirAuthority: the board is in its memory, and the
// replicas bring what they know to the next one.
func TestCancellationsOutliveTheirAuthority(t *testing.T) {
	f := newFleet(t)
	a, b := f.join(), f.join()
	atA, atB := a.client("ann-token"), b.client("ann-token")
	before, err := atA.Execute(t.Context(), endlessRows)
	require.NoError(t, err)
	_, err = cancelAt(t, atA, before)
	require.NoError(t, err)
	meanwhile, there := runAt(t, a, atA, endlessRows)

	f.stop()
	a.awaitHearing(0)
	b.awaitHearing(0)
	require.True(t, b.Ready(), "that is no reason not to serve")
	mustRun(t, atB, "SELECT 1")
	_, err = cancelAt(t, atB, meanwhile)
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "the others could not be told")
	requireCancelled(t, atB, meanwhile)
	here, ended := runAt(t, b, atB, endlessRows)
	got, err := cancelAt(t, atB, here)
	require.NoError(t, err)
	require.Equal(t, flight.CancelStatusCancelled, got, "this needs nobody else")
	require.Equal(t, codes.Canceled, status.Code(<-ended))
	select {
	case err := <-there:
		require.Fail(t, "nobody told the other replica", "%v", err)
	default:
	}

	f.begin()
	require.Equal(t, codes.Canceled, status.Code(<-there), "it is told when there is an authority again")
	awaitCancelled(t, atA, here)
	later := f.join().client("ann-token")
	for _, info := range []*flight.FlightInfo{before, meanwhile, here} {
		awaitCancelled(t, later, info)
	}
	info, ended := runAt(t, a, atA, endlessThought)
	b.awaitHearing(1)
	got, err = cancelAt(t, atB, info)
	require.NoError(t, err)
	require.Equal(t, flight.CancelStatusCancelling, got)
	require.Equal(t, codes.Canceled, status.Code(<-ended))
}

// troubled is a connection to an authority of which single calls go wrong.
type troubled struct {
	grpc.ClientConnInterface
	lost    atomic.Uint32 // the code by which cancellations are not taken
	watches atomic.Int32  // were begun
}

func (c *troubled) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if code := codes.Code(c.lost.Load()); method == lakepb.Cancellations_Cancel_FullMethodName && code != codes.OK {
		return status.Error(code, "lost")
	}
	return c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}

func (c *troubled) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if method == lakepb.Cancellations_Watch_FullMethodName {
		c.watches.Add(1)
	}
	return c.ClientConnInterface.NewStream(ctx, desc, method, opts...)
}

func troubling(c *troubled) func(*query.Options) {
	return func(o *query.Options) { c.ClientConnInterface, o.Authority = o.Authority, c }
}

// TestACancellationThatWasLostIsToldLater, also when the watch was never broken:
// the call met a member that was overloaded, or one of an older release.
func TestACancellationThatWasLostIsToldLater(t *testing.T) {
	f := newFleet(t)
	way := new(troubled)
	a, b := f.join(), f.join(troubling(way))
	atA, atB := a.client("ann-token"), b.client("ann-token")
	for lost, want := range map[codes.Code]codes.Code{
		codes.Unavailable: codes.Unavailable, codes.ResourceExhausted: codes.Unavailable, codes.Unimplemented: codes.OK,
	} {
		b.awaitHearing(1)
		info, ended := runAt(t, a, atA, endlessRows)
		before := way.watches.Load()
		way.lost.Store(uint32(lost))
		got, err := cancelAt(t, atB, info)
		require.Equal(t, want, status.Code(err), "%v", err)
		if err == nil {
			require.Equal(t, flight.CancelStatusCancelling, got)
		}
		way.lost.Store(uint32(codes.OK))
		require.Equal(t, codes.Canceled, status.Code(<-ended))
		require.Greater(t, way.watches.Load(), before)
	}
}

// TestAnOlderAuthorityDoesNotPassOnCancellations, and the replica says so once.
func TestAnOlderAuthorityDoesNotPassOnCancellations(t *testing.T) {
	way, log := new(troubled), new(safeBuffer)
	r := newLake(t).replica(func(o *query.Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) }, troubling(way))
	require.Eventually(t, func() bool { return way.watches.Load() >= 3 }, 20*time.Second, time.Millisecond)
	c := r.client("ann-token")
	info, err := c.Execute(t.Context(), endlessRows)
	require.NoError(t, err)
	got, err := cancelAt(t, c, info)
	require.NoError(t, err)
	require.Equal(t, flight.CancelStatusCancelling, got, "another replica may run it")
	requireCancelled(t, c, info)
	require.Equal(t, 1, strings.Count(log.String(), "cancelled"), log.String())
	require.Contains(t, log.String(), "does not pass on cancelled queries")
}

// safeBuffer is a buffer that several goroutines use.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestAQueryIsCancelledByATicketThatHasExpired: it runs on after that. The
// ticket is good for nothing else, and for that no longer than a query may run.
func TestAQueryIsCancelledByATicketThatHasExpired(t *testing.T) {
	var ahead atomic.Int64
	f := newFleet(t)
	tune := func(o *query.Options) {
		o.ExecutionTimeout = 20 * time.Minute
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	}
	a, b := f.join(tune), f.join(tune)
	atA, atB := a.client("ann-token"), b.client("ann-token")
	here, endedHere := runAt(t, a, atA, endlessRows)
	elsewhere, endedElsewhere := runAt(t, b, atB, endlessRows)
	ahead.Store(int64(24 * time.Minute))
	requireInvalidTicket(t, atA, here.GetEndpoint()[0].GetTicket().GetTicket(), "it has expired")
	_, err := atA.RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: here.GetEndpoint()[0]})
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	_, err = cancelAt(t, a.client("bob-token"), here)
	require.Equal(t, codes.Unauthenticated, status.Code(err), "nobody else cancels it")
	got, err := cancelAt(t, atA, here)
	require.NoError(t, err)
	require.Equal(t, flight.CancelStatusCancelled, got)
	require.Equal(t, codes.Canceled, status.Code(<-endedHere))
	got, err = cancelAt(t, atA, elsewhere)
	require.NoError(t, err)
	require.Equal(t, flight.CancelStatusCancelling, got)
	require.Equal(t, codes.Canceled, status.Code(<-endedElsewhere))
	ahead.Store(int64(26 * time.Minute))
	_, err = cancelAt(t, atA, here)
	require.Equal(t, codes.Unauthenticated, status.Code(err), "no query that was begun with it runs any more")
}

// TestARenewedTicketIsCancelledByTheOldOne: all that were made for the query.
func TestARenewedTicketIsCancelledByTheOldOne(t *testing.T) {
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	c := newLake(t).replica(func(o *query.Options) { o.Now = func() time.Time { return time.Unix(0, now.Load()) } }).client("ann-token")
	pass := func(d time.Duration) { now.Add(int64(d)) }
	old, err := c.Execute(t.Context(), "SELECT 1 AS one")
	require.NoError(t, err)
	pass(4 * time.Minute)
	endpoint, err := c.RenewFlightEndpoint(t.Context(), &flight.RenewFlightEndpointRequest{Endpoint: old.GetEndpoint()[0]})
	require.NoError(t, err)
	renewed := &flight.FlightInfo{Endpoint: []*flight.FlightEndpoint{endpoint}}
	_, err = fetch(t, t.Context(), c, renewed)
	require.NoError(t, err)
	pass(30 * time.Second)
	_, err = cancelAt(t, c, old)
	require.NoError(t, err)
	for range 4 { // until just before its end
		requireCancelled(t, c, renewed)
		pass(time.Minute)
	}
	pass(29 * time.Second)
	requireCancelled(t, c, renewed)
	pass(2 * time.Second)
	requireInvalidTicket(t, c, endpoint.GetTicket().GetTicket(), "expired")
}
