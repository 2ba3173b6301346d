// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc_test

import (
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers with what the server made of the call.
type echo struct {
	lakepb.UnimplementedCatalogServer
	get func(ctx context.Context) error
}

func (e echo) GetTable(ctx context.Context, _ *lakepb.GetTableRequest) (*lakepb.Table, error) {
	return new(lakepb.Table), e.get(ctx)
}

func (e echo) CatalogSnapshot(_ *lakepb.CatalogSnapshotRequest, s grpc.ServerStreamingServer[lakepb.CatalogSnapshotResponse]) error {
	return e.get(s.Context())
}

const (
	annToken   = "ann-0123456789abcdef"
	queryToken = "query-0123456789abcdef"
	principals = `{"principals": [
		{"name": "ann", "tenant": "red", "role": "user", "namespaces": ["robots"], "token": "` + annToken + `"},
		{"name": "replica", "role": "query_service", "namespaces": [], "token_sha256": "49b49fa6ad44d2eff29bc6a8ea7f6a3a5c3ae1ed2d3a3ec3dda2f3d6a8c6b2a8"},
		{"name": "replica2", "role": "query_service", "namespaces": ["*"], "token": "` + queryToken + `"}]}`
)

func writePrincipals(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "principals.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func serve(t *testing.T, opts rpc.Options, get func(context.Context) error) lakepb.CatalogClient {
	t.Helper()
	return lakepb.NewCatalogClient(connect(t, opts, func(server *grpc.Server) {
		lakepb.RegisterCatalogServer(server, echo{get: get})
		rpc.RegisterHealth(server)
	}))
}

// connect starts a server and returns a connection to it.
func connect(t *testing.T, opts rpc.Options, register func(*grpc.Server), dial ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	opts.Name = "test"
	opts.Logger = slog.New(slog.DiscardHandler)
	server := rpc.NewServer(opts)
	register(server)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, rpc.CheckListener(lis.Addr(), opts))
	go func() { _ = server.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		rpc.Stop(ctx, server)
	})
	return conn
}

func basic(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestAuthentication(t *testing.T) {
	auth, err := access.OpenPrincipals(writePrincipals(t, principals), nil)
	require.NoError(t, err)
	var got access.Principal
	client := serve(t, rpc.Options{Auth: auth}, func(ctx context.Context) error {
		got, _ = rpc.PrincipalFrom(ctx)
		return nil
	})
	ann := access.Principal{Name: "ann", Tenant: "red", Role: access.User, Namespaces: []string{"robots"}}
	acting := access.Principal{Name: "bob", Tenant: "blue", Role: access.User, Namespaces: []string{"a", "b"}, Via: "replica2"}
	for label, tc := range map[string]struct {
		headers []string
		code    codes.Code
		want    access.Principal
	}{
		"bearer":             {[]string{"authorization", "Bearer " + annToken}, codes.OK, ann},
		"lower-case bearer":  {[]string{"authorization", "bearer " + annToken}, codes.OK, ann},
		"odd-case bearer":    {[]string{"authorization", "BEARER  " + annToken}, codes.OK, ann},
		"basic":              {[]string{"authorization", "basic " + basic("whoever:"+annToken)}, codes.OK, ann},
		"none":               {nil, codes.Unauthenticated, access.Principal{}},
		"wrong token":        {[]string{"authorization", "Bearer " + annToken + "x"}, codes.Unauthenticated, access.Principal{}},
		"no scheme":          {[]string{"authorization", annToken}, codes.Unauthenticated, access.Principal{}},
		"other scheme":       {[]string{"authorization", "Digest " + annToken}, codes.Unauthenticated, access.Principal{}},
		"basic, no password": {[]string{"authorization", "Basic " + basic("ann:")}, codes.Unauthenticated, access.Principal{}},
		"basic, no base64":   {[]string{"authorization", "Basic !!"}, codes.Unauthenticated, access.Principal{}},
		"two headers":        {[]string{"authorization", "Bearer " + annToken, "authorization", "Bearer " + queryToken}, codes.Unauthenticated, access.Principal{}},
		"delegated": {
			[]string{"authorization", "Bearer " + queryToken, "x-lake-principal", "bob", "x-lake-tenant", "blue", "x-lake-namespaces", "a,b"},
			codes.OK, acting,
		},
		"user delegates":     {[]string{"authorization", "Bearer " + annToken, "x-lake-principal", "bob", "x-lake-tenant", "blue", "x-lake-namespaces", "a"}, codes.PermissionDenied, access.Principal{}},
		"user sets tenant":   {[]string{"authorization", "Bearer " + annToken, "x-lake-tenant", "blue"}, codes.PermissionDenied, access.Principal{}},
		"half a delegation":  {[]string{"authorization", "Bearer " + queryToken, "x-lake-tenant", "blue"}, codes.InvalidArgument, access.Principal{}},
		"malformed grant":    {[]string{"authorization", "Bearer " + queryToken, "x-lake-principal", "b", "x-lake-tenant", "t", "x-lake-namespaces", "../x"}, codes.InvalidArgument, access.Principal{}},
		"star among grants":  {[]string{"authorization", "Bearer " + queryToken, "x-lake-principal", "b", "x-lake-tenant", "t", "x-lake-namespaces", "a,*"}, codes.InvalidArgument, access.Principal{}},
		"tenant with a path": {[]string{"authorization", "Bearer " + queryToken, "x-lake-principal", "b", "x-lake-tenant", "a/b", "x-lake-namespaces", "a"}, codes.InvalidArgument, access.Principal{}},
	} {
		t.Run(label, func(t *testing.T) {
			got = access.Principal{}
			ctx := metadata.AppendToOutgoingContext(t.Context(), tc.headers...)
			_, err := client.GetTable(ctx, new(lakepb.GetTableRequest))
			require.Equal(t, tc.code, status.Code(err), "%v", err)
			require.Equal(t, tc.want, got)
			if err != nil {
				require.NotContains(t, err.Error(), annToken)
			}
			stream, err := client.CatalogSnapshot(ctx, new(lakepb.CatalogSnapshotRequest))
			require.NoError(t, err)
			_, err = stream.Recv()
			if tc.code == codes.OK {
				require.ErrorIs(t, err, io.EOF)
			} else {
				require.Equal(t, tc.code, status.Code(err), "streams are guarded alike")
			}
		})
	}
	t.Run("helper", func(t *testing.T) {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+queryToken)
		_, err := client.GetTable(rpc.Delegate(ctx, acting), new(lakepb.GetTableRequest))
		require.NoError(t, err)
		require.Equal(t, acting, got)
	})
}

func TestErrorsPanicsAndMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	var fail func() error
	client := serve(t, rpc.Options{Auth: access.Development(), Metrics: registry}, func(context.Context) error { return fail() })
	rpc.NewServer(rpc.Options{Name: "second", Auth: access.Development(), Metrics: registry}) // shares the series

	for code, f := range map[codes.Code]func() error{
		codes.OK:                 func() error { return nil },
		codes.FailedPrecondition: func() error { return lake.Errorf(lake.Precondition, "no") },
		codes.Internal:           func() error { panic("secret") },
		codes.DataLoss:           func() error { return lake.Errorf(lake.Corrupt, "bad") },
	} {
		fail = f
		_, err := client.GetTable(t.Context(), new(lakepb.GetTableRequest))
		require.Equal(t, code, status.Code(err), "%v", err)
		if err != nil {
			require.NotContains(t, err.Error(), "secret")
		}
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	counts := map[string]uint64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "lake_rpc_duration_seconds" {
				counts[m.GetLabel()[0].GetValue()] += m.GetHistogram().GetSampleCount()
			}
		}
	}
	require.Equal(t, map[string]uint64{"OK": 1, "FailedPrecondition": 1, "Internal": 1, "DataLoss": 1}, counts)
}

func TestListenersThatOthersReach(t *testing.T) {
	auth, err := access.OpenPrincipals(writePrincipals(t, principals), nil)
	require.NoError(t, err)
	open := &net.TCPAddr{IP: net.IPv4zero, Port: 1}
	local := &net.TCPAddr{IP: net.IPv6loopback, Port: 1}
	require.NoError(t, rpc.CheckListener(local, rpc.Options{Auth: access.Development()}))
	require.NoError(t, rpc.CheckListener(open, rpc.Options{Auth: auth, AllowInsecure: true}))
	for label, opts := range map[string]rpc.Options{
		"development":                   {Auth: access.Development()},
		"development behind a proxy":    {Auth: access.Development(), AllowInsecure: true},
		"plaintext":                     {Auth: auth},
		"an address that is not a host": {Auth: auth},
	} {
		require.Equal(t, lake.Invalid, lake.KindOf(rpc.CheckListener(open, opts)), label)
	}
}

func TestHealth(t *testing.T) {
	server := rpc.NewServer(rpc.Options{Name: "test", Auth: access.Development(), Logger: slog.New(slog.DiscardHandler)})
	health := rpc.RegisterHealth(server, "svc")
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	client := grpc_health_v1.NewHealthClient(conn)
	check := func(service string) grpc_health_v1.HealthCheckResponse_ServingStatus {
		resp, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		require.NoError(t, err)
		return resp.GetStatus()
	}
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, check(""))
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, check("svc"))
	health.Set("svc", true)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, check("svc"))
	health.Drain()
	require.Equal(t, grpc_health_v1.HealthCheckResponse_NOT_SERVING, check(""))
	require.NoError(t, conn.Close())
	rpc.Stop(t.Context(), server)
}

func TestStopCutsOffWhatDoesNotEnd(t *testing.T) {
	server := rpc.NewServer(rpc.Options{Name: "test", Auth: access.Development(), Logger: slog.New(slog.DiscardHandler)})
	begun := make(chan struct{})
	lakepb.RegisterCatalogServer(server, echo{get: func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close()
	failed := make(chan error, 1)
	go func() {
		_, err := lakepb.NewCatalogClient(conn).GetTable(t.Context(), new(lakepb.GetTableRequest))
		failed <- err
	}()
	<-begun
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	rpc.Stop(ctx, server)
	require.Error(t, <-failed)
}
