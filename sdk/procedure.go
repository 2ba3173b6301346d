// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"iter"
	"maps"
	"strings"
	"time"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// dropKind is the kind of the procedure that deletes a dropped table.
const dropKind = "drop-table"

// ProcedureID names a durable procedure.
type ProcedureID struct {
	// Kind is the kind of work, such as "drop-table".
	Kind string
	// ID tells the procedures of a kind apart; a drop's is
	// "<namespace>/<table>/<incarnation>".
	ID string
}

// String returns "kind/id", which is also the id of its Temporal workflow.
func (p ProcedureID) String() string { return p.Kind + "/" + p.ID }

// ParseProcedureID reads "kind/id".
func ParseProcedureID(s string) (ProcedureID, error) {
	kind, id, ok := strings.Cut(s, "/")
	if !ok || kind == "" || id == "" {
		return ProcedureID{}, lake.Errorf(lake.Invalid, "procedure %q: want kind/id, such as drop-table/robots/episodes/<incarnation>", s)
	}
	return ProcedureID{kind, id}, nil
}

// ProcedureState is where a procedure stands.
type ProcedureState string

// The states. The last three are terminal.
const (
	// Pending: the intent is recorded and nobody works on it yet.
	Pending ProcedureState = "pending"
	// Running: a worker holds the procedure.
	Running ProcedureState = "running"
	// Paused: an operator stopped it; it can be resumed.
	Paused ProcedureState = "paused"
	// Completed: everything is done.
	Completed ProcedureState = "completed"
	// Failed: it ended without being done; LastError says why.
	Failed ProcedureState = "failed"
	// Cancelled: it ended because somebody asked.
	Cancelled ProcedureState = "cancelled"
)

// Terminal reports whether the procedure will not change any more.
func (s ProcedureState) Terminal() bool {
	return s == Completed || s == Failed || s == Cancelled
}

var procedureStates = map[lakepb.ProcedureState]ProcedureState{
	lakepb.ProcedureState_PROCEDURE_STATE_PENDING:   Pending,
	lakepb.ProcedureState_PROCEDURE_STATE_RUNNING:   Running,
	lakepb.ProcedureState_PROCEDURE_STATE_PAUSED:    Paused,
	lakepb.ProcedureState_PROCEDURE_STATE_COMPLETED: Completed,
	lakepb.ProcedureState_PROCEDURE_STATE_FAILED:    Failed,
	lakepb.ProcedureState_PROCEDURE_STATE_CANCELLED: Cancelled,
}

// Procedure is a durable procedure's record. It is read from the authority, so
// it is there whether Temporal answers or not.
type Procedure struct {
	ProcedureID
	State ProcedureState
	// Phase is the step it is in, such as "delete-objects".
	Phase string
	// Counters are named counts, such as objects_deleted.
	Counters map[string]int64
	// LastError is the last failure, also of an attempt that was repeated.
	LastError string
	// Epoch is how often an attempt claimed the record.
	Epoch                uint64
	CreatedAt, UpdatedAt time.Time
	WorkflowID           string
	// UIURL is its page in the Temporal UI, if there is one.
	UIURL string
	// Table is what it works on, zero if not a table.
	Table lake.TableName
	// Rate is how many items a second an operator allows, 0 for no bound.
	Rate float64
	// Stopped: an operator cancelled it, and what it had not done is left behind
	// until a retry. Cancelling: it was cancelled, and a worker is taking back
	// what is in force.
	Stopped, Cancelling bool
	// Awaited are the acknowledgements that an approval must give, while it
	// waits for one. Approval is the one that was given, nil before.
	Awaited  []string
	Approval *Approval
	// Progress is how far its phase is, nil where nothing tells.
	Progress *Progress
}

// Progress is how far the phase of a procedure is.
type Progress struct {
	// Of names the counter that tells, such as objects_deleted.
	Of string
	// Total is what the counter will be at the end of the phase, 0 while nobody
	// knows; About says that it is a guess by what was there before.
	Total int64
	About bool
	// PerSecond is the counter's rate of the last half minute or so.
	PerSecond float64
	// ETA is when the phase ends at this rate, zero when that cannot be told.
	ETA time.Time
}

// Approval is somebody's decision to pass a point of no return.
type Approval struct {
	By               string
	At               time.Time
	Acknowledgements []string
}

// String returns the id, the state and the phase.
func (p Procedure) String() string {
	text := p.ProcedureID.String() + " " + string(p.State)
	if p.Phase != "" {
		text += " (" + p.Phase + ")"
	}
	if p.LastError != "" {
		text += ", last error: " + p.LastError
	}
	return text
}

