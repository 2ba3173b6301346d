// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

const (
	// registryTries is how often a create or drop is tried again when another
	// process replaced the directory generation between its read and commit.
	registryTries = 8
	// MaxGroup is how many append operations one version may take in. Their
	// records share one transaction with the fence, the table and the rows of
	// the engine, and metastore.MaxOps bounds it.
	MaxGroup = 16
)

// Create registers a new table with its first snapshot. ops are the engine's,
// which make the staged snapshot current; they apply in the same commit.
//
// lake.AlreadyExists when the name is taken, lake.Fenced when the fence is no
// longer the leader's, lake.Invalid when the schema does not fit a record,
// lake.Undetermined when it cannot be told whether the table was created.
func (c *Catalog) Create(ctx context.Context, fence Fence, table Table, ops []metastore.Op) (Table, error) {
	verb := "create table " + table.Name.String()
	now := c.now()
	table.CreatedAt, table.UpdatedAt = now, now
	table.packed = packSchema(table.Schema)
	table = table.stored()
	if err := errors.Join(fence.check(), table.checkNew()); err != nil {
		return Table{}, lake.Wrap(verb, err)
	}
	create := metastore.Create(tableKey(table.Name), table.raw)
	err := c.changeRegistry(ctx, fence, create, create, ops)
	if isConflict(err) && !c.holds(ctx, create) {
		err = lake.Errorf(lake.AlreadyExists, "a table of that name exists")
	}
	if err != nil {
		return Table{}, lake.Wrap(verb, err)
	}
	return table, nil
}

func (t Table) checkNew() error {
	if err := t.Name.Validate(); err != nil {
		return err
	}
	switch s := t.Snapshot; {
	case s.Incarnation.IsZero() || s.Version != 1 || s.Engine == "":
		return lake.Errorf(lake.Invalid, "a new table starts at version 1 of an incarnation of an engine, not at version %d of %s of %q", s.Version, s.Incarnation, s.Engine)
	case s.Location != lake.Place(t.Name, s.Incarnation):
		return lake.Errorf(lake.Invalid, "location %q: the table's place is %q", s.Location, lake.Place(t.Name, s.Incarnation))
	case len(t.Schema) == 0 || len(t.Schema) > lake.MaxSchemaBytes:
		return lake.Errorf(lake.Invalid, "schema of %d bytes: want 1..%d", len(t.Schema), lake.MaxSchemaBytes)
	case len(t.raw) > maxTableRecord:
		return lake.Errorf(lake.Invalid, "schema of %d bytes makes a table record of %d bytes: at most %d fit", len(t.Schema), len(t.raw), maxTableRecord)
	}
	return nil
}

// Advance moves the table from exactly the given record to its next snapshot
// and records the append operations that are in it, at most [MaxGroup]. ops
// are the engine's. It is the commit point of an append.
//
// lake.Precondition when the table was dropped or recreated, lake.Conflict
// when it moved or one of the operations was committed already: read again,
// ask [Catalog.Replay] for each operation, stage on the new base and retry.
// lake.Fenced and lake.Undetermined as for Create.
func (c *Catalog) Advance(ctx context.Context, fence Fence, table Table, next lake.Snapshot, ops []metastore.Op, appends []Operation) (Table, error) {
	verb := "advance table " + table.Name.String()
	moved := table
	moved.Snapshot, moved.UpdatedAt = next, c.now()
	moved = moved.stored()
	if err := errors.Join(fence.check(), table.checkNext(next, appends), c.checkAges(appends)); err != nil {
		return Table{}, lake.Wrap(verb, err)
	}
	move := metastore.Update(tableKey(table.Name), table.raw, moved.raw)
	txn, proof := []metastore.Op{fence.Guard(table.Name), move}, move
	for _, a := range appends {
		proof = OperationRecord{
			Table: table.Name, Operation: a, Incarnation: next.Incarnation,
			Base: table.Snapshot.Version, Version: next.Version, CommittedAt: moved.UpdatedAt,
		}.createOp()
		txn = append(txn, proof)
	}
	// An operation record is the best proof: it stays when later versions have
	// replaced the table's.
	if err := c.commit(ctx, proof, append(txn, ops...)); err != nil {
		return Table{}, lake.Wrap(verb, c.advanceError(ctx, fence, table, move, err))
	}
	return moved, nil
}

