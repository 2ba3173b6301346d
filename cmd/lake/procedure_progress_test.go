// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/sdk"
)

func TestProgressText(t *testing.T) {
	now := time.Now()
	counters := map[string]int64{"objects_deleted": 40}
	for _, c := range []struct {
		progress *sdk.Progress
		want     string
	}{
		{nil, ""},
		{&sdk.Progress{Of: "objects_deleted"}, ""},
		{&sdk.Progress{Of: "objects_deleted", PerSecond: 1234.5}, ", 1234/s"},
		{&sdk.Progress{Of: "objects_deleted", Total: 100, PerSecond: 0.5, ETA: now.Add(2 * time.Minute)}, ", 40 %, 0.5/s, 2m0s to go"},
		{&sdk.Progress{Of: "objects_deleted", Total: 30, About: true, ETA: now.Add(-time.Minute)}, ", 100 % or so, 0s to go"},
	} {
		require.Equal(t, c.want, progressText(sdk.Procedure{Counters: counters, Progress: c.progress}, now))
	}
	require.True(t, totalCell(nil).null)
	require.True(t, etaCell(&sdk.Progress{}).null)
	require.Equal(t, 0.333, rateCell(&sdk.Progress{PerSecond: 1. / 3}).value)
}
