// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Kinds of procedures that look after what is there. Their records are opened
// again for every run; see [Catalog.OpenProcedure].
const (
	// MaintenanceKind is the kind of the procedure that compacts a table.
	MaintenanceKind = "table-maintenance"
	// OperationGCKind is the kind of the procedure that forgets old operations.
	OperationGCKind = "operation-gc"
)

// MaintenanceID returns the id of the maintenance of one incarnation of a
// table, of kind [MaintenanceKind].
func MaintenanceID(name lake.TableName, inc lake.Incarnation) string {
	return name.Path() + "/" + inc.String()
}

// MaintenancesOf returns one page of the records of kind [MaintenanceKind] whose
// table is in the namespace; the rules of cursor and limit are those of
// [Catalog.Procedures].
func (c *Catalog) MaintenancesOf(ctx context.Context, namespace, cursor string, limit int) (page []Procedure, next string, err error) {
	if err := lake.ValidateNamespace(namespace); err != nil {
		return nil, "", err
	}
	return scanPage(ctx, c.store, procedureKey(MaintenanceKind, namespace)+"/", cursor, limit, decodeProcedure)
}

// openTries is how often opening a record is tried again when another process
// wrote it meanwhile.
const openTries = 8

// OpenProcedure records the intent p where none is open. A record that is open
// stays as it is and is returned with opened=false: two who ask share one run.
// One that has ended begins anew as pending, with its epoch going on, so that
// no attempt of an earlier run can work in this one. Only Kind, ID, Namespace
// and Table of p are read.
//
// It needs no leadership: it changes nothing that a leader owns. It fails with
// lake.Conflict only when others kept writing the record during every try, and
// with lake.Undetermined when it cannot be told whether the intent is recorded.
func (c *Catalog) OpenProcedure(ctx context.Context, p Procedure) (record Procedure, opened bool, err error) {
	return c.open(ctx, p)
}

// StartProcedure is [Catalog.OpenProcedure] at somebody's request: who asked and
// why is in the audit, if that opened it.
func (c *Catalog) StartProcedure(ctx context.Context, p Procedure, by, via, reason string) (record Procedure, opened bool, err error) {
	if err := checkWho(by, via, reason); err != nil {
		return Procedure{}, false, lake.Wrap("start procedure "+p.WorkflowID(), err)
	}
	return c.open(ctx, p, c.noteOp(p.Kind, p.ID, Entry{Action: ActionStart, By: by, Via: via, Reason: reason}))
}

// open opens the record and applies ops in the commit that does.
func (c *Catalog) open(ctx context.Context, p Procedure, ops ...metastore.Op) (record Procedure, opened bool, err error) {
	verb := "open procedure " + p.WorkflowID()
	for try := range openTries {
		if try > 0 && !pause(ctx, firstCommitPause) {
			break
		}
		var open metastore.Op
		if record, open, err = c.openOp(ctx, p); err != nil || open.Key == "" {
			return record, false, lake.Wrap(verb, err)
		}
		if err = c.commit(ctx, open, append([]metastore.Op{open}, ops...)); !isConflict(err) {
			return record, err == nil, lake.Wrap(verb, err)
		}
	}
	return Procedure{}, false, lake.Wrap(verb, err)
}

// openOp returns the record as it will be and the operation that makes it so,
// or the record as it is and no operation when it is open.
func (c *Catalog) openOp(ctx context.Context, p Procedure) (Procedure, metastore.Op, error) {
	now := c.now()
	fresh := Procedure{
		Kind: p.Kind, ID: p.ID, Namespace: p.Namespace, Table: p.Table,
		State: ProcedurePending, CreatedAt: now, UpdatedAt: now, Progress: p.Progress,
	}
	old, err := c.Procedure(ctx, p.Kind, p.ID)
	switch {
	case lake.Is(err, lake.NotFound):
		fresh = fresh.stored()
		return fresh, metastore.Create(procedureKey(p.Kind, p.ID), fresh.raw), nil
	case err != nil:
		return Procedure{}, metastore.Op{}, err
	case !old.State.Terminal():
		return old, metastore.Op{}, nil
	}
	fresh.Epoch = old.Epoch
	fresh = fresh.stored()
	return fresh, metastore.Update(procedureKey(p.Kind, p.ID), old.raw, fresh.raw), nil
}

// RemoveProcedure forgets exactly the given record, which must have ended. It
// fails with lake.Fenced when the record has moved meanwhile, and with
// lake.Undetermined when it cannot be told whether it is gone.
func (c *Catalog) RemoveProcedure(ctx context.Context, p Procedure) error {
	verb := "forget procedure " + p.WorkflowID()
	if p.raw == nil || !p.State.Terminal() {
		return lake.Errorf(lake.Invalid, "%s: it is %s and only a record that was read and has ended may go", verb, p.State)
	}
	remove := metastore.Remove(procedureKey(p.Kind, p.ID), p.raw)
	if err := c.commit(ctx, remove, []metastore.Op{remove}); err != nil {
		return c.procedureError(ctx, verb, p, err)
	}
	return nil
}

// MaintainOps returns the operations that move the table from exactly the given
// record to its next snapshot, and the table as they leave it. They belong to
// the commit that replaces by, the record of the table's open maintenance
// ([Catalog.CommitProcedure]); ops are the engine's.
//
// Such a commit is safe without a leader's fence. Whatever the fence protects
// of a table is one chain of versions, and every link of it, a leader's too,
// replaces the exact record of the one before: of two commits on one record one
// fails. The fence keeps a leader that was replaced from writing; here the
// exact record of the procedure does that, which every later claim replaces. A
// drop removes the table's record and marks the engine's pointer, so no version
// comes after it. A leader that keeps the table in memory finds out at its next
// commit, which fails, and builds it again on what is there.
func (c *Catalog) MaintainOps(by Procedure, table Table, next lake.Snapshot, ops []metastore.Op) (Table, []metastore.Op, error) {
	verb := "maintain table " + table.Name.String()
	switch {
	case by.raw == nil || by.Kind != MaintenanceKind || by.ID != MaintenanceID(table.Name, table.Snapshot.Incarnation):
		return Table{}, nil, lake.Errorf(lake.Invalid, "%s: procedure %s is not the maintenance of its incarnation %s", verb, by.WorkflowID(), table.Snapshot.Incarnation)
	case by.State != ProcedureRunning:
		return Table{}, nil, lake.Errorf(lake.Invalid, "%s: procedure %s is %s and not claimed", verb, by.WorkflowID(), by.State)
	}
	if err := table.checkNext(next, nil); err != nil {
		return Table{}, nil, lake.Wrap(verb, err)
	}
	moved := table
	moved.Snapshot, moved.UpdatedAt = next, c.now()
	moved = moved.stored()
	move := metastore.Update(tableKey(table.Name), table.raw, moved.raw)
	return moved, append([]metastore.Op{move}, ops...), nil
}
