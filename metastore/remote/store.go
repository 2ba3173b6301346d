// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"sync"

	"google.golang.org/grpc"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// Store is a [metastore.Store] behind a gRPC connection. It has the methods of
// [metastore.Watcher] and [metastore.Snapshotter] as well, which fail with
// lake.Unsupported where the server's store lacks the ability; [Store.Exact]
// is for callers that find out by a type assertion. It is safe for concurrent
// use.
type Store struct {
	client  lakepb.MetastoreClient
	opts    Options
	cluster lake.ID
	watch   bool
	getAll  bool
	// probed says that the connection calls our codec, so that a call which
	// did not reach it certainly was not sent.
	probed bool

	life context.Context //nolint:containedctx // ends what outlives its call: watches, and pauses between attempts
	end  context.CancelFunc
	gate sync.RWMutex // held shared by every call, exclusively by Close
	done sync.WaitGroup
}

var (
	_ metastore.Store       = (*Store)(nil)
	_ metastore.Watcher     = (*Store)(nil)
	_ metastore.Snapshotter = (*Store)(nil)
)

// Open asks the server which cluster it is and returns the store. conn brings
// the transport's security and the caller's credentials, and should have a
// keepalive; the caller keeps it, and closes it after the store.
//
// It fails with lake.Precondition when the server is of another cluster than
// [Options.Cluster], with lake.Denied or lake.Unauthenticated when the
// credentials do not do, and with lake.Unavailable when nobody answers within
// [Options.Patience].
func Open(ctx context.Context, conn grpc.ClientConnInterface, opts Options) (*Store, error) {
	if conn == nil {
		return nil, lake.Errorf(lake.Invalid, "remote metastore: a connection is needed")
	}
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	s := &Store{client: lakepb.NewMetastoreClient(conn), opts: opts.withDefaults()}
	s.life, s.end = context.WithCancel(context.Background())
	if err := s.describe(ctx); err != nil {
		s.end()
		return nil, lake.Wrap("open remote metastore", err)
	}
	return s, nil
}

func (s *Store) describe(ctx context.Context) error {
	var resp *lakepb.MetastoreDescribeResponse
	var last *probe
	err := s.read(ctx, func(ctx context.Context, p *probe) (err error) {
		last = p
		resp, err = s.client.Describe(ctx, &lakepb.MetastoreDescribeRequest{}, p.options()...)
		return err
	})
	if err != nil {
		return err
	}
	id, err := lake.ParseID(resp.GetCluster())
	switch {
	case err != nil:
		return lake.Errorf(lake.Corrupt, "the server's cluster: %w", err)
	case !s.opts.Cluster.IsZero() && s.opts.Cluster != id:
		return lake.Errorf(lake.Precondition, "the server is of cluster %s: want %s", id, s.opts.Cluster)
	}
	s.cluster, s.watch, s.getAll, s.probed = id, resp.GetWatch(), resp.GetGetAll(), last.sent.Load()
	return nil
}

// Cluster returns the id of the cluster, which every request names. A server
// of another one refuses them with lake.Precondition.
func (s *Store) Cluster() lake.ID { return s.cluster }

// Exact returns the store with the abilities that the server's store has, and
// no method of the others.
func (s *Store) Exact() metastore.Store {
	type (
		plain   struct{ metastore.Store }
		watcher struct {
			metastore.Store
			metastore.Watcher
		}
		snapshotter struct {
			metastore.Store
			metastore.Snapshotter
		}
	)
	switch {
	case s.watch && s.getAll:
		return s
	case s.watch:
		return watcher{s, s}
	case s.getAll:
		return snapshotter{s, s}
	}
	return plain{s}
}

// enter admits a call until leave.
func (s *Store) enter(ctx context.Context) error {
	if err := rules.Alive(ctx); err != nil {
		return err
	}
	s.gate.RLock()
	if s.life.Err() != nil {
		s.gate.RUnlock()
		return metastore.ErrClosed
	}
	return nil
}

func (s *Store) leave() { s.gate.RUnlock() }

// Close implements [metastore.Store]. It ends the watches and waits for the
// calls in flight, which get no further attempt. A second Close does nothing.
func (s *Store) Close() error {
	s.end()
	s.gate.Lock()
	defer s.gate.Unlock()
	s.done.Wait()
	return nil
}
