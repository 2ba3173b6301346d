// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"strings"

	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/lake"
)

// TaskQueue is the one queue all procedures and their activities use.
const TaskQueue = "lake"

// Workflow types. They are registered under these names and no others, and
// never change: a running history refers to them.
const (
	DropTableWorkflow      = "DropTable"
	ProcedureSweepWorkflow = "ProcedureSweep"
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
	// RecheckSignal asks a waiting procedure to look at its intent again,
	// because it changed.
	RecheckSignal = "recheck"
)

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
	// ProcedureSweepKind has no records and is started by its schedule only.
	ProcedureSweepKind Kind = "procedure-sweep"
)

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
	if Kind(kind) != DropTableKind {
		return Ref{}, lake.Errorf(lake.Invalid, "procedure %q: want kind/id with the kind %s", s, DropTableKind)
	}
	if _, err := ParseDropTableID(id); err != nil {
		return Ref{}, err
	}
	return Ref{Kind: DropTableKind, ID: id}, nil
}
