// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"time"

	"github.com/lakeplane/lake/lake"
)

// DropTableInput starts the drop of one incarnation. It is only an address:
// the tombstone holds what must happen.
type DropTableInput struct {
	Namespace   string           `json:"namespace"`
	Name        string           `json:"name"`
	Incarnation lake.Incarnation `json:"incarnation"`
	// Carry is set when the workflow continues in a fresh history.
	Carry Carry `json:"carry,omitzero"`
}

// Table is the table's name.
func (in DropTableInput) Table() lake.TableName {
	return lake.TableName{Namespace: in.Namespace, Name: in.Name}
}

// Ref is the procedure's address.
func (in DropTableInput) Ref() Ref { return DropTableRef(in.Table(), in.Incarnation) }

// DropTableRef addresses the drop of one incarnation of a table.
func DropTableRef(table lake.TableName, inc lake.Incarnation) Ref {
	return Ref{Kind: DropTableKind, ID: table.Path() + "/" + inc.String()}
}

// ParseDropTableID reads the id that [DropTableRef] wrote.
func ParseDropTableID(id string) (DropTableInput, error) {
	table, inc, err := parseIncarnationID(DropTableKind, id)
	return DropTableInput{Namespace: table.Namespace, Name: table.Name, Incarnation: inc}, err
}

// DropTableResult is how a drop ended.
type DropTableResult struct {
	// Undone: the tombstone was taken away, by an undrop, before the point of
	// no return. Nothing was deleted.
	Undone bool `json:"undone,omitempty"`
	// Stopped: an operator cancelled the drop. The tombstone and what was not
	// deleted yet are left behind.
	Stopped  bool     `json:"stopped,omitempty"`
	Counters Counters `json:"counters,omitempty"`
}

// Phases of a drop.
const (
	// PhaseWaiting: the undrop window is open; nothing was deleted.
	PhaseWaiting Phase = "waiting"
	// PhaseObjects: deleting the objects under the table's location.
	PhaseObjects Phase = "deleting-objects"
	// PhaseHistory: deleting the manifest history.
	PhaseHistory Phase = "clearing-history"
	// PhaseFinishing: verifying that nothing is left, deleting the tombstone.
	PhaseFinishing Phase = "finishing"
)

// Undoable reports whether a drop whose record is in the phase can be taken
// back: it has not passed its point of no return. A record that no worker has
// touched has no phase yet.
func Undoable(phase Phase) bool { return phase == "" || phase == PhaseWaiting }

// Counters of a drop.
const (
	CountObjects = "objects_deleted"
	CountBytes   = "bytes_deleted"
	CountHistory = "history_rows_deleted"
)

// Activity names of a drop, in the order they run.
const (
	DropBegin         = "DropTable.Begin"
	DropDeleteObjects = "DropTable.DeleteObjects"
	DropClearHistory  = "DropTable.ClearHistory"
	DropFinish        = "DropTable.Finish"
)

// DropStep is the argument of every activity of a drop.
type DropStep struct {
	Namespace   string           `json:"namespace"`
	Name        string           `json:"name"`
	Incarnation lake.Incarnation `json:"incarnation"`
	// Quick bounds the activity to a second or two: enough for a small table, and
	// short enough for the class of short activities.
	Quick bool `json:"quick,omitempty"`
}

// Step is the argument for the input's table.
func (in DropTableInput) Step() DropStep {
	return DropStep{Namespace: in.Namespace, Name: in.Name, Incarnation: in.Incarnation}
}

// Table is the table's name.
func (s DropStep) Table() lake.TableName {
	return lake.TableName{Namespace: s.Namespace, Name: s.Name}
}

// Ref is the procedure's address.
func (s DropStep) Ref() Ref { return DropTableRef(s.Table(), s.Incarnation) }

// DropProgress is the result of every activity of a drop.
type DropProgress struct {
	// Over: the tombstone is gone and the record final; Undone says whether the
	// table was undropped or the drop had been finished before.
	Over   bool `json:"over,omitempty"`
	Undone bool `json:"undone,omitempty"`
	// Stopped: an operator cancelled the drop.
	Stopped bool `json:"stopped,omitempty"`
	// Wait: nothing may happen before this moment.
	Wait *time.Time `json:"wait,omitempty"`
	// Phase is where a quick [DropBegin] left off, past the point of no return.
	// Empty is the beginning of [PhaseObjects].
	Phase Phase `json:"phase,omitempty"`
	// Done: the step has nothing left to do. Otherwise run it again.
	Done bool `json:"done,omitempty"`
	// Again: something was found that an earlier step should have removed; go
	// back to deleting objects.
	Again    bool      `json:"again,omitempty"`
	Counters Counters  `json:"counters,omitempty"`
	Estimate *Estimate `json:"estimate,omitempty"`
}
