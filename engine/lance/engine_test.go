// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// erase deletes what lies under a location.
func erase(ctx context.Context, store objstore.Store, loc lake.Location) error {
	for {
		infos, more, err := store.List(ctx, loc.Prefix(), "", objstore.MaxPage)
		if err != nil {
			return err
		}
		for _, info := range infos {
			if err := store.Delete(ctx, info.Key); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
	}
}

func TestConformance(t *testing.T) {
	stores := map[string]func(t *testing.T) objstore.Store{
		// Overwrites what it handed out when it is closed.
		"poisoned memory": func(t *testing.T) objstore.Store {
			s := newMemStore()
			t.Cleanup(func() { require.Zero(t, s.open, "objects still open") })
			return s
		},
		// Unmaps it, so that a use after close ends the process.
		"mapped files": func(t *testing.T) objstore.Store {
			s, err := local.Open(t.TempDir())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			return s
		},
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T) enginetest.Fixture {
				store := open(t)
				checked := memory.NewCheckedAllocator(memory.NewGoAllocator())
				e, err := lance.New(lance.Options{Store: store, Allocator: checked})
				require.NoError(t, err)
				t.Cleanup(func() {
					require.NoError(t, e.Close())
					checked.AssertSize(t, 0)
				})
				return enginetest.Fixture{Engine: e, Erase: func(ctx context.Context, loc lake.Location) error {
					return erase(ctx, store, loc)
				}}
			})
		})
	}
}

// TestConformanceWithStatistics runs the suite over data files of their own with
// sidecars, which appends as small as the suite's do not get otherwise.
func TestConformanceWithStatistics(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) enginetest.Fixture {
		store := newMemStore()
		e, err := lance.New(lance.Options{Store: store, HoldBytes: -1, StatsBytes: 1})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		return enginetest.Fixture{Engine: e, Erase: func(ctx context.Context, loc lake.Location) error {
			return erase(ctx, store, loc)
		}}
	})
}
