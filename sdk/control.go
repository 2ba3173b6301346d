// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"iter"
	"time"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// Order is what an operator asks of a procedure. Make one with [Pause],
// [Resume], [Cancel], [Approve], [Retry] or [SetRate].
type Order struct {
	order            lakepb.ProcedureOrder
	name             string
	reason           string
	rate             float64
	acknowledgements []string
}

// Pause holds a procedure; what is under way ends its page first. The pause
// outlives its workflow and Temporal's database.
func Pause(reason string) Order {
	return Order{order: lakepb.ProcedureOrder_PROCEDURE_ORDER_PAUSE, name: "pause", reason: reason}
}

// Resume ends a pause.
func Resume(reason string) Order {
	return Order{order: lakepb.ProcedureOrder_PROCEDURE_ORDER_RESUME, name: "resume", reason: reason}
}

// Cancel ends a procedure before it is done. It needs a reason.
func Cancel(reason string) Order {
	return Order{order: lakepb.ProcedureOrder_PROCEDURE_ORDER_CANCEL, name: "cancel", reason: reason}
}

// Retry ends the wait after a failure, or begins a cancelled or failed procedure
// again where it was.
func Retry(reason string) Order {
	return Order{order: lakepb.ProcedureOrder_PROCEDURE_ORDER_RETRY, name: "retry", reason: reason}
}

// Approve passes the point of no return of a procedure that waits for it, with
// the acknowledgements it asks for. It needs a reason.
func Approve(reason string, acknowledgements ...string) Order {
	return Order{
		order: lakepb.ProcedureOrder_PROCEDURE_ORDER_APPROVE, name: "approve", reason: reason, acknowledgements: acknowledgements,
	}
}

// SetRate bounds the items a procedure handles a second, such as the objects
// that a drop deletes; 0 lifts the bound.
func SetRate(perSecond float64, reason string) Order {
	return Order{order: lakepb.ProcedureOrder_PROCEDURE_ORDER_SET_RATE, name: "set-rate", reason: reason, rate: perSecond}
}

// Controlled is the answer to an order.
type Controlled struct {
	Procedure Procedure
	// LeavesBehind says what a cancelled procedure leaves, and how to go on.
	LeavesBehind string
	// WorkflowTold: the order is in force at once. Otherwise it is noticed at
	// the procedure's next step.
	WorkflowTold bool
}

// Control gives an order. It holds once the call returns, whether Temporal
// answers or not. It fails with lake.NotFound when there is no such procedure
// and with lake.Precondition when it is in no state for the order.
func (c *Client) Control(ctx context.Context, id ProcedureID, order Order) (Controlled, error) {
	resp, err := c.procedures.ControlProcedure(ctx, &lakepb.ControlProcedureRequest{
		Kind: id.Kind, Id: id.ID, Order: order.order, Reason: order.reason, Rate: order.rate, Acknowledgements: order.acknowledgements,
	})
	if err != nil {
		return Controlled{}, withOp(order.name+" procedure "+id.String(), grpcerr.FromStatus(err))
	}
	return Controlled{
		Procedure: procedureFromProto(resp.GetProcedure()), LeavesBehind: resp.GetLeavesBehind(), WorkflowTold: resp.GetWorkflowTold(),
	}, nil
}

// StartOptions narrow [Client.StartProcedure].
type StartOptions struct {
	// DryRun counts what would be done and changes nothing.
	DryRun bool
	// Reason is kept in the audit.
	Reason string
}

// StartProcedure starts a procedure that works on the whole deployment, such as
// "operation-gc". Those who ask while one is open share it, and shared is true.
func (c *Client) StartProcedure(ctx context.Context, kind string, opts StartOptions) (p Procedure, shared bool, err error) {
	resp, err := c.procedures.StartProcedure(ctx, &lakepb.StartProcedureRequest{Kind: kind, DryRun: opts.DryRun, Reason: opts.Reason})
	if err != nil {
		return Procedure{}, false, withOp("start procedure "+kind, grpcerr.FromStatus(err))
	}
	return procedureFromProto(resp.GetProcedure()), resp.GetShared(), nil
}

// Event is one line of a procedure's audit: who did what, when and why.
type Event struct {
	// Action is "start", "undrop" or an order, such as "pause".
	Action string
	At     time.Time
	// By is the principal, Via the service that acted for it, or empty.
	By, Via string
	Reason  string
	// State and Phase are where the procedure stood.
	State ProcedureState
	Phase string
	// Rate and Acknowledgements are those of the order.
	Rate             float64
	Acknowledgements []string
}

// ProcedureEvents lists a procedure's audit, the oldest first. It outlives the
// procedure's record. Pages are fetched as the loop goes on; an error ends it.
func (c *Client) ProcedureEvents(ctx context.Context, id ProcedureID) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for token := ""; ; {
			page, err := c.procedures.ListProcedureEvents(ctx, &lakepb.ListProcedureEventsRequest{Kind: id.Kind, Id: id.ID, PageToken: token})
			if err != nil {
				yield(Event{}, lake.Wrap("events of procedure "+id.String(), grpcerr.FromStatus(err)))
				return
			}
			for _, e := range page.GetEvents() {
				if !yield(eventFromProto(e), nil) {
					return
				}
			}
			if token = page.GetNextPageToken(); token == "" {
				return
			}
		}
	}
}

func eventFromProto(e *lakepb.ProcedureEvent) Event {
	return Event{
		Action: e.GetAction(), At: e.GetAt().AsTime(), By: e.GetBy(), Via: e.GetVia(), Reason: e.GetReason(),
		State: procedureStates[e.GetState()], Phase: e.GetPhase(), Rate: e.GetRate(), Acknowledgements: e.GetAcknowledgements(),
	}
}
