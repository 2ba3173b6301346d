// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package operate holds the activity that records an operator's order which came
// by an update of the workflow, from Temporal's UI or command line. The order is
// the same as one by `lake procedure`: a commit on the procedure's record with a
// line in its audit.
package operate

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/lakeplane/lake/activities/failure"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

// Catalog is what the activity needs of the catalog.
type Catalog interface {
	Order(ctx context.Context, kind, id string, order catalog.Order) (catalog.Procedure, error)
	Note(ctx context.Context, kind, id string, e catalog.Entry) error
}

// Activities record orders. They are safe for concurrent use.
type Activities struct {
	catalog Catalog
	log     *slog.Logger
}

// New returns the activity. log hears the full text of failures.
func New(c Catalog, log *slog.Logger) *Activities { return &Activities{c, log} }

// via and viaSignal name the way an order came in the audit.
const (
	via       = "temporal"
	viaSignal = "temporal-signal"
)

// Order records one order. Running it twice records it twice: both lines name the
// one who gave it, and the second changes nothing.
func (a *Activities) Order(ctx context.Context, step workflows.OrderStep) error {
	order := catalog.Order{By: step.Order.By, Via: via, Reason: step.Order.Reason}
	switch step.Update {
	case workflows.PauseSignal, workflows.ResumeSignal:
		return failure.Of(ctx, a.log, a.note(ctx, step))
	case workflows.ApproveUpdate:
		order.Action, order.Acknowledgements = catalog.ActionApprove, step.Order.Acknowledgements
		order.Check = func(p catalog.Procedure) error {
			if workflows.Phase(p.Phase) != workflows.PhaseApproval {
				return lake.Errorf(lake.Precondition, "it is in phase %q and waits for no approval", p.Phase)
			}
			return workflows.CheckAcknowledgements(step.Kind, step.Order.Acknowledgements)
		}
	case workflows.RateUpdate:
		order.Action, order.Rate = catalog.ActionRate, step.Order.Rate
	default:
		return failure.Of(ctx, a.log, lake.Errorf(lake.Invalid, "unknown update %q", step.Update))
	}
	_, err := a.catalog.Order(ctx, string(step.Kind), step.ID, order)
	return failure.Of(ctx, a.log, err)
}

// note writes a signal into the audit. It came without an order, from Temporal's
// own pages or command line: the one workflow is held, the record is not.
func (a *Activities) note(ctx context.Context, step workflows.OrderStep) error {
	by := cmp.Or(step.Order.By, "unknown")
	reason := "by the signal " + step.Update + " of the one workflow; not in the procedure's record"
	if step.Order.Reason != "" {
		reason = step.Order.Reason + " (" + reason + ")"
	}
	return a.catalog.Note(ctx, string(step.Kind), step.ID, catalog.Entry{
		Action: catalog.Action(step.Update), By: by, Via: viaSignal, Reason: reason,
	})
}
