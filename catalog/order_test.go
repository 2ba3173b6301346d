// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// TestOrders goes through the life of a procedure by its operators' orders and
// reads the audit of it.
func TestOrders(t *testing.T) {
	store := newHooked(t)
	c := catalog.New(store, catalog.Options{})
	intend(t, store, c, catalog.Procedure{Kind: "k", ID: "i", Epoch: 3})
	give := func(o catalog.Order) (catalog.Procedure, error) {
		o.By, o.Reason = "ann", "because of "+string(o.Action)
		return c.Order(t.Context(), "k", "i", o)
	}
	for _, step := range []struct {
		order catalog.Order
		state catalog.ProcedureState // shown
		err   lake.Kind
	}{
		{catalog.Order{Action: catalog.ActionPause}, catalog.ProcedurePaused, lake.Unknown},
		{catalog.Order{Action: catalog.ActionPause}, catalog.ProcedurePaused, lake.Unknown},
		{catalog.Order{Action: catalog.ActionRate, Rate: 500}, catalog.ProcedurePaused, lake.Unknown},
		{catalog.Order{Action: catalog.ActionRate, Rate: -1}, catalog.ProcedurePaused, lake.Invalid},
		{catalog.Order{Action: catalog.ActionRate, Rate: math.NaN()}, catalog.ProcedurePaused, lake.Invalid},
		{catalog.Order{Action: catalog.ActionRate, Rate: catalog.MaxRate + 1}, catalog.ProcedurePaused, lake.Invalid},
		// Slower than an activity may be silent: it would go on faster than it says.
		{catalog.Order{Action: catalog.ActionRate, Rate: 0.01}, catalog.ProcedurePaused, lake.Invalid},
		{catalog.Order{Action: "fly"}, catalog.ProcedurePaused, lake.Invalid},
		{catalog.Order{Action: catalog.ActionResume}, catalog.ProcedurePending, lake.Unknown},
		{catalog.Order{Action: catalog.ActionApprove, Acknowledgements: []string{"b", "a", "b"}}, catalog.ProcedurePending, lake.Unknown},
		{catalog.Order{Action: catalog.ActionCancel}, catalog.ProcedureCancelled, lake.Unknown},
		{catalog.Order{Action: catalog.ActionPause}, catalog.ProcedureCancelled, lake.Precondition},
		{catalog.Order{Action: catalog.ActionRetry}, catalog.ProcedurePending, lake.Unknown},
		{catalog.Order{Action: catalog.ActionCancel, Rollback: true}, catalog.ProcedurePending, lake.Unknown},
		{catalog.Order{Action: catalog.ActionApprove}, catalog.ProcedurePending, lake.Precondition},
	} {
		p, err := give(step.order)
		if step.err != lake.Unknown {
			requireKind(t, step.err, err)
		} else {
			require.NoError(t, err, "%+v", step.order)
			require.Equal(t, step.state, p.Shown(), "%+v", step.order)
		}
	}
	p, err := c.Procedure(t.Context(), "k", "i")
	require.NoError(t, err)
	require.EqualValues(t, 3, p.Epoch, "an order is no claim")
	require.Equal(t, []string{"a", "b"}, p.Approval.Acknowledgements)
	require.True(t, p.Cancelling)
	require.InDelta(t, 500, p.Rate, 0)

	var audit []string
	page, next, err := c.Audit(t.Context(), "k", "i", "", 100)
	require.NoError(t, err)
	require.Empty(t, next)
	for _, e := range page {
		audit = append(audit, string(e.Action)+" "+string(e.State))
		require.Equal(t, "ann", e.By)
		require.Equal(t, "because of "+string(e.Action), e.Reason)
		require.False(t, e.At.IsZero())
	}
	require.Equal(t, []string{
		"pause pending", "pause paused", "set-rate paused", "resume paused", "approve pending", "cancel pending", "retry cancelled", "cancel pending",
	}, audit)
}

func TestAnOrderMeetsAWorkingAttempt(t *testing.T) {
	store := newHooked(t)
	c := catalog.New(store, catalog.Options{})
	working := intend(t, store, c, catalog.Procedure{Kind: "k", ID: "i"})
	moves := 0
	store.OnCommit(func(txn metastore.Txn, next func() error) error {
		if len(txn.Ops) == 2 && moves < 3 { // an order: the attempt is faster
			moves++
			store.OnCommit(nil)
			counted := working
			counted.Counters = map[string]int64{"n": int64(moves)}
			var err error
			working, err = c.CommitProcedure(t.Context(), working, counted)
			require.NoError(t, err)
		}
		return next()
	})
	p, err := c.Order(t.Context(), "k", "i", catalog.Order{Action: catalog.ActionPause})
	require.NoError(t, err)
	require.True(t, p.Paused)
	require.EqualValues(t, 1, p.Counters["n"], "what the attempt wrote stays")
	_, err = c.Order(t.Context(), "k", "none", catalog.Order{Action: catalog.ActionPause})
	requireKind(t, lake.NotFound, err)
	_, err = c.Order(t.Context(), "k", "i", catalog.Order{Action: catalog.ActionPause, Reason: strings.Repeat("x", catalog.MaxReasonBytes+1)})
	requireKind(t, lake.Invalid, err)
}

// TestADropLeavesItsAudit: the tombstone with its reason goes at the end of a
// drop, who asked for it stays.
func TestADropLeavesItsAudit(t *testing.T) {
	store := newHooked(t)
	c := catalog.New(store, catalog.Options{})
	fence := lead(t, store)
	table := create(t, c, fence, name("n.t"))
	grave, err := c.Drop(t.Context(), fence, table, records.Retire(table.Snapshot), catalog.DropRequest{Requester: "ann", PurgeAfter: time.Now()})
	require.NoError(t, err)
	id := grave.ProcedureID()
	drop, err := c.Order(t.Context(), catalog.DropKind, id, catalog.Order{Action: catalog.ActionCancel, By: "bob"})
	require.NoError(t, err)
	require.True(t, drop.Stopped)
	_, err = c.Undrop(t.Context(), fence, grave, records.Restore(table.Snapshot), drop, "cem")
	require.NoError(t, err, "a drop that an operator stopped can be taken back")
	page, _, err := c.Audit(t.Context(), catalog.DropKind, id, "", 10)
	require.NoError(t, err)
	var who []string
	for _, e := range page {
		who = append(who, string(e.Action)+" by "+e.By)
	}
	require.Equal(t, []string{"start by ann", "cancel by bob", "undrop by cem"}, who)
	_, err = c.Order(t.Context(), catalog.DropKind, id, catalog.Order{Action: catalog.ActionRetry})
	requireKind(t, lake.Precondition, err)
}
