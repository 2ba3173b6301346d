// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package metastoretest_test

import (
	stdcontext "context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/internal/pgtest"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/dynamodb"
	"github.com/lakeplane/lake/metastore/dynamodb/dynamotest"
	"github.com/lakeplane/lake/metastore/faultproxy"
	"github.com/lakeplane/lake/metastore/faultstore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/metastore/postgres"
	"github.com/lakeplane/lake/metastore/remote"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/metasrv"
)

// site is a backend with the places where it can be harmed.
type site struct {
	plain  metastore.Store // unharmed
	harmed metastore.Store
	faults *armed
	wire   *faultproxy.Proxy // nil without a server
	// word tells the requests of a method on the wire from others.
	word   func(method faultstore.Method, namespace string) string
	onWire bool
	before func(strikes int) // prepares for a cell, if set

	fence     catalog.Fence
	bad, good *catalog.Catalog // over harmed and plain
}

var matrixBackends = map[string]func(t *testing.T) *site{
	"memory":   func(t *testing.T) *site { return direct(closing(t, memory.New())) },
	"pebble":   func(t *testing.T) *site { return direct(openPebble(t)) },
	"postgres": postgresSite,
	"dynamodb": dynamoSite,
	"remote":   remoteSite,
}

func closing[S metastore.Store](t *testing.T, s S) S {
	t.Helper()
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func openPebble(t *testing.T) *pebble.Store {
	t.Helper()
	s, err := pebble.Open(t.TempDir(), pebble.Options{Logger: quiet})
	require.NoError(t, err)
	return closing(t, s)
}

var quiet = slog.New(slog.DiscardHandler)

// direct puts the faults between the caller and the store.
func direct(store metastore.Store) *site {
	s := &site{plain: store, faults: &armed{}}
	s.harmed = faultstore.New(store, s.faults)
	return s
}

var (
	pgServer  *pgtest.Server
	pgErr     error
	pgSchemas atomic.Int64
)

func TestMain(m *testing.M) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		_ = os.Setenv(name, "matrix") // for a service that takes everybody who has a name
	}
	pgServer, pgErr = pgtest.Start("fsync=off", "max_locks_per_transaction=256")
	code := m.Run()
	if pgServer != nil {
		if err := pgServer.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func postgresSite(t *testing.T) *site {
	if errors.Is(pgErr, pgtest.ErrMissing) {
		t.Skip(pgErr)
	}
	require.NoError(t, pgErr)
	opts := postgres.Options{DSN: pgServer.DSN(), Schema: fmt.Sprint("matrix ", pgSchemas.Add(1)), MaxConns: 4}
	plain, err := postgres.Open(t.Context(), opts)
	require.NoError(t, err)
	wire, err := faultproxy.Start(pgServer.Addr(), faultproxy.Options{Wait: 2 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(wire.Close)
	opts.DSN = strings.Replace(opts.DSN, pgServer.Addr(), wire.Addr(), 1)
	harmed, err := postgres.Open(t.Context(), opts)
	require.NoError(t, err)
	s := direct(closing(t, harmed))
	s.plain, s.wire = closing(t, plain), wire
	s.word = func(method faultstore.Method, _ string) string {
		if method == faultstore.Commit {
			return "commit_txn"
		}
		return `".record`
	}
	return s
}

func dynamoSite(t *testing.T) *site {
	service := dynamotest.Start(t, dynamotest.Options{})
	wire, err := faultproxy.Start(strings.TrimPrefix(service.URL(), "http://"), faultproxy.Options{Wait: 2 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(wire.Close)
	open := func(endpoint string, patience time.Duration) metastore.Store {
		s, err := dynamodb.Open(t.Context(), dynamodb.Options{Region: "local", Table: "matrix", Endpoint: endpoint, RetryTime: patience, Logger: quiet})
		require.NoError(t, err)
		return closing(t, s)
	}
	harmed := open("http://"+wire.Addr(), 300*time.Millisecond)
	s := direct(harmed)
	s.plain, s.wire = open(service.URL(), 20*time.Second), wire
	s.word = func(method faultstore.Method, _ string) string {
		switch method {
		case faultstore.Commit:
			return "TransactWriteItems"
		case faultstore.Scan:
			return ".Query"
		}
		return ".GetItem"
	}
	return s
}

// anyone lets everybody in, as an administrator.
type anyone struct{}

func (anyone) LoopbackOnly() bool { return true }

func (anyone) Authenticate(stdcontext.Context, string) (access.Principal, error) {
	return access.Principal{Name: "peer", Tenant: lake.DefaultTenant, Role: access.MetadataPeer}, nil
}

// turning is a store that is exchanged between calls.
type turning struct{ metastore.Store }

// remoteSite has faults on the wire and between the server and its store.
func remoteSite(t *testing.T) *site {
	s := direct(openPebble(t))
	service, err := metasrv.NewMetastoreService(s.harmed, metasrv.MetastoreOptions{Grace: time.Millisecond, Logger: quiet})
	require.NoError(t, err)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := stdcontext.WithCancel(stdcontext.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := service.Serve(ctx, lis, metasrv.ListenOptions{Auth: anyone{}}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); serving.Wait() })
	s.wire, err = faultproxy.Start(lis.Addr().String(), faultproxy.Options{Answer: faultproxy.HTTP2Answer, Wait: 2 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(s.wire.Close)
	conn, err := grpc.NewClient("passthrough:///"+s.wire.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: time.Millisecond, Multiplier: 1.5, MaxDelay: 10 * time.Millisecond},
			MinConnectTimeout: 10 * time.Second,
		}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	client := func(patience time.Duration) metastore.Store {
		c, err := remote.Open(t.Context(), conn, remote.Options{Patience: patience})
		require.NoError(t, err)
		return closing(t, c)
	}
	patient, impatient := client(20*time.Second), client(400*time.Millisecond)
	caller := &turning{patient}
	s.harmed = caller
	s.before = func(strikes int) {
		if caller.Store = patient; strikes == always {
			caller.Store = impatient
		}
	}
	s.word = func(method faultstore.Method, namespace string) string {
		if method == faultstore.Commit {
			return `"nonce"` // of a record that is written or expected
		}
		return namespace
	}
	return s
}
