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
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/objstore/metered"
	"github.com/lakeplane/lake/objstore/objstoretest"
)

// heard keeps what a store told.
type heard struct {
	mu    sync.Mutex
	calls []string
}

func (h *heard) observe(op metered.Operation, outcome metered.Outcome, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if took < 0 {
		panic("a call ended before it began")
	}
	h.calls = append(h.calls, op.String()+" "+outcome.String())
}

// last returns what was told since it was asked.
func (h *heard) last() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.calls
	h.calls = nil
	return out
}

func openLocal(tb testing.TB) *local.Store {
	s, err := local.Open(tb.TempDir())
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

func TestConformance(t *testing.T) {
	objstoretest.Run(t, func(tb testing.TB) objstore.Store { return metered.New(openLocal(tb), new(heard).observe) })
}

// far is a store whose objects are not in memory.
type far struct{ *local.Store }

func (f far) Open(ctx context.Context, key string) (objstore.Object, error) {
	obj, err := f.Store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return struct{ objstore.Object }{obj}, nil
}

func TestCallsAreTold(t *testing.T) {
	var h heard
	s := metered.New(far{openLocal(t)}, h.observe)
	write := func(ctx context.Context) error {
		w, err := s.Create(ctx, "w")
		if err != nil {
			return err
		}
		defer w.Abort()
		_, err = w.Write([]byte("x"))
		return errors.Join(err, w.Commit())
	}
	page := func(ctx context.Context, prefix string) (err error) {
		for _, err = range objstore.Pages(ctx, s, prefix, "", 1) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, c := range []struct {
		told []string
		call func(ctx context.Context) error
	}{
		{[]string{"put ok"}, func(ctx context.Context) error { return s.Put(ctx, "a", []byte("data")) }},
		{[]string{"put exists"}, func(ctx context.Context) error { return s.Put(ctx, "a", nil) }},
		{[]string{"put invalid"}, func(ctx context.Context) error { return s.Put(ctx, "", nil) }},
		{[]string{"create ok", "write ok", "commit ok"}, write},
		{[]string{"create ok", "write ok", "commit exists"}, write},
		{[]string{"open ok", "read ok"}, func(ctx context.Context) error { _, err := objstore.ReadAll(ctx, s, "a", 10); return err }},
		{[]string{"open not_found"}, func(ctx context.Context) error { _, err := s.Open(ctx, "b"); return err }},
		{[]string{"list ok"}, func(ctx context.Context) error { _, _, err := s.List(ctx, "", "", 1); return err }},
		{[]string{"list ok", "list ok", "list ok"}, func(ctx context.Context) error { return page(ctx, "") }},
		{[]string{"list ok"}, func(ctx context.Context) error { return page(ctx, "none/") }},
		{[]string{"list invalid"}, func(ctx context.Context) error { return page(ctx, "none") }},
		{[]string{"stage ok"}, func(ctx context.Context) error { return objstore.StageIdentical(ctx, s, "staged", nil) }},
		{[]string{"move ok"}, func(ctx context.Context) error { return s.(objstore.Mover).Move(ctx, "staged", "moved") }},
		{[]string{"move not_found"}, func(ctx context.Context) error { return s.(objstore.Mover).Move(ctx, "staged", "again") }},
		{[]string{"delete ok"}, func(ctx context.Context) error { return s.Delete(ctx, "moved") }},
		{[]string{"delete_many ok"}, func(ctx context.Context) error { _, err := objstore.DeleteAll(ctx, s, []string{"a", "w"}); return err }},
		{[]string{"delete_many canceled"}, func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_, err := objstore.DeleteAll(ctx, s, []string{"a"})
			return err
		}},
	} {
		_ = c.call(t.Context())
		require.Equal(t, c.told, h.last())
	}
}

func TestAReadPastTheEndIsAnAnswer(t *testing.T) {
	var h heard
	s := metered.New(far{openLocal(t)}, h.observe)
	require.NoError(t, s.Put(t.Context(), "a", []byte("data")))
	obj, err := s.Open(t.Context(), "a")
	require.NoError(t, err)
	h.last()
	n, _ := obj.ReadAt(make([]byte, 10), 0)
	require.Equal(t, 4, n)
	require.Equal(t, []string{"read ok"}, h.last())
	require.NoError(t, obj.Close())
	_, err = obj.ReadAt(make([]byte, 1), 0)
	require.Error(t, err)
	require.Equal(t, []string{"read error"}, h.last())
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want metered.Outcome
	}{
		{nil, metered.OK},
		{objstore.ErrNotFound, metered.NotFound},
		{objstore.ErrExists, metered.Exists},
		{objstore.ErrInvalid, metered.Invalid},
		{lake.Errorf(lake.Unavailable, "slow down"), metered.Retryable},
		{lake.Errorf(lake.Undetermined, "no answer"), metered.Undecided},
		{lake.Errorf(lake.Denied, "403"), metered.Denied},
		{lake.Errorf(lake.Corrupt, "checksum"), metered.Failed},
		{context.Canceled, metered.Canceled},
		{lake.Errorf(lake.Unavailable, "put: %w", context.Canceled), metered.Canceled},
		{lake.Errorf(lake.Unavailable, "put: %w", context.DeadlineExceeded), metered.Failed},
		{errors.New("no room on the disk"), metered.Failed},
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
	for o := range metered.Operations {
		require.NotEmpty(t, o.String())
		seen[o.String()] = true
	}
	require.Len(t, seen, int(metered.Outcomes)+int(metered.Operations))
}

// abilities says which of the optional abilities a store has.
func abilities(s objstore.Store) [4]bool {
	_, batches := s.(objstore.BatchDeleter)
	_, pages := s.(objstore.Pager)
	_, moves := s.(objstore.Mover)
	_, stages := s.(objstore.Stager)
	return [4]bool{batches, pages, moves, stages}
}

// TestAbilitiesAreKept, every set of them: callers ask the store what it can do.
func TestAbilitiesAreKept(t *testing.T) {
	l := openLocal(t)
	type (
		s = objstore.Store
		b = objstore.BatchDeleter
		p = objstore.Pager
		m = objstore.Mover
		g = objstore.Stager
	)
	seen := map[[4]bool]bool{}
	for _, inner := range []objstore.Store{
		struct{ s }{l}, struct {
			s
			b
		}{l, l}, struct {
			s
			p
		}{l, l}, struct {
			s
			b
			p
		}{l, l, l}, struct {
			s
			m
		}{l, l}, struct {
			s
			b
			m
		}{l, l, l}, struct {
			s
			p
			m
		}{l, l, l}, struct {
			s
			b
			p
			m
		}{l, l, l, l}, struct {
			s
			g
		}{l, l}, struct {
			s
			b
			g
		}{l, l, l}, struct {
			s
			p
			g
		}{l, l, l}, struct {
			s
			b
			p
			g
		}{l, l, l, l}, struct {
			s
			m
			g
		}{l, l, l}, struct {
			s
			b
			m
			g
		}{l, l, l, l}, struct {
			s
			p
			m
			g
		}{l, l, l, l}, l,
	} {
		seen[abilities(inner)] = true
		require.Equal(t, abilities(inner), abilities(metered.New(inner, new(heard).observe)), "%T", inner)
	}
	require.Len(t, seen, 16)
}

// TestObjectsInMemoryStayThere: readers that find the bytes copy none.
func TestObjectsInMemoryStayThere(t *testing.T) {
	l := openLocal(t)
	require.NoError(t, l.Put(t.Context(), "a", []byte("data")))
	plain, err := l.Open(t.Context(), "a")
	require.NoError(t, err)
	defer plain.Close()
	_, want := plain.(objstore.Mapped)
	obj, err := metered.New(l, new(heard).observe).Open(t.Context(), "a")
	require.NoError(t, err)
	defer obj.Close()
	_, got := obj.(objstore.Mapped)
	require.Equal(t, want, got)
	far, err := metered.New(far{l}, new(heard).observe).Open(t.Context(), "a")
	require.NoError(t, err)
	defer far.Close()
	_, got = far.(objstore.Mapped)
	require.False(t, got)
}
