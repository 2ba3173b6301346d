// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/cmd/lake/devserver"
	"github.com/lakeplane/lake/cmd/lake/process"
)

// served is the server the tests of one run share. It has no Temporal, which
// only the end of a drop needs.
var served *devserver.Server

func TestMain(m *testing.M) {
	process.RunSlotIfAsked()
	os.Exit(withServer(m))
}

func withServer(m *testing.M) int {
	for _, key := range []string{"LAKE_ADDR", "LAKE_AUTH_TOKEN_FILE", "LAKE_CA_FILE"} {
		os.Unsetenv(key)
	}
	dir, err := os.MkdirTemp("", "lake-cli-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	served, err = devserver.Start(context.Background(), quiet(dir))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	code := m.Run()
	if err := served.Stop(); err != nil {
		fmt.Println(err)
		return 1
	}
	return code
}

func quiet(dir string) devserver.Options {
	return devserver.Options{DataDir: dir, NoTemporal: true, Log: slog.New(slog.DiscardHandler)}
}

// outcome is what one command did.
type outcome struct {
	code           int
	stdout, stderr string
}

// lakeAt runs a command line against a server.
func lakeAt(t *testing.T, addr string, args ...string) outcome {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), append(args, "--addr", addr), strings.NewReader(""), &out, &errs)
	return outcome{code, out.String(), errs.String()}
}

// lakeRun runs a command line against the shared server.
func lakeRun(t *testing.T, args ...string) outcome {
	t.Helper()
	return lakeAt(t, served.State().Query, args...)
}

// must runs a command line that has to succeed and returns what it printed.
func must(t *testing.T, args ...string) string {
	t.Helper()
	r := lakeRun(t, args...)
	require.Zero(t, r.code, "lake %s: %s", strings.Join(args, " "), r.stderr)
	return r.stdout
}

// fails runs a command line that has to fail with a status and one line, and
// print no data.
func fails(t *testing.T, code int, says string, args ...string) {
	t.Helper()
	r := lakeRun(t, args...)
	require.Equal(t, code, r.code, "stdout %q, stderr %q", r.stdout, r.stderr)
	require.Contains(t, r.stderr, says)
	require.True(t, strings.HasPrefix(r.stderr, "lake: "), r.stderr)
	require.Equal(t, 1, strings.Count(r.stderr, "\n"), "one line: %q", r.stderr)
	require.Empty(t, r.stdout)
}

func put(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}
