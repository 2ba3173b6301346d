// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
)

func contextWithTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}

func TestSecondDevSaysWhoHoldsTheData(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir, "--no-temporal")
	second := spawnDev(t, dir, "--port-base", "0", "--no-temporal")
	require.Equal(t, 1, second.wait(t, time.Minute))
	require.Contains(t, second.log.String(), fmt.Sprint(d.cmd.Process.Pid), "it names the process that holds the directory")
	require.Contains(t, second.log.String(), dir)
	// The first one is unharmed.
	_, err := d.client(t).CreateTable(t.Context(), lake.TableName{Namespace: "a", Name: "b"}, numbers)
	require.NoError(t, err)
}

func TestTakenPortIsNamedAndAnotherBaseSuggested(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	d := spawnDev(t, t.TempDir(), "--port-base", fmt.Sprint(port), "--no-temporal")
	require.Equal(t, 1, d.wait(t, time.Minute))
	require.Contains(t, d.log.String(), fmt.Sprint(port))
	require.Contains(t, d.log.String(), "--port-base")
}

func TestRestartFindsEverything(t *testing.T) {
	dir := t.TempDir()
	d := startDev(t, dir, "--no-temporal")
	name := lake.TableName{Namespace: "keep", Name: "t"}
	c := d.client(t)
	_, err := c.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	_, err = c.Append(t.Context(), name, batchOf(1, 2))
	require.NoError(t, err)
	before, err := c.Table(t.Context(), name)
	require.NoError(t, err)
	require.Zero(t, d.stop(t), "a stopped server exits with 0:\n%s", d.log)

	d = startDev(t, dir, "--no-temporal")
	c = d.client(t)
	after, err := c.Table(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, before.Snapshot, after.Snapshot)
	require.EqualValues(t, 2, query(t, c, "SELECT * FROM keep.t").NumRows())
}

func TestInterruptStopsWithinGraceAndChildrenEnd(t *testing.T) {
	d := startDev(t, t.TempDir())
	children := d.children(t)
	require.NotEmpty(t, children)
	began := time.Now()
	require.Zero(t, d.stop(t), "%s", d.log)
	require.Less(t, time.Since(began), 30*time.Second)
	requireGone(t, children)
}

func TestSecondInterruptStopsAtOnce(t *testing.T) {
	d := startDev(t, t.TempDir())
	children := d.children(t)
	// A stopped Temporal server cannot end gracefully, so the first interrupt waits.
	for _, pid := range children {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	time.Sleep(300 * time.Millisecond) // two signals at once would be one
	began := time.Now()
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	require.NotZero(t, d.wait(t, 20*time.Second))
	require.Less(t, time.Since(began), 15*time.Second, "half the grace")
	requireGone(t, children)
}

func TestChildrenDieWithTheirParent(t *testing.T) {
	d := startDev(t, t.TempDir())
	children := d.children(t)
	require.NotEmpty(t, children)
	d.kill()
	requireGone(t, children)
}

func requireGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		require.Eventually(t, func() bool { return !alive(pid) }, 10*time.Second, 10*time.Millisecond, "process %d lives on", pid)
	}
}
