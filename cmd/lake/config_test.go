// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/cmd/lake/config"
)

// alone runs a command line that talks to no server.
func alone(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return outcome{code, out.String(), errs.String()}
}

func TestConfigShowsWhatIsInForce(t *testing.T) {
	t.Setenv("LAKE_METASTORE", "postgres://lake:hunter2@db/lake")
	file := put(t, "lake.yaml", "objects: file:///srv/lake\n")
	r := alone(t, "config", "show", "meta", "--config", file, "--lease-ttl", "5s", "--format", "csv")
	require.Zero(t, r.code, r.stderr)
	for _, line := range []string{
		"lease_ttl,5s,flag --lease-ttl,LAKE_LEASE_TTL_MS\n",
		"metastore,postgres://lake:xxxxx@db/lake,environment LAKE_METASTORE,LAKE_METASTORE\n",
		"objects,file:///srv/lake," + file + ":1 objects,LAKE_OBJECTS\n",
		"max_clock_skew,5s,default,LAKE_MAX_CLOCK_SKEW_MS\n",
	} {
		require.Contains(t, r.stdout, line)
	}
	require.NotContains(t, r.stdout, "hunter2")
}

func TestConfigCheckTellsEveryMistakeOnALineOfItsOwn(t *testing.T) {
	r := alone(t, "config", "check", "query", "--listen", "0.0.0.0:1")
	require.Equal(t, exitUsage, r.code)
	require.Empty(t, r.stdout)
	require.Contains(t, alone(t, "config", "check", "worker", "--objects", "file:///x").stderr, "lake: 1 mistake in the configuration:\n")
	lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
	require.Equal(t, "lake: 5 mistakes in the configuration:", lines[0])
	require.Len(t, lines, 6)

	r = alone(t, "config", "check", "worker", "--objects", "file:///x", "--metastore", "lake://127.0.0.1:1")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "the configuration of lake worker is good\n", r.stderr)
}

// A check that was not told of what is no check that passed.
func TestCommandsThatNeedAnotherFail(t *testing.T) {
	for _, args := range [][]string{{"config"}, {"config", "check"}, {"config", "show"}, {"table"}, {"procedure"}} {
		r := alone(t, args...)
		require.Equal(t, exitUsage, r.code, args)
		require.Empty(t, r.stdout)
		require.Contains(t, r.stderr, "Available Commands:")
		require.Contains(t, r.stderr, "lake: lake "+strings.Join(args, " ")+" needs a command")
	}
}

func TestServersRefuseWhatIsForClients(t *testing.T) {
	for _, name := range config.Names() {
		r := alone(t, name, "--addr", "127.0.0.1:1")
		require.Equal(t, exitUsage, r.code)
		require.Contains(t, r.stderr, "--addr is for the commands that talk to a server")
		r = alone(t, name, "now")
		require.Equal(t, exitUsage, r.code)
	}
	require.Equal(t, exitUsage, alone(t, "config", "show", "nobody").code)
}
