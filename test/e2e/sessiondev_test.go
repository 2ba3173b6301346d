// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// TestDevStopsBesideSessions: one that is idle, and one that is used.
func TestDevStopsBesideSessions(t *testing.T) {
	d := startDev(t, t.TempDir(), "--no-temporal")
	name := lake.TableName{Namespace: "a", Name: "t"}
	calls := new(putCalls)
	client, err := sdk.Connect(t.Context(), d.state.Query, sdk.WithRetryWindow(0), calls.option())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	_, err = client.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	idle := openSession(t, dialPlain(t, d.state.Query), name)
	direct := openSession(t, dialPlain(t, d.state.Meta), name)
	w := &writer{client: client, name: name}
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { w.run(context.WithoutCancel(t.Context()), 0, stop) })
	require.Eventually(t, func() bool { return calls.items.Load() > 20 }, waitLong, tick)
	began := time.Now()
	require.Zero(t, d.stop(t))
	took := time.Since(began)
	t.Logf("lake dev stopped in %s", took.Round(time.Millisecond))
	require.Less(t, took, stopsWithin)
	idle.requireEnded(t)
	direct.requireEnded(t)
	running.Wait() // it fails, as nobody is there
	var pending *sdk.PendingAppend
	require.True(t, errors.As(w.failed, &pending) || lake.Is(w.failed, lake.Unavailable), "%v", w.failed)

	again := startDev(t, d.dir, "--no-temporal")
	got := valuesOf(t, t.Context(), again.client(t), name)
	require.Equal(t, w.acked, got[:len(w.acked)])
	require.LessOrEqual(t, len(got), len(w.acked)+1, "and at most the one of which it was not told")
	require.Zero(t, again.stop(t))
}
