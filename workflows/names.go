// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/lake"
)

// Class says how long an activity keeps its worker's place. Each class has a queue
// and places of its own, so that short ones never wait behind long ones.
type Class string

// The classes.
const (
	// ShortClass are all workflows, and the activities that take a few commits or
	// seconds: first pages, verifications, plans, sweeps, orders.
	ShortClass Class = "short"
	// BulkClass are the activities that copy or delete for as long as their budget
	// lets them, such as the later pages of a large drop, and compactions.
	BulkClass Class = "bulk"
)

// Classes are all classes.
var Classes = []Class{ShortClass, BulkClass}

// Queues of the classes. Workers take every activity from both, since workflows of
// releases before there were classes have all of theirs in [TaskQueue].
const (
	TaskQueue     = "lake"
	BulkTaskQueue = "lake-bulk"
)

// Queue is the queue of the class.
func (c Class) Queue() string {
	if c == BulkClass {
		return BulkTaskQueue
	}
	return TaskQueue
}

// Workflow types. They are registered under these names and no others, and
// never change: a running history refers to them.
const (
	DropTableWorkflow        = "DropTable"
	ProcedureSweepWorkflow   = "ProcedureSweep"
	ProcedurePlanWorkflow    = "ProcedurePlan"
	OperationGCWorkflow      = "OperationGC"
	TableMaintenanceWorkflow = "TableMaintenance"
	CatalogFinalizeWorkflow  = "CatalogFinalize"
)

// Queries and signals that every procedure answers.
const (
	// StatusQuery returns a [Status].
	StatusQuery = "status"
	// PauseSignal holds the procedure before its next step. The step under way
	// ends first.
	PauseSignal = "pause"
	// ResumeSignal ends a pause, and ends the wait after a failure early.
	ResumeSignal = "resume"
	// ApproveUpdate takes an [OrderInput] with the acknowledgements that the
	// kind's [Manual] names, and RateUpdate one with a rate. Both refuse what is
	// not complete, and record the order as `lake procedure` does.
	ApproveUpdate = "approve"
	RateUpdate    = "set-rate"
	// RecheckSignal asks a waiting procedure to look at its intent again,
	// because it changed.
	RecheckSignal = "recheck"
)

// SignalInput goes with [PauseSignal] and [ResumeSignal]. Who sends one from
// Temporal's own UI may leave it out, or name themselves.
type SignalInput struct {
	// Recorded: the order is in the procedure's record and in its audit already.
	// Without, the workflow writes the signal into the audit.
	Recorded bool `json:"recorded,omitempty"`
	// By and Reason are for the audit.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// HeldFailure is the type of the failure of an activity that found its procedure
// held by an operator's order in the record.
const HeldFailure = "held"

// Search attributes set by every procedure. They hold names only.
var (
	AttributeProcedure = temporal.NewSearchAttributeKeyKeyword("LakeProcedure")
	AttributePhase     = temporal.NewSearchAttributeKeyKeyword("LakePhase")
	AttributeNamespace = temporal.NewSearchAttributeKeyKeyword("LakeNamespace")
	AttributeTable     = temporal.NewSearchAttributeKeyKeyword("LakeTable")
)

// Kind names a sort of procedure; it is the first part of ids and keys.
type Kind string

// The kinds.
const (
	DropTableKind Kind = "drop-table"
	// OperationGCKind forgets operations that are too old to be repeated.
	OperationGCKind Kind = "operation-gc"
	// TableMaintenanceKind compacts a table.
	TableMaintenanceKind Kind = "table-maintenance"
	// CatalogFinalizeKind makes the directory of an older deployment
	// authoritative.
	CatalogFinalizeKind Kind = "catalog-finalize"
	// ProcedureSweepKind and ProcedurePlanKind have no records and are started
	// by their schedules only.
	ProcedureSweepKind Kind = "procedure-sweep"
	ProcedurePlanKind  Kind = "procedure-plan"
)

// Kinds are the kinds of procedures that have records and can be started.
var Kinds = []Kind{DropTableKind, OperationGCKind, TableMaintenanceKind, CatalogFinalizeKind}

// Ref addresses one procedure. Its text, "kind/id", is both the operation id
// handed to callers and the Temporal workflow id; "procedure/" before it makes
// the metastore key of the procedure's record.
type Ref struct {
	Kind Kind
	// ID is what the procedure works on, with its incarnation, so that two
	// tables that carried one name never share a procedure.
	ID string
}

// String returns "kind/id".
func (r Ref) String() string { return string(r.Kind) + "/" + r.ID }

// ParseRef reads what [Ref.String] wrote. Unknown kinds are lake.Invalid.
func ParseRef(s string) (Ref, error) {
	kind, id, _ := strings.Cut(s, "/")
	var err error
	switch Kind(kind) {
	case DropTableKind:
		_, err = ParseDropTableID(id)
	case TableMaintenanceKind:
		_, err = ParseTableMaintenanceID(id)
	case OperationGCKind:
		err = checkOperationGCID(id)
	case CatalogFinalizeKind:
		err = checkCatalogFinalizeID(id)
	default:
		err = lake.Errorf(lake.Invalid, "procedure %q: want kind/id with a kind of %v", s, Kinds)
	}
	if err != nil {
		return Ref{}, err
	}
	return Ref{Kind: Kind(kind), ID: id}, nil
}

// parseIncarnationID reads the id of what works on one incarnation of a table.
func parseIncarnationID(kind Kind, id string) (lake.TableName, lake.Incarnation, error) {
	refuse := func(why error) (lake.TableName, lake.Incarnation, error) {
		return lake.TableName{}, lake.Incarnation{}, lake.Errorf(lake.Invalid, "%s id %q: want namespace/name/incarnation: %w", kind, id, why)
	}
	parts := strings.Split(id, "/")
	if len(parts) != 3 {
		return refuse(lake.Errorf(lake.Invalid, "%d parts", len(parts)))
	}
	table := lake.TableName{Namespace: parts[0], Name: parts[1]}
	if err := table.Validate(); err != nil {
		return refuse(err)
	}
	inc, err := lake.ParseID(parts[2])
	if err != nil {
		return refuse(err)
	}
	return table, inc, nil
}
