// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// MetastoreOptions tune a [MetastoreService]. The zero value is good.
type MetastoreOptions struct {
	// PageBytes bounds the keys and values of one page of a scan; one record
	// always fits. 0 means 4 MiB, which is also the most.
	PageBytes int
	// Grace bounds how long a stopping server waits for calls under way, for
	// [MetastoreService.Serve]. 0 means 20 s.
	Grace time.Duration
	// Logger; nil means slog.Default.
	Logger *slog.Logger
	// Metrics receives the service's series; nil means none.
	Metrics prometheus.Registerer
}

const (
	// maxPageBytes leaves a page, its largest record more and the framing far
	// under the 8 MiB of the wire contract.
	maxPageBytes = 4 << 20
	// maxAnswerBytes bounds the keys and values of a GetAll.
	maxAnswerBytes = 7 << 20
)

// MetastoreService serves a metastore to the processes that are trusted with
// all of it: the rest of Lake asks for tables, not for records. It keeps no
// state of its own. A transaction's token goes to the store, which remembers
// it for metastore.TokenWindow, so that a repeated send applies once whichever
// server it reaches, also after a restart. It is safe for concurrent use.
type MetastoreService struct {
	lakepb.UnimplementedMetastoreServer

	store   metastore.Store
	opts    MetastoreOptions
	cluster cluster
	metrics *metastoreMetrics
}

var (
	_ lakepb.MetastoreServer = (*MetastoreService)(nil)
	_ rpc.Service            = (*MetastoreService)(nil)
)

// NewMetastoreService returns a service over store, which the caller keeps and
// closes after the server has stopped. It does no I/O: the store's cluster id
// is read, or made, by the first call. Mistakes in the options are lake.Invalid.
func NewMetastoreService(store metastore.Store, opts MetastoreOptions) (*MetastoreService, error) {
	opts.PageBytes = cmp.Or(opts.PageBytes, maxPageBytes)
	opts.Grace = cmp.Or(opts.Grace, 20*time.Second)
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	switch {
	case store == nil:
		return nil, lake.Errorf(lake.Invalid, "metastore service: a metastore is needed")
	case opts.PageBytes < 1 || opts.PageBytes > maxPageBytes:
		return nil, lake.Errorf(lake.Invalid, "metastore service: %d bytes a page: want 1..%d", opts.PageBytes, maxPageBytes)
	case opts.Grace < 0:
		return nil, lake.Errorf(lake.Invalid, "metastore service: times must not be negative")
	}
	m, err := newMetastoreMetrics(opts.Metrics)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "metastore service: metrics: %w", err)
	}
	return &MetastoreService{store: store, opts: opts, cluster: cluster{store: store}, metrics: m}, nil
}

// Register adds the Metastore service to a server that authenticates its calls.
func (s *MetastoreService) Register(r grpc.ServiceRegistrar) { lakepb.RegisterMetastoreServer(r, s) }

// Cluster returns the id of the store's cluster, which it makes on first use.
func (s *MetastoreService) Cluster(ctx context.Context) (lake.ID, error) { return s.cluster.get(ctx) }

// Run reads the cluster's id ahead of the first call, and returns when ctx
// ends. It is for [MetastoreService.Serve]; calls do not need it.
func (s *MetastoreService) Run(ctx context.Context) error {
	for {
		_, err := s.cluster.get(ctx)
		if err == nil {
			break
		}
		s.opts.Logger.Warn("metastore service: cannot read the cluster's id", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	<-ctx.Done()
	return nil
}

// Ready reports whether the store has answered yet.
func (s *MetastoreService) Ready() bool { return s.cluster.known() }

// Serve runs the service alone on a listener, which it closes, until ctx ends:
// the gRPC server with health and authentication. A listener that others can
// reach without TLS and authentication is refused.
func (s *MetastoreService) Serve(ctx context.Context, lis net.Listener, opts ListenOptions) error {
	opts.Name = cmp.Or(opts.Name, "metastore")
	opts.Logger = cmp.Or(opts.Logger, s.opts.Logger)
	if opts.Metrics == nil {
		opts.Metrics = s.opts.Metrics
	}
	return rpc.Serve(ctx, lis, opts, s, lakepb.Metastore_ServiceDesc.ServiceName, s.opts.Grace)
}

// answer makes one call for a caller that may, and measures it. named is the
// cluster the request means.
func answer[R any](ctx context.Context, s *MetastoreService, method, named string, call func() (R, error)) (resp R, err error) {
	done := s.metrics.begin(method)
	defer func() { done(resp, err) }()
	if err := mayUseMetastore(ctx); err != nil {
		return resp, err
	}
	if err := s.cluster.check(ctx, named); err != nil {
		return resp, err
	}
	return call()
}

// mayUseMetastore refuses callers that are not trusted with every record. A
// service that acts for a user has that user's rights here: none.
func mayUseMetastore(ctx context.Context) error {
	p, err := caller(ctx)
	if err != nil {
		return err
	}
	switch p.Role {
	case access.Worker, access.MetadataPeer, access.Admin, access.Developer:
		return nil
	}
	return lake.Errorf(lake.Denied, "role %q may not use the metastore: want %s, %s or %s", p.Role, access.Worker, access.MetadataPeer, access.Admin)
}
