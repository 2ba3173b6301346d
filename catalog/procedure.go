// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// ProcedureState is where a durable procedure stands.
type ProcedureState string

// The states. The last three are terminal.
const (
	// ProcedurePending: the intent is recorded; no attempt has claimed it.
	ProcedurePending ProcedureState = "pending"
	ProcedureRunning ProcedureState = "running"
	// ProcedurePaused is what people are shown of an open procedure whose
	// [Orders] say so; see [Procedure.Shown].
	ProcedurePaused    ProcedureState = "paused"
	ProcedureCompleted ProcedureState = "completed"
	ProcedureFailed    ProcedureState = "failed"
	ProcedureCancelled ProcedureState = "cancelled"
)

// Terminal reports whether the procedure has ended.
func (s ProcedureState) Terminal() bool {
	return s == ProcedureCompleted || s == ProcedureFailed || s == ProcedureCancelled
}

// valid reports whether the state is one of those above.
func (s ProcedureState) valid() bool {
	return s == ProcedurePending || s == ProcedureRunning || s == ProcedurePaused || s.Terminal()
}

const procedurePrefix = "procedure/"

// Procedure is the record of one durable procedure: its intent, its lease and
// its progress. The record is the authority; a workflow engine only drives it.
//
// The record is also the lease. An attempt claims it by writing itself as
// Holder with the next Epoch, and makes every later effect in a commit that
// keeps or replaces exactly the record it last saw ([Catalog.CommitKeep],
// [Catalog.CommitProcedure]). An older attempt then fails at its next write.
type Procedure struct {
	// Kind is the procedure's type, one key segment, such as "drop-table".
	Kind string
	// ID names the instance inside its kind. It may have several segments.
	ID    string
	State ProcedureState
	// Phase is the step the procedure is in, such as "delete-objects".
	Phase string
	// Epoch counts the claims; it never moves back.
	Epoch uint64
	// Holder is the attempt that made the last claim.
	Holder string
	// Deadline is when the holder promised to stop, by its own clock.
	Deadline time.Time
	// Cursor is where the phase continues; its meaning belongs to the phase.
	Cursor string
	// Counters are named counts for people, such as "objects_deleted".
	Counters map[string]int64
	// LastError is the last failure's text, or empty. It holds nothing secret.
	LastError string
	CreatedAt time.Time
	// UpdatedAt is set by every write.
	UpdatedAt time.Time
	// Namespace and Table say what the procedure works on; empty if nothing.
	Namespace string
	Table     string
	// Progress is how far the phase is.
	Progress Progress
	// Orders are what operators asked for; see [Catalog.Order].
	Orders

	raw []byte
}

// WorkflowID is the id of the workflow that drives the procedure.
func (p Procedure) WorkflowID() string { return p.Kind + "/" + p.ID }

// Raw returns the record's exact bytes as they were read or written, nil for a
// record that was not. The caller must not change them.
func (p Procedure) Raw() []byte { return p.raw }

func procedureKey(kind, id string) string { return procedurePrefix + kind + "/" + id }

type procedureRecord struct {
	header
	Kind      string           `json:"kind"`
	ID        string           `json:"id"`
	State     ProcedureState   `json:"state"`
	Phase     string           `json:"phase,omitempty"`
	Epoch     uint64           `json:"epoch"`
	Holder    string           `json:"holder,omitempty"`
	Deadline  time.Time        `json:"deadline,omitzero"`
	Cursor    string           `json:"cursor,omitempty"`
	Counters  map[string]int64 `json:"counters,omitempty"`
	LastError string           `json:"last_error,omitempty"`
	CreatedAt time.Time        `json:"created_at"`
	UpdatedAt time.Time        `json:"updated_at"`
	Namespace string           `json:"namespace,omitempty"`
	Table     string           `json:"table,omitempty"`
	Progress  Progress         `json:"progress,omitzero"`
	Orders
}

// stored returns p as a new write of it leaves it, with its bytes.
func (p Procedure) stored() Procedure {
	p.Deadline, p.CreatedAt, p.UpdatedAt = stamp(p.Deadline), stamp(p.CreatedAt), stamp(p.UpdatedAt)
	p.Counters, p.Progress.At = maps.Clone(p.Counters), stamp(p.Progress.At)
	p.raw = encode(procedureRecord{
		header: newHeader(), Kind: p.Kind, ID: p.ID, State: p.State, Phase: p.Phase,
		Epoch: p.Epoch, Holder: p.Holder, Deadline: p.Deadline, Cursor: p.Cursor,
		Counters: p.Counters, LastError: p.LastError,
		CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt, Namespace: p.Namespace, Table: p.Table, Progress: p.Progress, Orders: p.Orders,
	})
	return p
}

func decodeProcedure(found metastore.Record) (Procedure, error) {
	var r procedureRecord
	if err := decode(found.Key, found.Value, &r); err != nil {
		return Procedure{}, err
	}
	if procedureKey(r.Kind, r.ID) != found.Key || !r.State.valid() {
		return Procedure{}, lake.Errorf(lake.Corrupt, "record %q holds procedure %q in state %q", found.Key, r.Kind+"/"+r.ID, r.State)
	}
	return Procedure{
		Kind: r.Kind, ID: r.ID, State: r.State, Phase: r.Phase, Epoch: r.Epoch, Holder: r.Holder,
		Deadline: r.Deadline, Cursor: r.Cursor, Counters: r.Counters, LastError: r.LastError,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Namespace: r.Namespace, Table: r.Table, Progress: r.Progress, Orders: r.Orders,
		raw: found.Value,
	}, nil
}

