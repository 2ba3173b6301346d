// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/metastore/remote"
	"github.com/lakeplane/lake/services/metasrv"
)

// group is a metadata group whose members reach each other over loopback.
type group struct {
	store   func(t *testing.T) metastore.Store // a member's
	storage engine.Engine
	dialled sync.Map // address → how often
}

func newGroup(t *testing.T) *group {
	store := memory.New()
	t.Cleanup(func() { _ = store.Close() })
	return &group{store: func(*testing.T) metastore.Store { return store }, storage: enginetest.NewMemory()}
}

// newFarGroup is a group whose members have their records from the metastore
// service of another server, each over a connection of its own.
func newFarGroup(t *testing.T) *group {
	t.Helper()
	records := memory.New()
	t.Cleanup(func() { _ = records.Close() })
	service, err := metasrv.NewMetastoreService(records, metasrv.MetastoreOptions{Logger: quiet})
	require.NoError(t, err)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- service.Serve(ctx, lis, metasrv.ListenOptions{Auth: everybody, Logger: quiet}) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	g := newGroup(t)
	g.store = func(t *testing.T) metastore.Store {
		conn, err := g.dial(lis.Addr().String())
		require.NoError(t, err)
		s, err := remote.Open(t.Context(), conn, remote.Options{})
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, s.Close())
			require.NoError(t, conn.Close())
		})
		return s
	}
	return g
}

// quick is an election that is decided within a test's patience.
func quick(address string) catalog.ElectionOptions {
	return catalog.ElectionOptions{TTL: time.Second, Poll: 20 * time.Millisecond, MaxClockSkew: 100 * time.Millisecond, Address: address, Logger: quiet}
}

// dial authenticates as a member of the group.
func (g *group) dial(address string) (metasrv.PeerConn, error) {
	n, _ := g.dialled.LoadOrStore(address, new(int))
	*n.(*int)++
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(peerToken{}))
}

type peerToken struct{}

func (peerToken) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer member"}, nil
}
func (peerToken) RequireTransportSecurity() bool { return false }

// join starts a member.
func (g *group) join(t *testing.T, change ...func(*metasrv.Options)) *authority {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return startAt(t, g.store(t), g.storage, lis, append([]func(*metasrv.Options){func(o *metasrv.Options) {
		o.Election, o.Peers = quick(lis.Addr().String()), g.dial
	}}, change...)...)
}

func TestFollowerPassesWritesOn(t *testing.T) {
	g := newGroup(t)
	leader := g.join(t)
	require.Eventually(t, leader.Leading, 20*time.Second, time.Millisecond)
	series := prometheus.NewRegistry()
	follower := g.join(t, func(o *metasrv.Options) { o.Metrics = series })
	require.Eventually(t, follower.Ready, 20*time.Second, time.Millisecond, "a follower that knows a leader is of use")
	require.False(t, follower.Leading())

	name := nameOf("shared", "t")
	red := as(t.Context(), "red")
	table, err := follower.catalog.CreateTable(red, &lakepb.CreateTableRequest{Name: name, Schema: schemaBytes(ints)})
	require.NoError(t, err)
	o := newOp(t, "shared", "t", 1, 2, 3)
	first, err := follower.put(red, o)
	require.NoError(t, err)
	require.EqualValues(t, 2, first.GetVersion())
	got, err := follower.catalog.GetTable(red, &lakepb.GetTableRequest{Name: name})
	require.NoError(t, err)
	require.EqualValues(t, 2, got.GetSnapshot().GetVersion(), "a write is read wherever it was made")

	again, err := leader.put(red, o)
	require.NoError(t, err)
	require.True(t, again.GetReplayed(), "the operation is the caller's tenant's, whichever way it came")
	_, err = leader.records.Operation(t.Context(), "red", lake.TableName{Namespace: "shared", Name: "t"}, o.command.Operation)
	require.NoError(t, err)

	_, err = follower.put(as(t.Context(), "blue"), newOp(t, "r", "t", 1))
	requireCode(t, codes.NotFound, err)
	_, err = follower.catalog.CreateTable(as(t.Context(), "blue"), &lakepb.CreateTableRequest{Name: nameOf("r", "x"), Schema: schemaBytes(ints)})
	requireCode(t, codes.PermissionDenied, err)

	dropped, err := follower.catalog.DropTable(red, &lakepb.DropTableRequest{Name: name, Reason: "done"})
	require.NoError(t, err)
	require.Equal(t, table.GetSnapshot().GetIncarnation(), dropped.GetDropped().GetSnapshot().GetIncarnation())
	back, err := follower.catalog.UndropTable(red, &lakepb.UndropTableRequest{Name: name})
	require.NoError(t, err)
	require.EqualValues(t, 2, back.GetSnapshot().GetVersion())

	found, err := series.Gather()
	require.NoError(t, err)
	at := slices.IndexFunc(found, func(f *dto.MetricFamily) bool { return f.GetName() == "lake_metasrv_forwarded_total" })
	require.GreaterOrEqual(t, at, 0)
	require.Len(t, found[at].GetMetric(), 2, "OK and NotFound; what the follower refuses itself is not passed on")
	dials := 0
	g.dialled.Range(func(_, n any) bool { dials += *n.(*int); return true })
	require.Equal(t, 1, dials, "one connection serves all calls")
}

