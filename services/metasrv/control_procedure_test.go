// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

func control(id string, o lakepb.ProcedureOrder) *lakepb.ControlProcedureRequest {
	return &lakepb.ControlProcedureRequest{Kind: "drop-table", Id: id, Order: o, Reason: "because"}
}

func TestControlADrop(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	id := a.drop(t, "t", time.Hour).GetProcedureId()
	ref := "drop-table/" + id

	p, err := a.procedures.ControlProcedure(t.Context(), control(id, lakepb.ProcedureOrder_PROCEDURE_ORDER_PAUSE))
	require.NoError(t, err)
	require.True(t, p.GetWorkflowTold())
	require.Equal(t, lakepb.ProcedureState_PROCEDURE_STATE_PAUSED, p.GetProcedure().GetState())
	_, err = a.procedures.ControlProcedure(t.Context(), control(id, lakepb.ProcedureOrder_PROCEDURE_ORDER_RESUME))
	require.NoError(t, err)
	p, err = a.procedures.ControlProcedure(t.Context(), control(id, lakepb.ProcedureOrder_PROCEDURE_ORDER_CANCEL))
	require.NoError(t, err)
	require.Contains(t, p.GetLeavesBehind(), "nothing was deleted")
	require.True(t, p.GetProcedure().GetStopped())
	require.Equal(t, []string{ref, "resume " + ref, "cancel " + ref}, a.starter.told())

	// The table can still be brought back.
	_, err = a.undrop(t, "t", "")
	require.NoError(t, err)
	events, err := a.procedures.ListProcedureEvents(t.Context(), &lakepb.ListProcedureEventsRequest{Kind: "drop-table", Id: id})
	require.NoError(t, err)
	var audit []string
	for _, e := range events.GetEvents() {
		audit = append(audit, e.GetAction()+" "+e.GetBy()+" "+e.GetReason())
		require.WithinDuration(t, time.Now(), e.GetAt().AsTime(), time.Minute)
	}
	require.Equal(t, []string{"start root ", "pause root because", "resume root because", "cancel root because", "undrop root "}, audit)
}

// TestAnOrderHoldsWithoutTemporal: an order is in the record, so an operator is
// not at the mercy of the workflow engine.
func TestAnOrderHoldsWithoutTemporal(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	id := a.drop(t, "t", time.Hour).GetProcedureId()
	a.starter.refuse(lake.Errorf(lake.Unavailable, "Temporal is away"))
	p, err := a.procedures.ControlProcedure(t.Context(), control(id, lakepb.ProcedureOrder_PROCEDURE_ORDER_PAUSE))
	require.NoError(t, err)
	require.False(t, p.GetWorkflowTold())
	require.True(t, a.procedure(t, id).Paused)
}

func TestControlRefusals(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	id := a.drop(t, "t", time.Hour).GetProcedureId()
	for _, c := range []struct {
		name string
		as   string
		req  *lakepb.ControlProcedureRequest
		want codes.Code
		says string
	}{
		{"somebody else's", "red", control(id, lakepb.ProcedureOrder_PROCEDURE_ORDER_PAUSE), codes.NotFound, "no procedure"},
		{"unknown kind", "root", &lakepb.ControlProcedureRequest{Kind: "x", Id: "y", Order: 1}, codes.InvalidArgument, "want kind/id"},
		{"no order", "root", control(id, 0), codes.InvalidArgument, "want pause, resume"},
		{"no reason", "root", &lakepb.ControlProcedureRequest{Kind: "drop-table", Id: id, Order: 3}, codes.InvalidArgument, "needs a reason"},
		{"a drop is not approved", "root", control(id, lakepb.ProcedureOrder_PROCEDURE_ORDER_APPROVE), codes.FailedPrecondition, "wait for no approval"},
		{"a negative rate", "root", &lakepb.ControlProcedureRequest{Kind: "drop-table", Id: id, Order: 6, Rate: -1}, codes.InvalidArgument, "or 0 for no bound"},
		{"a rate with a pause", "root", &lakepb.ControlProcedureRequest{Kind: "drop-table", Id: id, Order: 1, Rate: 1}, codes.InvalidArgument, "set-rate only"},
		{"a long reason", "root", &lakepb.ControlProcedureRequest{Kind: "drop-table", Id: id, Order: 1, Reason: strings.Repeat("x", 1025)}, codes.InvalidArgument, "at most 1024"},
		{"no such drop", "root", control("a/t/"+lake.NewID().String(), lakepb.ProcedureOrder_PROCEDURE_ORDER_PAUSE), codes.NotFound, "no procedure"},
		{"kinds without a rate", "root", &lakepb.ControlProcedureRequest{Kind: "operation-gc", Id: "deployment", Order: 6, Rate: 1}, codes.Unimplemented, "have no rate"},
	} {
		_, err := a.procedures.ControlProcedure(as(t.Context(), c.as), c.req)
		requireCode(t, c.want, err, c.says)
	}
	_, err := a.procedures.ListProcedureEvents(as(t.Context(), "red"), &lakepb.ListProcedureEventsRequest{Kind: "drop-table", Id: id})
	requireCode(t, codes.NotFound, err)
}

func TestStartProcedure(t *testing.T) {
	a := start(t)
	for _, dry := range []bool{false, true} {
		first, err := a.procedures.StartProcedure(t.Context(), &lakepb.StartProcedureRequest{Kind: "operation-gc", DryRun: dry, Reason: "by hand"})
		require.NoError(t, err)
		require.False(t, first.GetShared())
		again, err := a.procedures.StartProcedure(t.Context(), &lakepb.StartProcedureRequest{Kind: "operation-gc", DryRun: dry})
		require.NoError(t, err)
		require.True(t, again.GetShared())
		require.Equal(t, first.GetProcedure().GetId(), again.GetProcedure().GetId())
		events, err := a.procedures.ListProcedureEvents(t.Context(), &lakepb.ListProcedureEventsRequest{Kind: "operation-gc", Id: first.GetProcedure().GetId()})
		require.NoError(t, err)
		require.Len(t, events.GetEvents(), 1, "who shared it did not start it")
		require.Equal(t, "by hand", events.GetEvents()[0].GetReason())
	}
	require.Equal(t, []string{
		workflows.OperationGCRef().String(), workflows.OperationGCRef().String(),
		workflows.OperationGCDryRunRef().String(), workflows.OperationGCDryRunRef().String(),
	}, a.starter.list())
	_, err := a.procedures.StartProcedure(t.Context(), &lakepb.StartProcedureRequest{Kind: "drop-table"})
	requireCode(t, codes.InvalidArgument, err, "operation-gc")
	_, err = a.procedures.StartProcedure(as(t.Context(), "red"), &lakepb.StartProcedureRequest{Kind: "operation-gc"})
	requireCode(t, codes.PermissionDenied, err)
}
