// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/sdk/sdktest"
)

// recorder is an observer that remembers.
type recorder struct {
	mu       sync.Mutex
	attempts []sdk.AttemptEvent
	retries  []sdk.RetryEvent
	outcomes []sdk.OutcomeEvent
}

func (r *recorder) Attempt(e sdk.AttemptEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts = append(r.attempts, e)
}

func (r *recorder) Retry(e sdk.RetryEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retries = append(r.retries, e)
}

func (r *recorder) Outcome(e sdk.OutcomeEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes = append(r.outcomes, e)
}

func TestObserverSeesAttemptsRetriesAndTheOutcome(t *testing.T) {
	o := new(recorder)
	s, c := withTable(t, sdk.WithObserver(o))
	s.Plan(sdktest.Refuse, sdktest.LoseAck, sdktest.Busy)
	got, err := c.Append(t.Context(), episodes, rows(3, "a"))
	require.NoError(t, err)
	require.Len(t, o.attempts, 4)
	for i, e := range o.attempts {
		require.Equal(t, i+1, e.Number)
		require.Equal(t, got.Operation, e.Operation)
		require.Equal(t, episodes, e.Table)
		require.Positive(t, e.Bytes)
		require.Positive(t, e.Duration)
		require.Equal(t, i == 3, e.Err == nil, "%v", e.Err)
	}
	require.Equal(t, lake.Exhausted, lake.KindOf(o.attempts[2].Err))
	require.Len(t, o.retries, 3)
	backoff := 50 * time.Millisecond
	for i, e := range o.retries {
		require.Equal(t, i+1, e.Number)
		require.GreaterOrEqual(t, e.Wait, backoff/2)
		require.LessOrEqual(t, e.Wait, backoff)
		require.Error(t, e.Err)
		backoff *= 2
	}
	require.Len(t, o.outcomes, 1)
	e := o.outcomes[0]
	require.Equal(t, got, e.Result)
	require.Equal(t, []any{4, int64(3), o.attempts[0].Bytes, nil, nil}, []any{e.Attempts, e.Rows, e.Bytes, e.Err, e.Checkpoint})

	s.Plan(sdktest.Forget)
	_, err = c.Append(t.Context(), episodes, rows(1, "a"))
	require.Equal(t, err, o.outcomes[1].Err)
}

func TestAppendsAreRepeatedForHalfAMinute(t *testing.T) {
	_, c := connect(t)
	require.Equal(t, 30*time.Second, c.RetryWindow())
}

func TestWaitsAreJittered(t *testing.T) {
	o := new(recorder)
	s, c := withTable(t, sdk.WithObserver(o))
	s.Plan(slices.Repeat([]sdktest.Fault{sdktest.Busy}, 8)...)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := c.Append(t.Context(), episodes, rows(1, "a")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	waits := map[time.Duration]bool{}
	for _, e := range o.retries {
		waits[e.Wait] = true
	}
	require.Len(t, waits, 8, "no two wait the same time")
}

func TestAppendOfACallerWhoGaveUpIsNotSent(t *testing.T) {
	o := new(recorder)
	s, c := withTable(t, sdk.WithObserver(o))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Append(ctx, episodes, rows(1, "a"))
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
	var pending *sdk.PendingAppend
	require.False(t, errors.As(err, &pending), "nothing is unknown")
	require.Empty(t, s.Attempts())
	require.Empty(t, o.outcomes)
}

func TestAbsentServerIsUnavailableNotUnknown(t *testing.T) {
	s := sdktest.New(t)
	front := s.NewFront(t)
	c, err := sdk.Connect(t.Context(), front.Addr(), sdk.WithRetryWindow(300*time.Millisecond))
	require.NoError(t, err)
	defer c.Close()
	front.Stop()
	require.Eventually(t, func() bool { // until the client noticed
		_, err := c.Table(t.Context(), episodes)
		return err != nil && strings.Contains(err.Error(), "connection refused")
	}, 10*time.Second, 10*time.Millisecond)
	_, err = c.Append(t.Context(), episodes, rows(1, "a"))
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
	require.ErrorContains(t, err, "append to robots.episodes")
	var pending *sdk.PendingAppend
	require.False(t, errors.As(err, &pending), "no message was sent")
}

func TestBusyServerAndDeadlineAreBothNamed(t *testing.T) {
	s, c := withTable(t)
	s.Plan(slices.Repeat([]sdktest.Fault{sdktest.Busy}, 100)...)
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	_, err := c.Append(ctx, episodes, rows(1, "a"))
	require.True(t, lake.Is(err, lake.Exhausted), "%v", err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "too many appends")
}

func TestCallersOwnOperationIsAppliedOnce(t *testing.T) {
	s, c := withTable(t)
	key := lake.NewID()
	for i := range 3 { // as three runs of a program that remembers nothing but its key
		p, err := another(t, s).PrepareAppend(episodes, rows(2, "a"))
		require.NoError(t, err)
		got, err := p.WithOperation(key).Resume(t.Context())
		require.NoError(t, err)
		require.Equal(t, key, got.Operation)
		require.Equal(t, i > 0, got.Replayed)
	}
	require.Equal(t, int64(2), s.Rows(episodes))

	p, err := c.PrepareAppend(episodes, rows(3, "other"))
	require.NoError(t, err)
	keyed := p.WithOperation(key)
	require.NotEqual(t, key, p.Operation(), "the original keeps its own")
	_, err = keyed.Resume(t.Context())
	require.True(t, lake.Is(err, lake.AlreadyExists), "%v", err)
	before := len(s.Attempts())
	_, err = p.WithOperation(lake.OperationID{1}).Resume(t.Context())
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	require.ErrorContains(t, err, "not version 7")
	require.Len(t, s.Attempts(), before)
}

// TestLimitOfBytesIsExact walks up to the limit: what fits is announced exactly
// and taken, and one byte more is refused here.
func TestLimitOfBytesIsExact(t *testing.T) {
	s, c := withTable(t)
	size := func(text int) int64 {
		p, err := c.PrepareAppend(episodes, rows(1, strings.Repeat("x", text)))
		require.NoError(t, err)
		return p.Bytes()
	}
	base := size(64) - 64
	most := int(lake.MaxAppendBytes-base) / 8 * 8 // bodies are padded to 8 bytes
	p, err := c.PrepareAppend(episodes, rows(1, strings.Repeat("x", most)))
	require.NoError(t, err)
	require.LessOrEqual(t, p.Bytes(), int64(lake.MaxAppendBytes))
	require.Greater(t, p.Bytes(), int64(lake.MaxAppendBytes-8))
	_, err = p.Resume(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1), s.Rows(episodes))
	_, err = c.PrepareAppend(episodes, rows(1, strings.Repeat("x", most+1)))
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	require.ErrorIs(t, err, sdk.ErrTooLarge)
}

func TestEmptyBatchesAreNotSent(t *testing.T) {
	s, c := withTable(t)
	batches := slices.Repeat([]arrow.RecordBatch{rows(0, "")}, 20_000)
	_, err := c.Append(t.Context(), episodes, append(batches, rows(1, "a"))...)
	require.NoError(t, err)
	require.Len(t, s.Batches(episodes), 1)
}
