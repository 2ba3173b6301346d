// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package pgtest_test

import (
	"errors"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/pgtest"
)

func TestServer(t *testing.T) {
	s, err := pgtest.Start("fsync=off", "application_name=lake-test")
	if errors.Is(err, pgtest.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), s.DSN())
	require.NoError(t, err)
	var fsync string
	require.NoError(t, conn.QueryRow(t.Context(), "show fsync").Scan(&fsync))
	require.Equal(t, "off", fsync)
	require.NoError(t, conn.Close(t.Context()))

	require.NoError(t, s.Stop())
	_, err = net.Dial("tcp", s.Addr())
	require.Error(t, err, "it has stopped")
}

func TestPooler(t *testing.T) {
	s, err := pgtest.Start("fsync=off")
	if errors.Is(err, pgtest.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Stop()) }()
	p, err := s.Pool(1)
	if errors.Is(err, pgtest.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Stop()) }()
	var sessions [2]int
	for i := range sessions {
		config, err := pgx.ParseConfig(p.DSN())
		require.NoError(t, err)
		config.DefaultQueryExecMode = pgx.QueryExecModeExec
		conn, err := pgx.ConnectConfig(t.Context(), config)
		require.NoError(t, err)
		defer conn.Close(t.Context())
		require.NoError(t, conn.QueryRow(t.Context(), "select pg_backend_pid()").Scan(&sessions[i]))
	}
	require.Equal(t, sessions[0], sessions[1], "two clients share the one session")
}
