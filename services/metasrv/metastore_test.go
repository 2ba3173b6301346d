// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/faultstore"
	"github.com/lakeplane/lake/metastore/hookstore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/metasrv"
)

func serviceOver(t *testing.T, store metastore.Store, opts metasrv.MetastoreOptions) *metasrv.MetastoreService {
	t.Helper()
	s, err := metasrv.NewMetastoreService(store, opts)
	require.NoError(t, err)
	return s
}

func roleContext(ctx context.Context, role access.Role) context.Context {
	return access.With(ctx, access.Principal{Name: "caller", Tenant: "default", Role: role})
}

// called makes every call of the service and returns their errors.
func called(ctx context.Context, s *metasrv.MetastoreService, cluster string) map[string]error {
	errs := map[string]error{}
	_, errs["Get"] = s.Get(ctx, &lakepb.MetastoreGetRequest{Cluster: cluster, Key: "a"})
	_, errs["GetAll"] = s.GetAll(ctx, &lakepb.MetastoreGetAllRequest{Cluster: cluster, Keys: []string{"a"}})
	_, errs["Scan"] = s.Scan(ctx, &lakepb.MetastoreScanRequest{Cluster: cluster, Prefix: "a/", Limit: 1})
	_, errs["Commit"] = s.Commit(ctx, commitRequest(cluster, "t"))
	return errs
}

func commitRequest(cluster, token string, ops ...*lakepb.MetastoreOp) *lakepb.MetastoreCommitRequest {
	if ops == nil {
		ops = []*lakepb.MetastoreOp{{Key: "a", Effect: lakepb.MetastoreEffect_METASTORE_EFFECT_KEEP}}
	}
	return &lakepb.MetastoreCommitRequest{Cluster: cluster, Token: []byte(token), Ops: ops}
}

func TestMetastoreRoles(t *testing.T) {
	s := serviceOver(t, memory.New(), metasrv.MetastoreOptions{})
	id, err := s.Cluster(t.Context())
	require.NoError(t, err)
	for role, allowed := range map[access.Role]bool{
		access.Worker: true, access.MetadataPeer: true, access.Admin: true, access.Developer: true,
		access.User: false, access.QueryService: false, "": false,
	} {
		ctx := roleContext(t.Context(), role)
		errs := called(ctx, s, id.String())
		_, errs["Describe"] = s.Describe(ctx, nil)
		for name, err := range errs {
			require.Equal(t, !allowed, lake.Is(err, lake.Denied), "%s %s: %v", role, name, err)
			require.Equal(t, allowed, err == nil, "%s %s: %v", role, name, err)
		}
	}
	for name, err := range called(t.Context(), s, id.String()) {
		require.True(t, lake.Is(err, lake.Unauthenticated), name)
	}
}

func TestMetastoreRefusesOtherClusters(t *testing.T) {
	store := &counted{Store: memory.New()}
	s := serviceOver(t, store, metasrv.MetastoreOptions{})
	_, err := s.Cluster(t.Context())
	require.NoError(t, err)
	before := store.calls
	for _, named := range []string{"", "x", lake.NewID().String()} {
		for name, err := range called(roleContext(t.Context(), access.Worker), s, named) {
			require.True(t, lake.Is(err, lake.Precondition), "%s: %v", name, err)
		}
	}
	require.Equal(t, before, store.calls, "nothing is read")
}

// counted counts the calls of a store.
type counted struct {
	metastore.Store
	calls int
}

func (c *counted) Get(ctx context.Context, key string) (metastore.Record, error) {
	c.calls++
	return c.Store.Get(ctx, key)
}

func (c *counted) Commit(ctx context.Context, txn metastore.Txn) error {
	c.calls++
	return c.Store.Commit(ctx, txn)
}

// TestClusterIDIsMadeOnce lets servers that start together, on a store that
// answers badly, agree on one id.
func TestClusterIDIsMadeOnce(t *testing.T) {
	for seed := range uint64(30) {
		store := memory.New()
		ids := make([]lake.ID, 8)
		var all sync.WaitGroup
		for i := range ids {
			s := serviceOver(t, faultstore.New(store, faultstore.NewRandom(seed*8+uint64(i), 0.4, time.Millisecond)), metasrv.MetastoreOptions{})
			all.Go(func() {
				for {
					id, err := s.Cluster(t.Context())
					if err == nil {
						ids[i] = id
						return
					}
				}
			})
		}
		all.Wait()
		rec, err := store.Get(t.Context(), "__lake_internal/cluster")
		require.NoError(t, err)
		for _, id := range ids {
			require.Equal(t, string(rec.Value), id.String())
		}
	}
}

func TestClusterIDFailures(t *testing.T) {
	store := memory.New()
	require.NoError(t, store.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("__lake_internal/cluster", []byte("one"))}}))
	_, err := serviceOver(t, store, metasrv.MetastoreOptions{}).Cluster(t.Context())
	require.True(t, lake.Is(err, lake.Corrupt), "%v", err)

	s := serviceOver(t, memory.New(), metasrv.MetastoreOptions{})
	require.False(t, s.Ready())
	_, err = s.Cluster(t.Context())
	require.NoError(t, err)
	require.True(t, s.Ready())

	closed := memory.New()
	require.NoError(t, closed.Close())
	_, err = serviceOver(t, closed, metasrv.MetastoreOptions{}).Cluster(t.Context())
	require.ErrorIs(t, err, metastore.ErrClosed)
}

