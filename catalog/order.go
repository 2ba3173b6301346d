// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"slices"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Orders are what operators asked of a procedure. They are part of its record:
// an attempt that works under the record meets them at its next commit, and they
// outlive the workflow and its engine.
type Orders struct {
	// Paused keeps attempts from claiming the record.
	Paused bool `json:"paused,omitempty"`
	// Stopped says that an operator ended the procedure before it was done.
	// What it had not done yet is left behind until it is retried.
	Stopped bool `json:"stopped,omitempty"`
	// Cancelling asks the next attempt to take back what is in force, such as a
	// barrier, and to end the procedure.
	Cancelling bool `json:"cancelling,omitempty"`
	// Rate bounds the procedure's items a second; 0 is no bound.
	Rate float64 `json:"rate,omitempty"`
	// Approval is nil until somebody approved.
	Approval *Approval `json:"approval,omitempty"`
}

// Approval is the decision to pass a point of no return.
type Approval struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
	// Acknowledgements are what the approver confirmed, sorted.
	Acknowledgements []string `json:"acknowledgements"`
}

// Shown is the state as people see it: an open procedure that is held is paused.
func (p Procedure) Shown() ProcedureState {
	if p.Paused && !p.State.Terminal() {
		return ProcedurePaused
	}
	return p.State
}

// Action is what an audit entry records.
type Action string

// The actions. Those from ActionPause on are orders.
const (
	// ActionStart recorded the intent, ActionUndrop took a drop back.
	ActionStart  Action = "start"
	ActionUndrop Action = "undrop"
	// ActionPause holds the procedure, ActionResume lets it go on.
	ActionPause  Action = "pause"
	ActionResume Action = "resume"
	// ActionCancel ends it with what it has not done left behind, ActionRetry
	// begins a procedure anew that was cancelled so or failed, where it was.
	ActionCancel Action = "cancel"
	ActionRetry  Action = "retry"
	// ActionApprove passes the point of no return.
	ActionApprove Action = "approve"
	// ActionRate bounds its items a second.
	ActionRate Action = "set-rate"
)

// MinRate and MaxRate are the bounds of a procedure's rate, in items a second; 0 is
// none. An activity waits for ten seconds after an item at the most, since one that is
// silent for longer is taken for dead: what is slower than that cannot be kept. To
// stand still, a procedure is paused.
const (
	MinRate = 0.1
	MaxRate = 1_000_000
)

// Order is what an operator asks of a procedure.
type Order struct {
	Action Action
	// By is the principal, at most 256 bytes; Via the service that acts for it.
	By, Via string
	// Reason is free text, at most [MaxReasonBytes] bytes.
	Reason string
	// Rate goes with ActionRate: 0 lifts the bound.
	Rate float64
	// Acknowledgements go with ActionApprove.
	Acknowledgements []string
	// Rollback makes ActionCancel a request to the next attempt, which takes
	// back what is in force. Without, the record ends at once.
	Rollback bool
	// Check may refuse the order for the record as it is; nil allows it.
	Check func(Procedure) error
}

// Order carries an order out: one commit changes exactly the record that it was
// decided on and writes the audit entry. An order that is in force already
// changes nothing and is recorded again, since somebody gave it. The attempt
// that holds the record goes on, and meets the order at its next commit; a
// cancelled one fails there.
//
// It needs no leadership: nothing the leader owns changes. lake.NotFound when
// there is no such procedure, lake.Precondition when it is in no state for the
// order, lake.Undetermined when it cannot be told whether the order holds.
func (c *Catalog) Order(ctx context.Context, kind, id string, order Order) (Procedure, error) {
	verb := string(order.Action) + " procedure " + kind + "/" + id
	if err := order.valid(); err != nil {
		return Procedure{}, lake.Wrap(verb, err)
	}
	var err error
	for try := range orderTries {
		if try > 0 && !pause(ctx, firstCommitPause<<min(try, 4)) {
			break
		}
		var old, next Procedure
		if old, err = c.Procedure(ctx, kind, id); err != nil {
			return Procedure{}, lake.Wrap(verb, err)
		}
		if next, err = order.applied(old, c.now()); err != nil {
			return Procedure{}, lake.Wrap(verb, err)
		}
		next, err = c.CommitProcedure(ctx, old, next, c.noteOp(kind, id, order.entry(old)))
		if !lake.Is(err, lake.Fenced) {
			return next, lake.Wrap(verb, err)
		}
	}
	return Procedure{}, &lake.Error{Kind: lake.Unavailable, Op: verb, Message: "the record moved during every try, try again", Err: err}
}

// orderTries is how often an order is decided again because a working attempt
// moved the record; it commits a few times a second at most.
const orderTries = 16

func (o Order) valid() error {
	switch {
	case !slices.Contains([]Action{ActionPause, ActionResume, ActionCancel, ActionRetry, ActionApprove, ActionRate}, o.Action):
		return lake.Errorf(lake.Invalid, "unknown order %q", o.Action)
	case o.Rate != 0 && !(o.Rate >= MinRate && o.Rate <= MaxRate):
		return lake.Errorf(lake.Invalid, "rate %v: want %v to %d items a second, or 0 for no bound; to hold it, pause it", o.Rate, MinRate, MaxRate)
	case len(o.Acknowledgements) > maxAcknowledgements:
		return lake.Errorf(lake.Invalid, "%d acknowledgements: at most %d", len(o.Acknowledgements), maxAcknowledgements)
	}
	return checkWho(o.By, o.Via, o.Reason)
}

const maxAcknowledgements = 16

