// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/services/query/engine"
)

// A slot has no threads of DuckDB's own, so that small statements wake nobody;
// a statement that lasts gets the others.
func TestLongStatementsAreAssisted(t *testing.T) {
	e := newEngine(t, Options{Slots: 1, Threads: 2})
	tab := numbers(1<<17, 1<<13)
	both := make(chan struct{})
	tab.onNext = func(ctx context.Context, _ int) error {
		if tab.pulling.Load() >= 2 {
			select {
			case <-both:
			default:
				close(both)
			}
		}
		select {
		case <-both: // the first thread waits in the table for the second
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req := engine.Request{SQL: "SELECT sum(id) FROM ns.t", Tables: tables("t", tab)}
	require.NoError(t, e.Execute(ctx, req, discard))
	require.EqualValues(t, 2, tab.mostPulling.Load())
}

// However the assistants come, a statement that has ended leaves none behind
// (the package's tests end with a look at its goroutines), and the next is not
// disturbed.
func TestAssistantsEndWithTheirStatement(t *testing.T) {
	e := newEngine(t, Options{Slots: 1, Threads: 2})
	tab := numbers(1<<17, 1<<15)
	for i := range 20 {
		tab.onNext = func(context.Context, int) error {
			time.Sleep(time.Duration(i) * assistAfter / 40) // around the moment they come, on either side of it
			return nil
		}
		var out collector
		require.NoError(t, e.Execute(t.Context(), engine.Request{SQL: "SELECT count(*) FROM ns.t WHERE id >= 0", Tables: tables("t", tab)}, out.add))
		require.Equal(t, []string{"131072"}, out.values)
	}
}
