// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/services/metasrv"
)

// TestOldStagedRowsAreNotCommitted: a clean-up may have taken them for orphans,
// so they are refused in a way that the same operation can be repeated after.
func TestOldStagedRowsAreNotCommitted(t *testing.T) {
	a := start(t, func(o *metasrv.Options) { o.Append.StagedFor = 50 * time.Millisecond })
	a.create(t, "a", "t")
	a.engine.set(func(d *disturbed) {
		d.stageData = func(context.Context) error { time.Sleep(100 * time.Millisecond); return nil }
	})
	again := newOp(t, "a", "t", 0)
	_, err := a.put(t.Context(), again)
	require.Equal(t, codes.Unavailable, status.Code(err), "%v", err)
	require.ErrorContains(t, err, "append them again")
	require.Empty(t, a.numbers(t, "a", "t"))
	a.engine.set(func(d *disturbed) { d.stageData = nil })
	_, err = a.put(t.Context(), again)
	require.NoError(t, err)
	require.Equal(t, []int64{0}, a.numbers(t, "a", "t"))

	_, err = metasrv.New(metasrv.Options{Append: metasrv.AppendOptions{StagedFor: 2 * retention.StagedFor}})
	require.True(t, lake.Is(err, lake.Invalid))
	require.ErrorContains(t, err, "want at most 15m0s")
}
