// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/cmd/lake/secure"
	"github.com/lakeplane/lake/internal/pkitest"
)

// frontend is where a Temporal client calls. It answers nothing, and tells the
// credentials of each call.
func frontend(t *testing.T, a *pkitest.Authority) (address string, calls <-chan string) {
	t.Helper()
	seen := make(chan string, 100)
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(a.Server(t, "temporal"))), grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		seen <- metadata.ValueFromIncomingContext(s.Context(), "authorization")[0]
		return status.Error(codes.PermissionDenied, "a test")
	}))
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(lis) }()
	t.Cleanup(server.Stop)
	return lis.Addr().String(), seen
}

func TestTemporalByTLSWithAKey(t *testing.T) {
	ours, theirs := pkitest.New(t), pkitest.New(t)
	address, calls := frontend(t, ours)
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte("first\n"), 0o600))
	call := func(a *pkitest.Authority) error {
		cert, certKey := a.Leaf(t, "worker")
		c := config.Temporal{Address: address, Namespace: "lake", APIKey: key, Trust: config.Trust{CA: a.CA(), Certificate: secure.KeyPair{CertFile: cert, KeyFile: certKey}}}
		temporal, err := process.DialTemporal(c, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		defer temporal.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err = temporal.Client.CheckHealth(ctx, &client.CheckHealthRequest{})
		return err
	}
	require.ErrorContains(t, call(ours), "a test")
	require.Equal(t, "Bearer first", <-calls)
	require.NoError(t, os.WriteFile(key, []byte("second\n"), 0o600))
	require.ErrorContains(t, call(ours), "a test")
	require.Equal(t, "Bearer second", <-calls)
	require.Error(t, call(theirs), "another authority")
	require.Empty(t, calls)
}
