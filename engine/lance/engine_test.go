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
	enginetest.Run(t, func(t *testing.T) enginetest.Fixture {
		store := newMemStore()
		checked := memory.NewCheckedAllocator(memory.NewGoAllocator())
		e, err := lance.New(lance.Options{Store: store, Allocator: checked})
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, e.Close())
			require.Zero(t, store.open, "objects still open")
			checked.AssertSize(t, 0)
		})
		return enginetest.Fixture{Engine: e, Erase: func(ctx context.Context, loc lake.Location) error {
			return erase(ctx, store, loc)
		}}
	})
}
