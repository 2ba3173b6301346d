// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Watch implements [metastore.Watcher]. A watch whose connection breaks is made
// again until its context ends or the store closes; since changes may have been
// missed in between, that counts as one. It fails with lake.Unsupported when
// the server's store lacks the ability.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan struct{}, error) {
	if err := metastore.CheckScan(prefix, 1); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	if !s.watch {
		return nil, lake.Errorf(lake.Unsupported, "the store of cluster %s has no watches", s.cluster)
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	first, err := s.openWatch(ctx, prefix)
	if err != nil {
		stop()
		cancel()
		return nil, fmt.Errorf("%w: %w", metastore.ErrRetryable, err)
	}
	signals := make(chan struct{}, 1)
	s.done.Go(func() {
		defer stop()
		defer cancel()
		defer close(signals)
		s.follow(ctx, prefix, first, signals)
	})
	return signals, nil
}

// watching is a watch that is in force, until end is called.
type watching struct {
	stream grpc.ServerStreamingClient[lakepb.MetastoreWatchResponse]
	end    context.CancelFunc
}

// openWatch returns a watch once the server says that it is in force, which it
// must within the time of a call.
func (s *Store) openWatch(ctx context.Context, prefix string) (*watching, error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(s.opts.CallTimeout, cancel)
	stream, err := s.client.Watch(ctx, &lakepb.MetastoreWatchRequest{Cluster: s.cluster.String(), Prefix: prefix})
	if err == nil {
		err = inForce(stream)
	}
	if err == nil && late.Stop() {
		return &watching{stream, cancel}, nil
	}
	cancel()
	if err == nil {
		return nil, lake.Errorf(lake.Unavailable, "the watch was not in force within %v", s.opts.CallTimeout)
	}
	return nil, grpcerr.FromStatus(err)
}

// inForce waits for the response's headers. A stream that ended has none.
func inForce(stream grpc.ServerStreamingClient[lakepb.MetastoreWatchResponse]) error {
	header, err := stream.Header()
	if err == nil && header == nil {
		_, err = stream.Recv()
	}
	return err
}

// follow passes signals on until ctx ends.
func (s *Store) follow(ctx context.Context, prefix string, w *watching, signals chan<- struct{}) {
	for {
		if _, err := w.stream.Recv(); err != nil {
			w.end()
			if w = s.reopenWatch(ctx, prefix); w == nil {
				return
			}
		}
		select {
		case signals <- struct{}{}:
		default: // the one that was not taken stands for this change as well
		}
	}
}

// reopenWatch tries until it succeeds, or returns nil when ctx ends.
func (s *Store) reopenWatch(ctx context.Context, prefix string) *watching {
	for attempt := 0; s.sleep(ctx, pauseOf(attempt)); attempt++ {
		if w, err := s.openWatch(ctx, prefix); err == nil {
			return w
		}
	}
	return nil
}
