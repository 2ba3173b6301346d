// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPaceFollowsTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(16)
		began := time.Now()
		for range 16 {
			require.NoError(t, p.enter(t.Context()))
		}
		time.Sleep(time.Second)
		for range 16 { // all were sent before any answer came
			p.leave(true, began)
		}
		require.EqualValues(t, 8, p.limit, "one overload halves it once")
		for range 3 {
			time.Sleep(time.Second)
			require.NoError(t, p.enter(t.Context()))
			p.leave(true, time.Now())
			time.Sleep(time.Second)
		}
		require.EqualValues(t, 1, p.limit)
		for range 10 {
			require.NoError(t, p.enter(t.Context()))
			p.leave(true, time.Now())
		}
		require.EqualValues(t, 1, p.limit, "one request always may")
		for range 1000 {
			require.NoError(t, p.enter(t.Context()))
			p.leave(false, time.Now())
		}
		require.EqualValues(t, 16, p.limit, "and it grows back to the bound")
	})
}

func TestPaceHandsPlacesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(1)
		require.NoError(t, p.enter(t.Context()))
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		gaveUp, entered := make(chan error, 1), make(chan error, 1)
		go func() { gaveUp <- p.enter(short) }()
		synctest.Wait()
		go func() { entered <- p.enter(t.Context()) }()
		require.ErrorIs(t, <-gaveUp, context.DeadlineExceeded)
		p.leave(false, time.Now())
		require.NoError(t, <-entered)
		p.leave(false, time.Now())
		require.Zero(t, p.running)
	})
}