// checkWho bounds the texts of an audit entry.
func checkWho(by, via, reason string) error {
	switch {
	case len(reason) > MaxReasonBytes:
		return lake.Errorf(lake.Invalid, "reason of %d bytes: at most %d are kept", len(reason), MaxReasonBytes)
	case len(by) > maxRequesterBytes || len(via) > maxRequesterBytes:
		return lake.Errorf(lake.Invalid, "name of who asks: at most %d bytes", maxRequesterBytes)
	}
	return nil
}

// applied returns the record under the order.
func (o Order) applied(p Procedure, now time.Time) (Procedure, error) {
	if err := o.allowed(p); err != nil {
		return p, err
	}
	switch o.Action {
	case ActionPause:
		p.Paused = true
	case ActionResume:
		p.Paused = false
		p.Progress = p.Progress.anew(now)
	case ActionCancel:
		p.Paused, p.Cancelling = false, o.Rollback
		if !o.Rollback {
			p.State, p.Stopped, p.Deadline = ProcedureCancelled, true, time.Time{}
		}
	case ActionRetry:
		p.Paused = false
		p.Progress = p.Progress.anew(now)
		if p.State.Terminal() {
			p.State, p.Stopped, p.Cancelling, p.LastError, p.Deadline = ProcedurePending, false, false, "", time.Time{}
		}
	case ActionApprove:
		acks := slices.Compact(slices.Sorted(slices.Values(o.Acknowledgements)))
		p.Approval = &Approval{By: o.By, At: stamp(now), Acknowledgements: acks}
	case ActionRate:
		p.Rate = o.Rate
		p.Progress = p.Progress.anew(now)
	}
	return p, nil
}

// allowed refuses what the record's state does not allow.
func (o Order) allowed(p Procedure) error {
	ended := p.State.Terminal()
	switch {
	case o.Action == ActionRetry && p.State == ProcedureCompleted:
		return lake.Errorf(lake.Precondition, "it is completed: nothing is left to do")
	case o.Action == ActionRetry && p.State == ProcedureCancelled && !p.Stopped:
		return lake.Errorf(lake.Precondition, "it ended because what it worked on was taken back or is gone")
	case o.Action != ActionRetry && ended:
		return lake.Errorf(lake.Precondition, "it has ended: %s", p.State)
	case o.Action == ActionApprove && p.Cancelling:
		return lake.Errorf(lake.Precondition, "it is being cancelled")
	case o.Check != nil:
		return o.Check(p)
	}
	return nil
}

// Note writes a line into the audit of a procedure for what was not an order, such
// as a signal that holds one workflow. It changes nothing else.
func (c *Catalog) Note(ctx context.Context, kind, id string, e Entry) error {
	verb := "note " + string(e.Action) + " of procedure " + kind + "/" + id
	if err := checkWho(e.By, e.Via, e.Reason); err != nil {
		return lake.Wrap(verb, err)
	}
	p, err := c.Procedure(ctx, kind, id)
	if err != nil && !lake.Is(err, lake.NotFound) { // it may have been forgotten; the audit outlives it
		return lake.Wrap(verb, err)
	}
	e.State, e.Phase = p.Shown(), p.Phase
	op := c.noteOp(kind, id, e)
	return lake.Wrap(verb, c.commit(ctx, op, []metastore.Op{op}))
}

func (o Order) entry(p Procedure) Entry {
	return Entry{
		Action: o.Action, By: o.By, Via: o.Via, Reason: o.Reason,
		State: p.Shown(), Phase: p.Phase, Rate: o.Rate, Acknowledgements: o.Acknowledgements,
	}
}

// Entry is one line of a procedure's audit: who did what, when and why.
type Entry struct {
	Action  Action
	At      time.Time
	By, Via string
	Reason  string
	// State and Phase are where the procedure stood.
	State ProcedureState
	Phase string
	// Rate and Acknowledgements are the order's.
	Rate             float64
	Acknowledgements []string
}

const auditPrefix = "procedure-audit/"

type entryRecord struct {
	header
	Action           Action         `json:"action"`
	At               time.Time      `json:"at"`
	By               string         `json:"by,omitempty"`
	Via              string         `json:"via,omitempty"`
	Reason           string         `json:"reason,omitempty"`
	State            ProcedureState `json:"state,omitempty"`
	Phase            string         `json:"phase,omitempty"`
	Rate             float64        `json:"rate,omitempty"`
	Acknowledgements []string       `json:"acknowledgements,omitempty"`
}

// noteOp returns the operation that writes an audit entry. Its key ends in a
// UUIDv7, so a listing is in the order of time.
func (c *Catalog) noteOp(kind, id string, e Entry) metastore.Op {
	return metastore.Create(auditPrefix+kind+"/"+id+"/"+lake.NewID().String(), encode(entryRecord{
		header: newHeader(), Action: e.Action, At: stamp(c.now()), By: e.By, Via: e.Via, Reason: e.Reason,
		State: e.State, Phase: e.Phase, Rate: e.Rate, Acknowledgements: e.Acknowledgements,
	}))
}

// Audit returns one page of a procedure's audit, the oldest first; the rules of
// cursor and limit are those of [Catalog.Procedures]. It outlives the record.
func (c *Catalog) Audit(ctx context.Context, kind, id, cursor string, limit int) (page []Entry, next string, err error) {
	return scanPage(ctx, c.store, auditPrefix+kind+"/"+id+"/", cursor, limit, decodeEntry)
}

func decodeEntry(found metastore.Record) (Entry, error) {
	var r entryRecord
	if err := decode(found.Key, found.Value, &r); err != nil {
		return Entry{}, err
	}
	return Entry{
		Action: r.Action, At: r.At, By: r.By, Via: r.Via, Reason: r.Reason,
		State: r.State, Phase: r.Phase, Rate: r.Rate, Acknowledgements: r.Acknowledgements,
	}, nil
}
