// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Watch implements lakepb.MetastoreServer. It ends with the client, the server
// or the store. A client that does not keep up misses no change, only signals:
// the one it has not taken stands for all of them.
func (s *MetastoreService) Watch(req *lakepb.MetastoreWatchRequest, stream grpc.ServerStreamingServer[lakepb.MetastoreWatchResponse]) error {
	ctx := stream.Context()
	signals, err := answer(ctx, s, "Watch", req.GetCluster(), func() (<-chan struct{}, error) {
		watcher, ok := s.store.(metastore.Watcher)
		if !ok {
			return nil, lake.Errorf(lake.Unsupported, "the store of this cluster has no watches")
		}
		return watcher.Watch(ctx, req.GetPrefix())
	})
	if err != nil {
		return err
	}
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	return relaySignals(ctx, signals, func() error { return stream.Send(&lakepb.MetastoreWatchResponse{}) })
}

func relaySignals(ctx context.Context, signals <-chan struct{}, send func() error) error {
	for {
		select {
		case <-ctx.Done():
			return lake.Errorf(lake.Unavailable, "the watch ended: %w", ctx.Err())
		case _, open := <-signals:
			if !open {
				return lake.Errorf(lake.Unavailable, "the store ended the watch")
			}
		}
		if err := send(); err != nil {
			return err
		}
	}
}
