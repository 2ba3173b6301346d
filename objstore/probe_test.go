// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package objstore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
)

func openLocal(t *testing.T) *local.Store {
	t.Helper()
	s, err := local.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestProbeAcceptsAGoodStoreAndLeavesNothing(t *testing.T) {
	s := openLocal(t)
	require.NoError(t, objstore.Probe(t.Context(), s))
	infos, _, err := s.List(t.Context(), "", "", 10)
	require.NoError(t, err)
	require.Empty(t, infos)
}

// overwriting is a store that ignores put-if-absent, as some buckets do.
type overwriting struct{ objstore.Store }

func (o overwriting) Put(ctx context.Context, key string, data []byte) error {
	if err := o.Delete(ctx, key); err != nil {
		return err
	}
	if err := o.Store.Put(ctx, key, data); err != nil && !lake.Is(err, lake.AlreadyExists) {
		return err
	}
	return nil
}

// lateOverwriting decides races and overwrites afterwards.
type lateOverwriting struct {
	objstore.Store
	puts chan struct{}
}

func (l lateOverwriting) Put(ctx context.Context, key string, data []byte) error {
	select {
	case <-l.puts:
		return l.Store.Put(ctx, key, data)
	default:
		return overwriting{l.Store}.Put(ctx, key, data)
	}
}

// garbling stores other bytes than it was given, forgetful lists nothing.
type (
	garbling  struct{ objstore.Store }
	forgetful struct{ objstore.Store }
	refusing  struct{ objstore.Store }
)

func (g garbling) Put(ctx context.Context, key string, _ []byte) error {
	return g.Store.Put(ctx, key, []byte("?"))
}

func (forgetful) List(context.Context, string, string, int) ([]objstore.Info, bool, error) {
	return nil, false, nil
}

func (refusing) Put(context.Context, string, []byte) error {
	return lake.Errorf(lake.Denied, "no")
}

func TestProbeRefusesStoresThatBreakAPromise(t *testing.T) {
	eight := make(chan struct{}, 8)
	for range 8 {
		eight <- struct{}{}
	}
	for name, c := range map[string]struct {
		store objstore.Store
		kind  lake.Kind
		text  string
	}{
		"every put succeeds":    {overwriting{openLocal(t)}, lake.Unsupported, "8 of 8 racing puts"},
		"later puts succeed":    {lateOverwriting{openLocal(t), eight}, lake.Unsupported, "replaced an object"},
		"other bytes":           {garbling{openLocal(t)}, lake.Unsupported, "does not hold"},
		"not listed":            {forgetful{openLocal(t)}, lake.Unsupported, "not listed"},
		"an error is no answer": {refusing{openLocal(t)}, lake.Denied, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			err := objstore.Probe(t.Context(), c.store)
			require.Equal(t, c.kind, lake.KindOf(err), "%v", err)
			require.ErrorContains(t, err, c.text)
		})
	}
}
