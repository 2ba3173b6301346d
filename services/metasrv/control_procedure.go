// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"strings"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/workflows"
)

var procedureActions = map[lakepb.ProcedureOrder]catalog.Action{
	lakepb.ProcedureOrder_PROCEDURE_ORDER_PAUSE:    catalog.ActionPause,
	lakepb.ProcedureOrder_PROCEDURE_ORDER_RESUME:   catalog.ActionResume,
	lakepb.ProcedureOrder_PROCEDURE_ORDER_CANCEL:   catalog.ActionCancel,
	lakepb.ProcedureOrder_PROCEDURE_ORDER_APPROVE:  catalog.ActionApprove,
	lakepb.ProcedureOrder_PROCEDURE_ORDER_RETRY:    catalog.ActionRetry,
	lakepb.ProcedureOrder_PROCEDURE_ORDER_SET_RATE: catalog.ActionRate,
}

// ControlProcedure implements lakepb.ProceduresServer. Any member of the group
// answers: the order is a commit on the procedure's own record.
func (s *Server) ControlProcedure(ctx context.Context, req *lakepb.ControlProcedureRequest) (*lakepb.ControlProcedureResponse, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	ref, order, err := parseOrder(p, req)
	if err != nil {
		return nil, err
	}
	if _, err := s.visible(ctx, p, string(ref.Kind), ref.ID); err != nil {
		return nil, err
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.working.Done()
	resp := &lakepb.ControlProcedureResponse{}
	if order.Action == catalog.ActionCancel {
		// What the record says at the commit counts.
		order.Check = func(p catalog.Procedure) error {
			resp.LeavesBehind = workflows.Leaves(ref.Kind, workflows.Phase(p.Phase))
			return nil
		}
	}
	done, err := s.catalog.Order(ctx, string(ref.Kind), ref.ID, order)
	if err != nil {
		return nil, err
	}
	resp.Procedure = s.procedureMessage(done)
	err = s.tell(ctx, ref, order)
	if err != nil && !lake.Is(err, lake.NotFound) {
		s.opts.Logger.Warn("metasrv: a workflow was not told of an order; it meets it in its record", "procedure", ref.String(), "order", string(order.Action), "error", err)
	}
	resp.WorkflowTold = err == nil
	return resp, nil
}

// parseOrder validates what the record need not be read for.
func parseOrder(p access.Principal, req *lakepb.ControlProcedureRequest) (workflows.Ref, catalog.Order, error) {
	fail := func(err error) (workflows.Ref, catalog.Order, error) { return workflows.Ref{}, catalog.Order{}, err }
	ref, err := workflows.ParseRef(req.GetKind() + "/" + req.GetId())
	if err != nil {
		return fail(err)
	}
	manual, _ := workflows.ManualOf(ref.Kind)
	order := catalog.Order{
		Action: procedureActions[req.GetOrder()], By: p.Name, Via: p.Via, Reason: strings.TrimSpace(req.GetReason()),
		Rate: req.GetRate(), Acknowledgements: req.GetAcknowledgements(), Rollback: manual.Rollback,
	}
	needsReason := order.Action == catalog.ActionCancel || order.Action == catalog.ActionApprove
	switch {
	case order.Action == "":
		return fail(lake.Errorf(lake.Invalid, "order %s: want pause, resume, cancel, approve, retry or set-rate", req.GetOrder()))
	case needsReason && order.Reason == "":
		return fail(lake.Errorf(lake.Invalid, "%s needs a reason: who looks at the audit later will ask", order.Action))
	case order.Action == catalog.ActionRate && !manual.Rated:
		return fail(lake.Errorf(lake.Unsupported, "%s procedures have no rate: they are bounded by what they do", ref.Kind))
	case order.Action != catalog.ActionRate && order.Rate != 0:
		return fail(lake.Errorf(lake.Invalid, "a rate goes with set-rate only"))
	case order.Action != catalog.ActionApprove && len(order.Acknowledgements) > 0:
		return fail(lake.Errorf(lake.Invalid, "acknowledgements go with approve only"))
	case order.Action == catalog.ActionApprove:
		if err := workflows.CheckAcknowledgements(ref.Kind, order.Acknowledgements); err != nil {
			return fail(err)
		}
		order.Check = awaitsApproval
	}
	return ref, order, nil
}

// awaitsApproval refuses to approve what was not verified yet.
func awaitsApproval(p catalog.Procedure) error {
	if workflows.Phase(p.Phase) != workflows.PhaseApproval {
		return lake.Errorf(lake.Precondition, "it is in phase %q and waits for no approval: that is given in phase %q, when everything before is verified", p.Phase, workflows.PhaseApproval)
	}
	return nil
}

// visible returns a procedure that the caller may know of.
func (s *Server) visible(ctx context.Context, p access.Principal, kind, id string) (catalog.Procedure, error) {
	proc, err := s.catalog.Procedure(ctx, kind, id)
	if err == nil && !maySee(p, proc) {
		err = lake.Errorf(lake.NotFound, "no procedure %q", kind+"/"+id)
	}
	return proc, err
}

// tell passes an order on to the procedure's workflow, so that it is in force at
// once. The order is in the record, so a failure costs only time.
func (s *Server) tell(ctx context.Context, ref workflows.Ref, order catalog.Order) error {
	ctx, cancel := context.WithTimeout(ctx, workflows.StartTimeout)
	defer cancel()
	starter := s.opts.Starter
	switch order.Action {
	case catalog.ActionResume:
		return starter.Resume(ctx, ref)
	case catalog.ActionCancel:
		if order.Rollback {
			return starter.Resume(ctx, ref)
		}
		return starter.Cancel(ctx, ref)
	case catalog.ActionRetry:
		if err := starter.Start(ctx, string(ref.Kind), ref.ID); err != nil {
			return err
		}
		return starter.Resume(ctx, ref)
	case catalog.ActionRate:
		return nil // the page under way meets it at its next commit
	default:
		return starter.Recheck(ctx, ref)
	}
}
