// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore/metastoretest"
	"github.com/lakeplane/lake/metastore/remote"
)

// TestSpeed compares a remote store with the store behind its server. Server
// and client share one process, so the processor pays for both ends:
//
//	LAKE_SPEED=1 go test -run TestSpeed -v ./metastore/remote
func TestSpeed(t *testing.T) {
	metastoretest.NeedSpeed(t)
	for _, writers := range []int{1, 8, 32} {
		subject := func() *remote.Store { return openOver(t, openPebble(t, t.TempDir()), remote.Options{}) }
		t.Run(fmt.Sprintf("create/writers=%d", writers), func(t *testing.T) {
			speed := metastoretest.Comparison{Writers: writers}.Run(t,
				metastoretest.Creates(t, subject()), metastoretest.Creates(t, openPebble(t, t.TempDir())))
			t.Log(speed)
			require.GreaterOrEqual(t, speed.Ratio, 0.2)
		})
		t.Run(fmt.Sprintf("append/writers=%d", writers), func(t *testing.T) {
			speed := metastoretest.Comparison{Writers: writers}.Run(t,
				metastoretest.Appends(t, subject(), writers), metastoretest.Appends(t, openPebble(t, t.TempDir()), writers))
			t.Log(speed)
			require.GreaterOrEqual(t, speed.Ratio, 0.2)
		})
	}
}
