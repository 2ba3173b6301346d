// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metered_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/hookstore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/metastore/metastoretest"
	"github.com/lakeplane/lake/metastore/metered"
)

// heard keeps what a store told.
type heard struct {
	mu    sync.Mutex
	calls []string
	took  time.Duration
}

func (h *heard) observe(op metered.Operation, outcome metered.Outcome, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls, h.took = append(h.calls, op.String()+" "+outcome.String()), took
}

// last returns what was told since it was asked.
func (h *heard) last() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.calls
	h.calls = nil
	return out
}

func TestConformance(t *testing.T) {
	metastoretest.Run(t, func(tb testing.TB) metastore.Store {
		s := metered.New(memory.New(), new(heard).observe)
		tb.Cleanup(func() { _ = s.Close() })
		return s
	})
}

func TestCallsAreTold(t *testing.T) {
	var h heard
	s := metered.New(memory.New(), h.observe)
	defer s.Close()
	create := metastore.Txn{Ops: []metastore.Op{metastore.Create("a", nil)}}
	for _, c := range []struct {
		told string
		call func(ctx context.Context) error
	}{
		{"commit ok", func(ctx context.Context) error { return s.Commit(ctx, create) }},
		{"commit conflict", func(ctx context.Context) error { return s.Commit(ctx, create) }},
		{"commit invalid", func(ctx context.Context) error { return s.Commit(ctx, metastore.Txn{}) }},
		{"get ok", func(ctx context.Context) error { _, err := s.Get(ctx, "a"); return err }},
		{"get not_found", func(ctx context.Context) error { _, err := s.Get(ctx, "b"); return err }},
		{"get invalid", func(ctx context.Context) error { _, err := s.Get(ctx, ""); return err }},
		{"scan ok", func(ctx context.Context) error { _, err := s.Scan(ctx, "", "", 1); return err }},
		{"scan invalid", func(ctx context.Context) error { _, err := s.Scan(ctx, "", "", 0); return err }},
		{"get_all ok", func(ctx context.Context) error {
			_, err := s.(metastore.Snapshotter).GetAll(ctx, []string{"a"})
			return err
		}},
		{"get_all invalid", func(ctx context.Context) error {
			_, err := s.(metastore.Snapshotter).GetAll(ctx, []string{""})
			return err
		}},
	} {
		_ = c.call(t.Context())
		require.Equal(t, []string{c.told}, h.last())
	}
}

func TestTheTimeIsThatOfTheCall(t *testing.T) {
	var h heard
	slow := hookstore.New(memory.New())
	slow.OnGet(func(string) error { time.Sleep(30 * time.Millisecond); return nil })
	s := metered.New(slow, h.observe)
	defer s.Close()
	_, _ = s.Get(t.Context(), "a")
	require.GreaterOrEqual(t, h.took, 30*time.Millisecond)
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want metered.Outcome
	}{
		{nil, metered.OK},
		{metastore.ErrNotFound, metered.NotFound},
		{&metastore.ConflictError{Key: "a"}, metered.Conflict},
		{metastore.ErrRetryable, metered.Retryable},
		{metastore.ErrUnknownOutcome, metered.Undecided},
		{errors.Join(metastore.ErrUnknownOutcome, context.Canceled), metered.Undecided},
		{errors.Join(metastore.ErrRetryable, context.Canceled), metered.Canceled},
		{metastore.ErrInvalid, metered.Invalid},
		{metastore.ErrTooLarge, metered.Invalid},
		{context.Canceled, metered.Canceled},
		{context.DeadlineExceeded, metered.Failed},
		{metastore.ErrClosed, metered.Failed},
		{lake.Errorf(lake.Corrupt, "a record"), metered.Failed},
		{errors.New("connection refused"), metered.Failed},
	} {
		require.Equal(t, c.want, metered.OutcomeOf(c.err), "%v", c.err)
		if c.err != nil {
			require.Equal(t, c.want, metered.OutcomeOf(fmt.Errorf("wrapped: %w", c.err)), "%v", c.err)
		}
	}
}

func TestWordsAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for o := range metered.Outcomes {
		require.NotEmpty(t, o.String())
		seen[o.String()] = true
	}
	require.Len(t, seen, int(metered.Outcomes))
	for o := range metered.Operations {
		require.NotEmpty(t, o.String())
		seen[o.String()] = true
	}
	require.Len(t, seen, int(metered.Outcomes)+int(metered.Operations))
}

type (
	watches struct {
		metastore.Store
		metastore.Watcher
	}
	snapshots struct {
		metastore.Store
		metastore.Snapshotter
	}
)

// TestAbilitiesAreKept: callers ask the store what it can do.
func TestAbilitiesAreKept(t *testing.T) {
	m := memory.New()
	defer m.Close()
	for _, inner := range []metastore.Store{m, struct{ metastore.Store }{m}, watches{m, m}, snapshots{m, m}} {
		s := metered.New(inner, new(heard).observe)
		_, want := inner.(metastore.Watcher)
		_, got := s.(metastore.Watcher)
		require.Equal(t, want, got, "%T", inner)
		_, want = inner.(metastore.Snapshotter)
		_, got = s.(metastore.Snapshotter)
		require.Equal(t, want, got, "%T", inner)
	}
}