func TestMetastoreRefusesMalformedRequests(t *testing.T) {
	s := serviceOver(t, memory.New(), metasrv.MetastoreOptions{})
	id, err := s.Cluster(t.Context())
	require.NoError(t, err)
	ctx := roleContext(t.Context(), access.Worker)
	put, keep := lakepb.MetastoreEffect_METASTORE_EFFECT_PUT, lakepb.MetastoreEffect_METASTORE_EFFECT_KEEP
	for name, req := range map[string]*lakepb.MetastoreCommitRequest{
		"no token":          commitRequest(id.String(), ""),
		"no operations":     commitRequest(id.String(), "t", []*lakepb.MetastoreOp{}...),
		"unknown effect":    commitRequest(id.String(), "t", &lakepb.MetastoreOp{Key: "a", Effect: 7}),
		"value of a guard":  commitRequest(id.String(), "t", &lakepb.MetastoreOp{Key: "a", Effect: keep, Value: []byte("x")}),
		"bad key":           commitRequest(id.String(), "t", &lakepb.MetastoreOp{Key: "a//b", Effect: put}),
		"nil operation":     commitRequest(id.String(), "t", nil, nil),
		"the cluster's key": commitRequest(id.String(), "t", &lakepb.MetastoreOp{Key: "__lake_internal/cluster", Effect: keep}),
	} {
		if name == "no operations" {
			req.Ops = nil
		}
		_, err := s.Commit(ctx, req)
		require.True(t, lake.Is(err, lake.Invalid), "%s: %v", name, err)
	}
	for _, limit := range []int32{-1, 0, metastore.MaxPage + 1} {
		_, err := s.Scan(ctx, &lakepb.MetastoreScanRequest{Cluster: id.String(), Limit: limit})
		require.True(t, lake.Is(err, lake.Invalid))
	}
	_, err = s.Commit(ctx, commitRequest(id.String(), "t", &lakepb.MetastoreOp{Key: "empty", Effect: put}))
	require.NoError(t, err)
	got, err := s.Get(ctx, &lakepb.MetastoreGetRequest{Cluster: id.String(), Key: "empty"})
	require.NoError(t, err)
	require.NotNil(t, got.GetRecord(), "empty is not absent")
}

// TestMetastoreCommitErrors says what a client may conclude from an error: all
// but lake.Undetermined mean that nothing was applied.
func TestMetastoreCommitErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want lake.Kind
	}{
		"retryable":               {metastore.ErrRetryable, lake.Unavailable},
		"throttled":               {fmt.Errorf("%w: %w", lake.Errorf(lake.Exhausted, "slow down"), metastore.ErrRetryable), lake.Exhausted},
		"closed":                  {metastore.ErrClosed, lake.Unavailable},
		"invalid":                 {metastore.ErrInvalid, lake.Invalid},
		"corrupt":                 {lake.Errorf(lake.Corrupt, "bits"), lake.Corrupt},
		"unknown":                 {metastore.ErrUnknownOutcome, lake.Undetermined},
		"unknown, wrapped oddly":  {lake.Errorf(lake.Unavailable, "x: %w", metastore.ErrUnknownOutcome), lake.Undetermined},
		"outside of the contract": {errors.New("surprise"), lake.Undetermined},
		"a bare context error":    {context.DeadlineExceeded, lake.Undetermined},
		"unclassified":            {lake.Errorf(lake.Unknown, "surprise"), lake.Undetermined},
	} {
		store := hookstore.New(memory.New())
		s := serviceOver(t, store, metasrv.MetastoreOptions{})
		id, err := s.Cluster(t.Context())
		require.NoError(t, err)
		store.OnCommit(func(metastore.Txn, func() error) error { return c.err })
		_, err = s.Commit(roleContext(t.Context(), access.Worker), commitRequest(id.String(), "t"))
		require.Equal(t, c.want, lake.KindOf(err), "%s: %v", name, err)
	}
}

func TestMetastoreOptionsAndMetrics(t *testing.T) {
	for name, opts := range map[string]metasrv.MetastoreOptions{
		"bytes a page": {PageBytes: 5 << 20}, "times": {Grace: -1},
	} {
		_, err := metasrv.NewMetastoreService(memory.New(), opts)
		require.True(t, lake.Is(err, lake.Invalid))
		require.ErrorContains(t, err, name)
	}
	_, err := metasrv.NewMetastoreService(nil, metasrv.MetastoreOptions{})
	require.ErrorContains(t, err, "a metastore is needed")

	registry := prometheus.NewRegistry()
	s := serviceOver(t, memory.New(), metasrv.MetastoreOptions{Metrics: registry})
	_, err = metasrv.NewMetastoreService(memory.New(), metasrv.MetastoreOptions{Metrics: registry})
	require.True(t, lake.Is(err, lake.Invalid), "the series are there twice: %v", err)
	id, err := s.Cluster(t.Context())
	require.NoError(t, err)
	ctx := roleContext(t.Context(), access.Worker)
	called(ctx, s, id.String())
	called(roleContext(t.Context(), access.User), s, id.String())
	_, err = s.Commit(ctx, commitRequest(id.String(), "u", &lakepb.MetastoreOp{Key: "a", Expect: []byte("x")}))
	require.NoError(t, err)
	require.Equal(t, map[string]int{
		"Get ok": 1, "GetAll ok": 1, "Scan ok": 1, "Commit ok": 1, "Commit conflict": 1,
		"Get permission denied": 1, "GetAll permission denied": 1, "Scan permission denied": 1, "Commit permission denied": 1,
	}, observedCalls(t, registry))
}

// observedCalls returns the counts of the service's histogram by its labels.
func observedCalls(t *testing.T, registry *prometheus.Registry) map[string]int {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	counts := map[string]int{}
	for _, family := range families {
		require.Equal(t, "lake_metastore_call_seconds", family.GetName())
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			counts[labels["method"]+" "+labels["outcome"]] = int(m.GetHistogram().GetSampleCount())
		}
	}
	return counts
}
