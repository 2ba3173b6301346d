// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/faultproxy"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/metastore/remote"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/metasrv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

const (
	workerToken = "worker-0123456789abcdef"
	userToken   = "user-0123456789abcdef"
)

// principals are the callers a server knows.
func principals(tb testing.TB) *access.Principals {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "principals.yaml")
	require.NoError(tb, os.WriteFile(path, []byte(`{"principals": [
		{"name": "worker", "role": "worker", "namespaces": [], "token": "`+workerToken+`"},
		{"name": "ann", "role": "user", "namespaces": ["*"], "token": "`+userToken+`"}]}`), 0o600))
	auth, err := access.OpenPrincipals(path, quiet)
	require.NoError(tb, err)
	return auth
}

// serve serves a store on loopback, with authentication, until the returned
// function is called. It does not close the store.
func serve(tb testing.TB, store metastore.Store) (addr string, stop func()) {
	tb.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	service, err := metasrv.NewMetastoreService(store, metasrv.MetastoreOptions{Grace: time.Millisecond, Logger: quiet})
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- service.Serve(ctx, lis, metasrv.ListenOptions{Auth: principals(tb)}) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			tb.Errorf("serve: %v", err)
		}
	})
	tb.Cleanup(stop)
	return lis.Addr().String(), stop
}

// bearer sends a token with each call.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

// dial connects to a server, and after a failure again soon.
func dial(tb testing.TB, addr, token string) *grpc.ClientConn {
	tb.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(bearer(token)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 2 * time.Millisecond, Multiplier: 1.5, MaxDelay: 10 * time.Millisecond},
			MinConnectTimeout: time.Second,
		}))
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = conn.Close() })
	return conn
}

func openAt(tb testing.TB, addr string, opts remote.Options) *remote.Store {
	tb.Helper()
	s, err := remote.Open(tb.Context(), dial(tb, addr, workerToken), opts)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func openPebble(tb testing.TB, dir string) *pebble.Store {
	tb.Helper()
	s, err := pebble.Open(dir, pebble.Options{Logger: quiet})
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// openOver returns a store whose server is over another store.
func openOver(tb testing.TB, backing metastore.Store, opts remote.Options) *remote.Store {
	tb.Helper()
	addr, _ := serve(tb, backing)
	return openAt(tb, addr, opts)
}

func openTemp(tb testing.TB) metastore.Store {
	return openOver(tb, openPebble(tb, tb.TempDir()), remote.Options{})
}

// proxied starts a proxy that harms the requests with a word in them.
func proxied(tb testing.TB, addr, word string) *faultproxy.Proxy {
	tb.Helper()
	p, err := faultproxy.Start(addr, faultproxy.Options{Word: word, Answer: faultproxy.HTTP2Answer, Wait: 2 * time.Millisecond})
	require.NoError(tb, err)
	tb.Cleanup(p.Close)
	return p
}

// start opens the machine's store and serves it.
func (m *machine) start() (addr, cluster string) {
	store, err := pebble.Open(m.dir, pebble.Options{Logger: quiet})
	if err != nil {
		m.tb.Error(err)
		return "127.0.0.1:1", ""
	}
	service, err := metasrv.NewMetastoreService(store, metasrv.MetastoreOptions{Grace: time.Millisecond, Logger: quiet})
	if err != nil {
		m.tb.Error(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		m.tb.Error(err)
	}
	id, err := service.Cluster(context.Background())
	if err != nil {
		m.tb.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- service.Serve(ctx, lis, metasrv.ListenOptions{Auth: m.auth}) }()
	m.stop = func() error {
		cancel()
		return errors.Join(<-served, store.Close())
	}
	return lis.Addr().String(), id.String()
}
