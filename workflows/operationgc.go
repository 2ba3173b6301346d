// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

import "github.com/lakeplane/lake/lake"

// OperationGCID is the id of the one operation GC of a deployment.
const OperationGCID = "deployment"

// OperationGCRef addresses the operation GC.
func OperationGCRef() Ref { return Ref{Kind: OperationGCKind, ID: OperationGCID} }

// OperationGCDryRunRef addresses a dry run, which has no record.
func OperationGCDryRunRef() Ref { return Ref{Kind: OperationGCKind, ID: "dry-run"} }

// checkOperationGCID refuses any other id than those above.
func checkOperationGCID(id string) error {
	if id == OperationGCID || id == OperationGCDryRunRef().ID {
		return nil
	}
	return lake.Errorf(lake.Invalid, "operation-gc id %q: want %q or %q", id, OperationGCID, OperationGCDryRunRef().ID)
}

// OperationGCInput starts the operation GC.
type OperationGCInput struct {
	// DryRun counts what would be forgotten and changes nothing.
	DryRun bool `json:"dry_run,omitempty"`
	// Step is where a dry run continues in a fresh history.
	Step OperationGCStep `json:"step,omitzero"`
	// Carry is set when the workflow continues in a fresh history.
	Carry Carry `json:"carry,omitzero"`
}

// Ref is the procedure's address.
func (in OperationGCInput) Ref() Ref {
	if in.DryRun {
		return OperationGCDryRunRef()
	}
	return OperationGCRef()
}

// Activity names of the operation GC.
const (
	// OperationGCForget forgets a set of pages and moves the record's cursor.
	OperationGCForget = "OperationGC.Forget"
	// OperationGCCount counts a set of pages; its cursor is in its argument.
	OperationGCCount = "OperationGC.Count"
	// OperationGCPlan records the intent and starts the procedure.
	OperationGCPlan = "OperationGC.Plan"
)

// PhaseForgetting is the one phase of an operation GC.
const PhaseForgetting Phase = "forgetting"

// Counters of an operation GC.
const (
	CountOperationsSeen    = "operations_seen"
	CountOperationsRemoved = "operations_removed"
)

// OperationGCStep is the argument of the activities of an operation GC. A dry
// run carries its cursor and counters here; a real one has them in its record.
type OperationGCStep struct {
	Cursor   string   `json:"cursor,omitempty"`
	Counters Counters `json:"counters,omitempty"`
}

// OperationGCProgress is the result of an activity of an operation GC.
type OperationGCProgress struct {
	// Over: the last page was seen.
	Over bool `json:"over,omitempty"`
	// Cursor is where a dry run goes on.
	Cursor   string   `json:"cursor,omitempty"`
	Counters Counters `json:"counters,omitempty"`
	// Estimate is of the record; a dry run without one has none.
	Estimate *Estimate `json:"estimate,omitempty"`
	// Removed is how many records this activity removed.
	Removed int64 `json:"removed,omitempty"`
}

// OperationGCResult is what an operation GC did, or a dry run would do.
type OperationGCResult struct {
	Counters Counters `json:"counters,omitempty"`
}
