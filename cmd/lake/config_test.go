// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
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

// lake dev takes its settings from the command line only: a mistake in them is one
// of the command line.
func TestDevRefusesMistakesBeforeItStarts(t *testing.T) {
	dir := t.TempDir()
	for says, args := range map[string][]string{
		"a data directory is needed":             {"--data-dir", ""},
		"port base 99999: want 0":                {"--port-base", "99999"},
		"port base -1: want 0":                   {"--port-base", "-1"},
		"exclude each other":                     {"--no-temporal", "--temporal-address", "127.0.0.1:7233"},
		"undrop window -1h0m0s":                  {"--undrop-window", "-1h"},
		"shutdown grace -1s":                     {"--shutdown-grace", "-1s"},
		"address \"foo\" of a Temporal server":   {"--temporal-address", "foo"},
		"goes with that of its server":           {"--temporal-ui", "http://127.0.0.1:8233"},
		"Temporal UI: want an http or https URL": {"--temporal-address", "127.0.0.1:7233", "--temporal-ui", "http://a:b@127.0.0.1:8233"},
	} {
		r := alone(t, append([]string{"dev", "--data-dir", dir}, args...)...)
		require.Equal(t, exitUsage, r.code, r.stderr)
		require.Contains(t, r.stderr, says)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries)
	}
}
