// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

const (
	// MaxReasonBytes bounds the reason of a drop.
	MaxReasonBytes = 1024
	// maxRequesterBytes bounds the name of who asked for a drop.
	maxRequesterBytes = 256
)

// DropRequest says who drops a table and why.
type DropRequest struct {
	// Requester is the principal, for the record; at most 256 bytes.
	Requester string
	// Reason is free text, at most [MaxReasonBytes] bytes.
	Reason string
	// PurgeAfter is when the objects may be deleted.
	PurgeAfter time.Time
}

func (r DropRequest) check() error {
	switch {
	case len(r.Reason) > MaxReasonBytes:
		return lake.Errorf(lake.Invalid, "reason of %d bytes: at most %d are kept", len(r.Reason), MaxReasonBytes)
	case len(r.Requester) > maxRequesterBytes:
		return lake.Errorf(lake.Invalid, "requester of %d bytes: at most %d", len(r.Requester), maxRequesterBytes)
	case r.PurgeAfter.IsZero():
		return lake.Errorf(lake.Invalid, "no time after which the objects may be deleted")
	}
	return nil
}

// Drop removes exactly the given record from the registry and leaves its
// tombstone and the pending procedure of kind [DropKind] that will delete the
// objects. retire are the engine's operations, which bar further versions.
// The name is free at once; the procedure is not started here.
//
// lake.NotFound when the table is gone, lake.Precondition when another
// incarnation carries the name, lake.Conflict when it moved: read again and
// retry. lake.Fenced and lake.Undetermined as for Create.
func (c *Catalog) Drop(ctx context.Context, fence Fence, table Table, retire []metastore.Op, req DropRequest) (Tombstone, error) {
	verb := "drop table " + table.Name.String()
	if table.raw == nil {
		return Tombstone{}, lake.Errorf(lake.Invalid, "%s: the table was not read from the catalog", verb)
	}
	if err := errors.Join(fence.check(), req.check()); err != nil {
		return Tombstone{}, lake.Wrap(verb, err)
	}
	grave, err := newTombstone(table, req, c.now())
	if err != nil {
		return Tombstone{}, lake.Wrap(verb, err)
	}
	bury := metastore.Create(tombstoneKey(table.Name, table.Snapshot.Incarnation), grave.raw)
	remove := metastore.Remove(tableKey(table.Name), table.raw)
	intent, err := c.dropIntent(ctx, grave)
	if err != nil {
		return Tombstone{}, lake.Wrap(verb, c.dropError(ctx, table, err))
	}
	note := c.noteOp(DropKind, grave.ProcedureID(), Entry{Action: ActionStart, By: req.Requester, Reason: req.Reason})
	err = c.changeRegistry(ctx, fence, remove, bury, append([]metastore.Op{bury, intent, note}, retire...))
	if err != nil {
		return Tombstone{}, lake.Wrap(verb, c.dropError(ctx, table, err))
	}
	return grave, nil
}

// dropIntent returns the operation that leaves the pending procedure of a drop.
// An incarnation whose earlier drop was undone has a record already, which has
// ended; its epoch goes on, so that no attempt of then can work now.
func (c *Catalog) dropIntent(ctx context.Context, grave Tombstone) (metastore.Op, error) {
	intent := Procedure{
		Kind: DropKind, ID: grave.ProcedureID(), State: ProcedurePending,
		CreatedAt: grave.DroppedAt, UpdatedAt: grave.DroppedAt,
		Namespace: grave.Table.Name.Namespace, Table: grave.Table.Name.Name,
	}
	old, err := c.Procedure(ctx, intent.Kind, intent.ID)
	switch {
	case lake.Is(err, lake.NotFound):
		return c.CreateProcedureOp(intent), nil
	case err != nil:
		return metastore.Op{}, err
	case !old.State.Terminal():
		return metastore.Op{}, lake.Errorf(lake.Conflict, "procedure %s is %s", old.WorkflowID(), old.State)
	}
	intent.Epoch = old.Epoch
	return metastore.Update(procedureKey(old.Kind, old.ID), old.raw, intent.stored().raw), nil
}

func (c *Catalog) dropError(ctx context.Context, table Table, err error) error {
	if !lake.Is(err, lake.Conflict) {
		return err
	}
	switch now, e := c.Get(ctx, table.Name); {
	case lake.Is(e, lake.NotFound):
		return lake.Errorf(lake.NotFound, "no table %s", table.Name)
	case e == nil && now.Snapshot.Incarnation != table.Snapshot.Incarnation:
		return lake.Errorf(lake.Precondition, "another table carries the name: incarnation %s", now.Snapshot.Incarnation)
	}
	return err
}

// Undrop takes a drop back: the exact record stands in the registry again, the
// same incarnation, and the tombstone is gone. restore are the engine's
// operations. drop is the drop's procedure as the caller read it, and found to
// be before its point of no return; it ends as cancelled. The commit holds only
// while the procedure and the tombstone are exactly as given, so a procedure
// that passes the point first wins.
//
// lake.AlreadyExists when another table took the name, lake.Precondition when
// the procedure or the tombstone has moved: read again. lake.Fenced and
// lake.Undetermined as for Create.
func (c *Catalog) Undrop(ctx context.Context, fence Fence, grave Tombstone, restore []metastore.Op, drop Procedure, requester string) (Table, error) {
	verb := "undrop table " + grave.Table.Name.String()
	switch {
	case grave.raw == nil || drop.raw == nil:
		return Table{}, lake.Errorf(lake.Invalid, "%s: the tombstone and the procedure were not both read from the catalog", verb)
	case drop.Kind != DropKind || drop.ID != grave.ProcedureID():
		return Table{}, lake.Errorf(lake.Invalid, "%s: procedure %s is of another drop", verb, drop.WorkflowID())
	case drop.State.Terminal() && !drop.Stopped:
		return Table{}, lake.Errorf(lake.Precondition, "%s: the drop is %s", verb, drop.State)
	}
	if err := fence.check(); err != nil {
		return Table{}, lake.Wrap(verb, err)
	}
	ended := drop
	ended.State, ended.UpdatedAt, ended.Orders = ProcedureCancelled, c.now(), Orders{}
	end := metastore.Update(procedureKey(drop.Kind, drop.ID), drop.raw, ended.stored().raw)
	raise := metastore.Create(tableKey(grave.Table.Name), grave.Table.raw)
	note := c.noteOp(DropKind, drop.ID, Entry{Action: ActionUndrop, By: requester, Phase: drop.Phase})
	err := c.changeRegistry(ctx, fence, raise, end, append([]metastore.Op{grave.RemoveOp(), end, note}, restore...))
	switch {
	case err == nil:
		return grave.Table, nil
	case isConflict(err) && !c.holds(ctx, raise):
		err = lake.Errorf(lake.AlreadyExists, "another table has the name")
	case isConflict(err):
		err = lake.Errorf(lake.Precondition, "the drop has gone on meanwhile")
	}
	return Table{}, lake.Wrap(verb, err)
}
