// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Reclaimed says how far the old versions of a table have been given up.
type Reclaimed struct {
	// Floor is the version up to which, itself included, versions are given up,
	// except for those that a tag keeps. 0 means none.
	Floor lake.Version `json:"floor"`
	// At is when the last clean-up began, and Head the version it found.
	At   time.Time    `json:"at"`
	Head lake.Version `json:"head"`
}

// ReclaimOp returns the operation that gives up versions of the table up to
// floor, and the table as it leaves it. It belongs to a commit that replaces by,
// the record of the table's open maintenance ([Catalog.CommitProcedure]), and
// comes before anything is deleted.
//
// The operation replaces the table's record even when the floor stays. That is
// what makes deleting safe whatever the clocks of writers say: a version that was
// staged before it expects the record as it was, and can never be committed. One
// that is staged after it finds in time that its data are too old, or missing.
func (c *Catalog) ReclaimOp(by Procedure, table Table, floor lake.Version) (Table, metastore.Op, error) {
	verb := "reclaim versions of table " + table.Name.String()
	if err := by.maintains(table); err != nil {
		return Table{}, metastore.Op{}, lake.Wrap(verb, err)
	}
	if floor >= table.Snapshot.Version || floor < table.Reclaimed.Floor || table.raw == nil {
		return Table{}, metastore.Op{}, lake.Errorf(lake.Invalid, "%s: floor %d: want one from %d on, below the current version %d",
			verb, floor, table.Reclaimed.Floor, table.Snapshot.Version)
	}
	moved := table
	moved.Reclaimed = Reclaimed{Floor: floor, At: c.now(), Head: table.Snapshot.Version}
	moved = moved.stored()
	return moved, metastore.Update(tableKey(table.Name), table.raw, moved.raw), nil
}

// maintains refuses a procedure that is not the claimed maintenance of the
// table's incarnation.
func (p Procedure) maintains(table Table) error {
	switch {
	case p.raw == nil || p.Kind != MaintenanceKind || p.ID != MaintenanceID(table.Name, table.Snapshot.Incarnation):
		return lake.Errorf(lake.Invalid, "procedure %s is not the maintenance of its incarnation %s", p.WorkflowID(), table.Snapshot.Incarnation)
	case p.State != ProcedureRunning:
		return lake.Errorf(lake.Invalid, "procedure %s is %s and not claimed", p.WorkflowID(), p.State)
	}
	return nil
}
