// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/services/access"
)

const (
	// maxKept is the longest that a query stays on the board: the life of a
	// ticket, and what the clocks of replicas may be apart.
	maxKept = retention.LongestTicket + 5*time.Minute
	// leadershipEvery is how often a watch looks whether its leader still leads.
	leadershipEvery = 200 * time.Millisecond
)

// cancellationsService is the board as the wire has it. The leader's board is
// the one; other members pass calls and watches on to it.
type cancellationsService struct {
	lakepb.UnimplementedCancellationsServer
	server *Server
}

// mayCancel refuses callers that are no replica or member. A replica that acts
// for a user has that user's rights here: none. What a user may cancel is
// told by the ticket, which the replica opens.
func mayCancel(ctx context.Context) error {
	p, err := caller(ctx)
	if err != nil || p.ActsForOthers() {
		return err
	}
	return lake.Errorf(lake.Denied, "role %q may not use the board of cancelled queries: want %s or %s", p.Role, access.QueryService, access.MetadataPeer)
}

// Cancel implements lakepb.CancellationsServer.
func (c *cancellationsService) Cancel(ctx context.Context, req *lakepb.CancelQueriesRequest) (*lakepb.CancelQueriesResponse, error) {
	if err := mayCancel(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	all, err := parseCancellations(now, req.GetCancellations())
	if err != nil {
		return nil, err
	}
	s := c.server
	if leader, err := s.leaderFor(ctx); leader != nil || err != nil {
		return forwarded(s, leader, err, func(to *peer) (*lakepb.CancelQueriesResponse, error) { return to.cancellations.Cancel(to.ctx, req) })
	}
	if _, err := s.election.Fence(); err != nil {
		return nil, err
	}
	s.cancelled.add(now, all)
	return &lakepb.CancelQueriesResponse{}, nil
}

func parseCancellations(now time.Time, all []*lakepb.QueryCancellation) ([]cancellation, error) {
	if len(all) > maxCancelled {
		return nil, lake.Errorf(lake.Invalid, "%d cancellations in one call: at most %d", len(all), maxCancelled)
	}
	out := make([]cancellation, len(all))
	for i, c := range all {
		if n := len(c.GetQueryId()); n != len(queryID{}) {
			return nil, lake.Errorf(lake.Invalid, "query_id of %d bytes: want %d", n, len(queryID{}))
		}
		keep := c.GetKeepFor().AsDuration()
		if c.GetKeepFor().CheckValid() != nil || keep <= 0 || keep > maxKept {
			return nil, lake.Errorf(lake.Invalid, "keep_for %s: want more than 0 and at most %s", keep, maxKept)
		}
		out[i] = cancellation{queryID(c.GetQueryId()), now.Add(keep)}
	}
	return out, nil
}

// Watch implements lakepb.CancellationsServer.
func (c *cancellationsService) Watch(req *lakepb.WatchCancellationsRequest, stream grpc.ServerStreamingServer[lakepb.WatchCancellationsResponse]) error {
	ctx := stream.Context()
	if err := mayCancel(ctx); err != nil {
		return err
	}
	leader, err := c.server.leaderFor(ctx)
	switch {
	case err != nil:
		return err
	case leader != nil:
		return c.server.relayWatch(leader, req, stream)
	}
	if _, err := c.server.election.Fence(); err != nil {
		return err
	}
	return c.server.tellCancelled(stream)
}

var errLeadershipMoved error = &lake.Error{Kind: lake.Unavailable, Message: "the leadership is moving: watch again"}

// tellCancelled tells a watcher of this leader's board.
func (s *Server) tellCancelled(stream grpc.ServerStreamingServer[lakepb.WatchCancellationsResponse]) error {
	ctx := stream.Context()
	all, watcher, leave := s.cancelled.watch(time.Now())
	defer leave()
	if err := stream.Send(cancellationsMessage(all)); err != nil {
		return err
	}
	look := time.NewTicker(leadershipEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return lake.Errorf(lake.Unavailable, "the watch ended: %w", ctx.Err())
		case <-look.C:
			if !s.Leading() {
				return errLeadershipMoved
			}
		case news, ok := <-watcher.news:
			if !ok {
				return lake.Errorf(lake.Unavailable, "the watcher fell behind: watch again")
			}
			if err := stream.Send(cancellationsMessage(news)); err != nil {
				return err
			}
		}
	}
}

func cancellationsMessage(all []cancellation) *lakepb.WatchCancellationsResponse {
	now, msg := time.Now(), &lakepb.WatchCancellationsResponse{}
	for _, c := range all {
		if keep := c.until.Sub(now); keep > 0 {
			msg.Cancellations = append(msg.Cancellations, &lakepb.QueryCancellation{QueryId: c.query[:], KeepFor: durationpb.New(keep)})
		}
	}
	return msg
}

// relayWatch passes a watch of the leader's board on, until another leads.
func (s *Server) relayWatch(leader *peer, req *lakepb.WatchCancellationsRequest, stream grpc.ServerStreamingServer[lakepb.WatchCancellationsResponse]) error {
	ctx, end := context.WithCancelCause(leader.ctx)
	defer end(nil)
	go s.awaitOtherLeader(ctx, leader.holder, end) // ends with ctx
	up, err := leader.cancellations.Watch(ctx, req)
	for err == nil {
		var msg *lakepb.WatchCancellationsResponse
		if msg, err = up.Recv(); err == nil {
			err = stream.Send(msg)
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(context.Cause(ctx), errLeadershipMoved) {
		return errLeadershipMoved
	}
	return err
}

// awaitOtherLeader calls end when holder leads no more, as far as this process
// has seen. The connection to a leader that hangs would tell that later.
func (s *Server) awaitOtherLeader(ctx context.Context, holder string, end context.CancelCauseFunc) {
	look := time.NewTicker(leadershipEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if is, known := s.election.Leader(); !known || is.Holder != holder {
				end(errLeadershipMoved)
				return
			}
		}
	}
}