// Procedure returns one record; lake.NotFound when there is none.
func (c *Catalog) Procedure(ctx context.Context, kind, id string) (Procedure, error) {
	found, err := c.store.Get(ctx, procedureKey(kind, id))
	if errors.Is(err, metastore.ErrNotFound) {
		return Procedure{}, lake.Errorf(lake.NotFound, "no procedure %q", kind+"/"+id)
	}
	if err != nil {
		return Procedure{}, lake.Wrap("read procedure "+kind+"/"+id, err)
	}
	return decodeProcedure(found)
}

// Procedures returns one page of the records of a kind, or of every kind when
// it is empty. cursor is empty for the first page and next of the page before
// for the others; an empty next ends the listing. A page may be empty and
// still have a next one. limit is 1..[lake.MaxPageSize].
func (c *Catalog) Procedures(ctx context.Context, kind, cursor string, limit int) (page []Procedure, next string, err error) {
	prefix := procedurePrefix
	if kind != "" {
		if strings.Contains(kind, "/") {
			return nil, "", lake.Errorf(lake.Invalid, "procedure kind %q: want one segment without '/'", kind)
		}
		prefix += kind + "/"
	}
	return scanPage(ctx, c.store, prefix, cursor, limit, decodeProcedure)
}

// DropsOf returns one page of the records of kind [DropKind] whose table was in
// the namespace, with the same rules.
func (c *Catalog) DropsOf(ctx context.Context, namespace, cursor string, limit int) (page []Procedure, next string, err error) {
	if err := lake.ValidateNamespace(namespace); err != nil {
		return nil, "", err
	}
	return scanPage(ctx, c.store, procedureKey(DropKind, namespace)+"/", cursor, limit, decodeProcedure)
}

// CreateProcedureOp returns the operation that records the intent p. The
// caller puts it into the commit that makes the procedure necessary. A zero
// CreatedAt becomes now, an empty State becomes pending.
func (c *Catalog) CreateProcedureOp(p Procedure) metastore.Op {
	now := c.now()
	if p.CreatedAt.IsZero() {
		p.CreatedAt = now
	}
	if p.State == "" {
		p.State = ProcedurePending
	}
	p.UpdatedAt = now
	return metastore.Create(procedureKey(p.Kind, p.ID), p.stored().raw)
}

// CommitProcedure replaces exactly the record old by next and applies ops in
// the same commit. It returns next as stored. Kind, ID and CreatedAt cannot
// change, Epoch cannot move back.
//
// lake.Fenced means that the record is no longer old: another attempt or an
// operator took it over, and the caller must stop. lake.Conflict means that
// one of ops did not hold while the record did. lake.Undetermined means that
// the commit may have applied: read the record before going on.
func (c *Catalog) CommitProcedure(ctx context.Context, old, next Procedure, ops ...metastore.Op) (Procedure, error) {
	verb := "advance procedure " + old.WorkflowID()
	switch {
	case old.raw == nil:
		return Procedure{}, lake.Errorf(lake.Invalid, "%s: the old record was not read from the catalog", verb)
	case next.Kind != old.Kind || next.ID != old.ID:
		return Procedure{}, lake.Errorf(lake.Invalid, "%s: the new record is of %q", verb, next.WorkflowID())
	case next.Epoch < old.Epoch:
		return Procedure{}, lake.Errorf(lake.Invalid, "%s: epoch %d after %d", verb, next.Epoch, old.Epoch)
	case !next.State.valid():
		return Procedure{}, lake.Errorf(lake.Invalid, "%s: unknown state %q", verb, next.State)
	}
	next.CreatedAt, next.UpdatedAt = old.CreatedAt, c.now()
	next = next.stored()
	move := metastore.Update(procedureKey(old.Kind, old.ID), old.raw, next.raw)
	err := c.commit(ctx, move, append([]metastore.Op{move}, ops...))
	if err != nil {
		return Procedure{}, c.procedureError(ctx, verb, old, err)
	}
	return next, nil
}

// CommitKeep applies ops in one commit that keeps the record exactly as old
// has it. Errors are those of [Catalog.CommitProcedure].
func (c *Catalog) CommitKeep(ctx context.Context, old Procedure, ops ...metastore.Op) error {
	verb := "work for procedure " + old.WorkflowID()
	if old.raw == nil {
		return lake.Errorf(lake.Invalid, "%s: the record was not read from the catalog", verb)
	}
	guard := metastore.Guard(procedureKey(old.Kind, old.ID), old.raw)
	err := c.commit(ctx, guard, append([]metastore.Op{guard}, ops...))
	if err != nil {
		return c.procedureError(ctx, verb, old, err)
	}
	return nil
}

// procedureError tells a lost lease from another failed expectation. A store
// may name any of several failed keys, so the record itself is read.
func (c *Catalog) procedureError(ctx context.Context, verb string, old Procedure, err error) error {
	guard := metastore.Guard(procedureKey(old.Kind, old.ID), old.raw)
	if isConflict(err) && !c.holds(ctx, guard) {
		return &lake.Error{Kind: lake.Fenced, Op: verb, Message: "another attempt took it over", Err: err}
	}
	return lake.Wrap(verb, err)
}