// TestCallsDoNotGoInCircles: a call that was passed on already is not passed on
// again by a member that does not lead.
func TestCallsDoNotGoInCircles(t *testing.T) {
	g := newGroup(t)
	leader := g.join(t)
	require.Eventually(t, leader.Leading, 20*time.Second, time.Millisecond)
	follower := g.join(t)
	require.Eventually(t, follower.Ready, 20*time.Second, time.Millisecond)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-lake-forwarded", "somebody")
	_, err := follower.catalog.CreateTable(ctx, &lakepb.CreateTableRequest{Name: nameOf("a", "t"), Schema: schemaBytes(ints)})
	requireCode(t, codes.Unavailable, err, "leadership is moving")
	_, err = follower.put(ctx, newOp(t, "a", "t", 1))
	requireCode(t, codes.Unavailable, err, "leadership is moving")
	leader.create(t, "a", "t")
	_, err = leader.put(ctx, newOp(t, "a", "t", 1))
	require.NoError(t, err, "the leader takes it")
}

// TestGroupGoesOnAfterItsLeader: the members take turns to lead; a client that
// keeps one address never notices more than a pause.
func TestGroupGoesOnAfterItsLeader(t *testing.T) {
	for name, group := range map[string]func(*testing.T) *group{"one store": newGroup, "a remote store": newFarGroup} {
		t.Run(name, func(t *testing.T) { goOn(t, group(t)) })
	}
}

func goOn(t *testing.T, g *group) {
	var members []*authority
	for range 3 {
		members = append(members, g.join(t))
	}
	require.Eventually(t, func() bool { return leaderOf(members) >= 0 }, 20*time.Second, time.Millisecond)
	keep := members[(leaderOf(members)+1)%3]
	require.Eventually(t, keep.Ready, 20*time.Second, time.Millisecond)
	keep.create(t, "a", "t")
	for i := range int64(3) {
		o := newOp(t, "a", "t", i)
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			_, err := keep.put(t.Context(), o)
			if err != nil {
				require.Contains(c, []codes.Code{codes.Unavailable, codes.Aborted}, status.Code(err), "%v", err)
			}
			require.NoError(c, err)
		}, 10*time.Second, 20*time.Millisecond)
		if at := leaderOf(members); at >= 0 && members[at] != keep {
			members[at].stop()
			members = append(members[:at:at], members[at+1:]...)
		}
	}
	requireEach(t, keep, 3)
	require.True(t, keep.Leading(), "the last one left")
}

// leaderOf returns the index of the member that leads, or -1.
func leaderOf(members []*authority) int {
	for i, m := range members {
		if m.Leading() {
			return i
		}
	}
	return -1
}