// Procedure returns one procedure, or fails with lake.NotFound.
func (c *Client) Procedure(ctx context.Context, id ProcedureID) (Procedure, error) {
	p, err := c.procedures.GetProcedure(ctx, &lakepb.GetProcedureRequest{Kind: id.Kind, Id: id.ID})
	if err != nil {
		return Procedure{}, withOp("procedure "+id.String(), grpcerr.FromStatus(err))
	}
	return procedureFromProto(p), nil
}

// ListProcedures lists the procedures of a kind, or of all when it is empty.
// Pages are fetched as the loop goes on; an error ends it.
func (c *Client) ListProcedures(ctx context.Context, kind string) iter.Seq2[Procedure, error] {
	return func(yield func(Procedure, error) bool) {
		for token := ""; ; {
			page, err := c.procedures.ListProcedures(ctx, &lakepb.ListProceduresRequest{Kind: kind, PageToken: token})
			if err != nil {
				yield(Procedure{}, lake.Wrap("list procedures", grpcerr.FromStatus(err)))
				return
			}
			for _, p := range page.GetProcedures() {
				if !yield(procedureFromProto(p), nil) {
					return
				}
			}
			if token = page.GetNextPageToken(); token == "" {
				return
			}
		}
	}
}

// WatchProcedure yields the procedure now and after every change, asking each
// interval (0 means half a second), and ends after a terminal state. While the
// server is unavailable it keeps asking until ctx ends; any other error is
// yielded and ends the loop.
func (c *Client) WatchProcedure(ctx context.Context, id ProcedureID, interval time.Duration) iter.Seq2[Procedure, error] {
	if interval <= 0 {
		interval = 500 * time.Millisecond
	}
	return func(yield func(Procedure, error) bool) {
		var last Procedure
		for first := true; ; {
			p, err := c.Procedure(ctx, id)
			switch {
			case err == nil:
				if (first || changed(last, p)) && !yield(p, nil) || p.State.Terminal() {
					return
				}
				first, last = false, p
			case ctx.Err() != nil || !lake.Is(err, lake.Unavailable):
				yield(Procedure{}, err)
				return
			}
			if !sleep(ctx, interval) {
				yield(Procedure{}, lake.Wrap("watch "+id.String(), context.Cause(ctx)))
				return
			}
		}
	}
}

func changed(a, b Procedure) bool {
	return a.State != b.State || a.Rate != b.Rate || a.Cancelling != b.Cancelling || a.Phase != b.Phase || a.LastError != b.LastError ||
		a.Epoch != b.Epoch || !maps.Equal(a.Counters, b.Counters)
}

// sleep reports whether the whole time passed.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func progressFromProto(p *lakepb.ProcedureProgress) *Progress {
	if p == nil {
		return nil
	}
	out := &Progress{Of: p.GetOf(), Total: p.GetTotal(), About: p.GetAbout(), PerSecond: p.GetPerSecond()}
	if p.GetEta() != nil {
		out.ETA = p.GetEta().AsTime()
	}
	return out
}

func procedureFromProto(p *lakepb.Procedure) Procedure {
	state, ok := procedureStates[p.GetState()]
	if !ok {
		state = ProcedureState(strings.ToLower(strings.TrimPrefix(p.GetState().String(), "PROCEDURE_STATE_")))
	}
	return Procedure{
		Progress:    progressFromProto(p.GetProgress()),
		ProcedureID: ProcedureID{p.GetKind(), p.GetId()}, State: state, Phase: p.GetPhase(),
		Counters: p.GetCounters(), LastError: p.GetLastError(), Epoch: p.GetEpoch(),
		CreatedAt: p.GetCreatedAt().AsTime(), UpdatedAt: p.GetUpdatedAt().AsTime(),
		WorkflowID: p.GetWorkflowId(), UIURL: p.GetUiUrl(),
		Table: lake.TableName{Namespace: p.GetTable().GetNamespace(), Name: p.GetTable().GetName()},
		Rate:  p.GetRate(), Stopped: p.GetStopped(), Cancelling: p.GetCancelling(),
		Awaited: p.GetAwaitedAcknowledgements(), Approval: approvalFromProto(p.GetApproval()),
	}
}

func approvalFromProto(a *lakepb.ProcedureApproval) *Approval {
	if a == nil {
		return nil
	}
	return &Approval{By: a.GetBy(), At: a.GetAt().AsTime(), Acknowledgements: a.GetAcknowledgements()}
}
