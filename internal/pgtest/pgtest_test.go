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