// checkAges refuses operations that became too old while they waited: a twin may
// have been committed and forgotten meanwhile, and the absence of a record would
// prove nothing.
func (c *Catalog) checkAges(appends []Operation) error {
	for _, a := range appends {
		if err := c.checkAge(a.ID); err != nil {
			return err
		}
	}
	return nil
}

func (t Table) checkNext(next lake.Snapshot, appends []Operation) error {
	cur := t.Snapshot
	switch {
	case t.raw == nil:
		return lake.Errorf(lake.Invalid, "the table was not read from the catalog")
	case next.Incarnation != cur.Incarnation || next.Location != cur.Location || next.Engine != cur.Engine:
		return lake.Errorf(lake.Invalid, "the next snapshot is of another incarnation: %s at %q", next.Incarnation, next.Location)
	case next.Version != cur.Version+1:
		return lake.Errorf(lake.Invalid, "version %d after %d: versions are dense", next.Version, cur.Version)
	case len(appends) > MaxGroup:
		return lake.Errorf(lake.Invalid, "%d operations in one version: at most %d", len(appends), MaxGroup)
	}
	for _, a := range appends {
		if err := ValidateTenant(a.Tenant); err != nil {
			return err
		}
	}
	return nil
}

// advanceError says why an advance did not apply.
func (c *Catalog) advanceError(ctx context.Context, fence Fence, table Table, move metastore.Op, err error) error {
	if !isConflict(err) {
		return err
	}
	if fenced := c.fencedError(ctx, fence, table.Name); fenced != nil {
		return fenced
	}
	switch now, e := c.Get(ctx, table.Name); {
	case lake.Is(e, lake.NotFound):
		return lake.Errorf(lake.Precondition, "the table was dropped")
	case e == nil && now.Snapshot.Incarnation != table.Snapshot.Incarnation:
		return lake.Errorf(lake.Precondition, "the table was dropped and created again")
	}
	return err
}

// fencedError returns lake.Fenced when another leader has taken over.
func (c *Catalog) fencedError(ctx context.Context, fence Fence, name lake.TableName) error {
	if c.holds(ctx, fence.Guard(name)) {
		return nil
	}
	return lake.Errorf(lake.Fenced, "another leader took over from epoch %d", fence.epoch)
}

// changeRegistry commits a change of the set of tables: change on the table's
// own record, rest beside it, under the fence and with a new directory
// generation. proof is the operation whose value carries our nonce. When only
// the generation was in the way it tries again; any other failed expectation
// is returned as the conflict it is, or as lake.Fenced.
func (c *Catalog) changeRegistry(ctx context.Context, fence Fence, change, proof metastore.Op, rest []metastore.Op) error {
	if err := c.registry.lock(ctx); err != nil {
		return err
	}
	defer c.registry.unlock()
	guard := metastore.Guard(fenceKeyOf(change.Key), fence.raw)
	var err error
	for try := range registryTries {
		if try > 0 && !pause(ctx, firstCommitPause) {
			return err
		}
		generation, e := c.nextGeneration(ctx)
		if e != nil {
			return e
		}
		err = c.commit(ctx, proof, slices.Concat([]metastore.Op{guard, change, generation}, rest))
		if !isConflict(err) {
			return err
		}
		if !c.holds(ctx, guard) {
			return lake.Errorf(lake.Fenced, "another leader took over from epoch %d", fence.epoch)
		}
		if c.holds(ctx, generation) || !c.holds(ctx, change) {
			return err
		}
	}
	return err
}

// fenceKeyOf returns the stripe that guards the table under key.
func fenceKeyOf(key string) string {
	namespace, name, _ := strings.Cut(strings.TrimPrefix(key, tablePrefix), "/")
	return stripeKey(stripeOf(lake.TableName{Namespace: namespace, Name: name}))
}
