// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/metasrv"
)

func cancelOf(keep time.Duration, ids ...lake.ID) *lakepb.CancelQueriesRequest {
	req := &lakepb.CancelQueriesRequest{}
	for _, id := range ids {
		req.Cancellations = append(req.Cancellations, &lakepb.QueryCancellation{QueryId: id[:], KeepFor: durationpb.New(keep)})
	}
	return req
}

// watching is a watch of the board, begun: its first message is read.
type watching struct {
	grpc.ServerStreamingClient[lakepb.WatchCancellationsResponse]
	first *lakepb.WatchCancellationsResponse
}

func watch(t *testing.T, a *authority) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(as(t.Context(), "member"))
	t.Cleanup(cancel)
	w := &watching{}
	require.Eventually(t, func() bool { // a member knows its leader soon
		var err error
		if w.ServerStreamingClient, err = a.cancellations.Watch(ctx, &lakepb.WatchCancellationsRequest{}); err != nil {
			return false
		}
		w.first, err = w.Recv()
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	return w
}

// ids are the queries of a message.
func ids(t *testing.T, msg *lakepb.WatchCancellationsResponse) (out []lake.ID) {
	t.Helper()
	for _, c := range msg.GetCancellations() {
		require.Positive(t, c.GetKeepFor().AsDuration())
		out = append(out, lake.ID(c.GetQueryId()))
	}
	return out
}

func (w *watching) next(t *testing.T) []lake.ID {
	t.Helper()
	msg, err := w.Recv()
	require.NoError(t, err)
	return ids(t, msg)
}

// watchersOf is how many a leader says it tells.
func watchersOf(t *testing.T, r *prometheus.Registry) float64 {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "lake_metasrv_cancellation_watchers" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	require.Fail(t, "no such series")
	return 0
}

func TestWhoMayUseTheBoard(t *testing.T) {
	a := start(t)
	cancel := func(ctx context.Context) error {
		_, err := a.cancellations.Cancel(ctx, cancelOf(time.Minute, lake.NewID()))
		return err
	}
	look := func(ctx context.Context) error {
		stream, err := a.cancellations.Watch(ctx, &lakepb.WatchCancellationsRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		return err
	}
	actingForAnn := metadata.AppendToOutgoingContext(as(t.Context(), "replica"), "x-lake-principal", "ann", "x-lake-tenant", "red", "x-lake-namespaces", "*")
	for name, c := range map[string]struct {
		ctx  context.Context
		want codes.Code
	}{
		"a replica":                      {as(t.Context(), "replica"), codes.OK},
		"a member":                       {as(t.Context(), "member"), codes.OK},
		"a user":                         {as(t.Context(), "red"), codes.PermissionDenied},
		"an admin":                       {as(t.Context(), "root"), codes.PermissionDenied},
		"a replica that acts for a user": {actingForAnn, codes.PermissionDenied},
		"nobody":                         {as(t.Context(), "unknown"), codes.Unauthenticated},
	} {
		ctx, end := context.WithCancel(c.ctx)
		require.Equal(t, c.want, status.Code(cancel(ctx)), name)
		require.Equal(t, c.want, status.Code(look(ctx)), name)
		end()
	}
}

func TestMalformedCancellationsAreRefusedTogether(t *testing.T) {
	a := start(t)
	ctx := as(t.Context(), "member")
	good := lake.NewID()
	for name, bad := range map[string]*lakepb.QueryCancellation{
		"short id":  {QueryId: []byte("short"), KeepFor: durationpb.New(time.Minute)},
		"no span":   {QueryId: good[:]},
		"over":      {QueryId: good[:], KeepFor: durationpb.New(-time.Second)},
		"too long":  {QueryId: good[:], KeepFor: durationpb.New(65*time.Minute + 1)},
		"malformed": {QueryId: good[:], KeepFor: &durationpb.Duration{Seconds: 1, Nanos: -1}},
	} {
		req := cancelOf(time.Minute, good)
		req.Cancellations = append(req.Cancellations, bad)
		_, err := a.cancellations.Cancel(ctx, req)
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%s: %v", name, err)
	}
	req := &lakepb.CancelQueriesRequest{}
	for range 10_001 {
		req.Cancellations = append(req.Cancellations, cancelOf(time.Minute, good).GetCancellations()...)
	}
	_, err := a.cancellations.Cancel(ctx, req)
	require.Equal(t, codes.InvalidArgument, status.Code(err))
	require.Empty(t, watch(t, a).first.GetCancellations())
	_, err = a.cancellations.Cancel(ctx, cancelOf(65*time.Minute, good))
	require.NoError(t, err)
	require.Equal(t, []lake.ID{good}, ids(t, watch(t, a).first))
}

// steady is a member whose lease a busy machine does not lose.
func steady(o *metasrv.Options) { o.Election.TTL = time.Minute }

// TestTheBoardIsTheLeaders, whichever member is asked, and a watch ends when
// another leads.
func TestTheBoardIsTheLeaders(t *testing.T) {
	g := newGroup(t)
	series := prometheus.NewRegistry()
	leader := g.join(t, steady, func(o *metasrv.Options) { o.Metrics = series })
	require.Eventually(t, leader.Leading, 20*time.Second, time.Millisecond)
	one, two := g.join(t, steady), g.join(t, steady)
	atLeader, atOne, atTwo := watch(t, leader), watch(t, one), watch(t, two)
	require.Empty(t, atOne.first.GetCancellations())
	require.EqualValues(t, 3, watchersOf(t, series))

	ctx, query := as(t.Context(), "replica"), lake.NewID()
	_, err := two.cancellations.Cancel(ctx, cancelOf(time.Minute, query))
	require.NoError(t, err)
	for _, w := range []*watching{atLeader, atOne, atTwo} {
		require.Equal(t, []lake.ID{query}, w.next(t))
	}
	require.Equal(t, []lake.ID{query}, ids(t, watch(t, one).first), "who comes later is shown the board")

	leader.shutdown()
	for _, w := range []*watching{atLeader, atOne, atTwo} {
		_, err := w.Recv()
		require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	}
	again := watch(t, one)
	require.Empty(t, again.first.GetCancellations(), "the board was the old leader's")
	require.Eventually(t, func() bool {
		_, err := two.cancellations.Cancel(ctx, cancelOf(time.Minute, query))
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, []lake.ID{query}, again.next(t))
}

// TestAPassedCancellationIsNotPassedOnAgain, as any other call.
func TestAPassedCancellationIsNotPassedOnAgain(t *testing.T) {
	g := newGroup(t)
	leader := g.join(t, steady)
	require.Eventually(t, leader.Leading, 20*time.Second, time.Millisecond)
	follower := g.join(t, steady)
	watch(t, follower)
	ctx := metadata.AppendToOutgoingContext(as(t.Context(), "member"), "x-lake-forwarded", "somebody")
	_, err := follower.cancellations.Cancel(ctx, cancelOf(time.Minute, lake.NewID()))
	requireCode(t, codes.Unavailable, err, "leadership is moving")
	stream, err := follower.cancellations.Watch(ctx, &lakepb.WatchCancellationsRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	requireCode(t, codes.Unavailable, err, "leadership is moving")
}

// TestAFollowerWithoutPeersRefuses what it cannot pass on.
func TestAFollowerWithoutPeersRefuses(t *testing.T) {
	g := newGroup(t)
	leader := g.join(t, steady)
	require.Eventually(t, leader.Leading, 20*time.Second, time.Millisecond)
	follower := g.join(t, steady, func(o *metasrv.Options) { o.Peers = nil })
	ctx := as(t.Context(), "member")
	_, err := follower.cancellations.Cancel(ctx, cancelOf(time.Minute, lake.NewID()))
	requireCode(t, codes.Unavailable, err, "not the leader")
	stream, err := follower.cancellations.Watch(ctx, &lakepb.WatchCancellationsRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	requireCode(t, codes.Unavailable, err, "not the leader")
}

// TestAWatchEndsWithItsServer: it holds no stop up.
func TestAWatchEndsWithItsServer(t *testing.T) {
	a := start(t)
	w := watch(t, a)
	began := time.Now()
	ended := make(chan error, 1)
	go func() {
		_, err := w.Recv()
		ended <- err
	}()
	a.shutdown()
	require.Error(t, <-ended)
	require.Less(t, time.Since(began), 10*time.Second, "the grace is 20 s")
}
