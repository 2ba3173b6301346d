// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"time"

	"github.com/lakeplane/lake/lake"
)

// TableMaintenanceInput starts the maintenance of one incarnation. It is only
// an address: the procedure's record holds what must happen.
type TableMaintenanceInput struct {
	Namespace   string           `json:"namespace"`
	Name        string           `json:"name"`
	Incarnation lake.Incarnation `json:"incarnation"`
	// Carry is set when the workflow continues in a fresh history.
	Carry Carry `json:"carry,omitzero"`
}

// Table is the table's name.
func (in TableMaintenanceInput) Table() lake.TableName {
	return lake.TableName{Namespace: in.Namespace, Name: in.Name}
}

// Ref is the procedure's address.
func (in TableMaintenanceInput) Ref() Ref {
	return TableMaintenanceRef(in.Table(), in.Incarnation)
}

// Step is the argument for the input's table.
func (in TableMaintenanceInput) Step() MaintenanceStep {
	return MaintenanceStep{Namespace: in.Namespace, Name: in.Name, Incarnation: in.Incarnation}
}

// TableMaintenanceRef addresses the maintenance of one incarnation of a table.
func TableMaintenanceRef(table lake.TableName, inc lake.Incarnation) Ref {
	return Ref{Kind: TableMaintenanceKind, ID: table.Path() + "/" + inc.String()}
}

// ParseTableMaintenanceID reads the id that [TableMaintenanceRef] wrote.
func ParseTableMaintenanceID(id string) (TableMaintenanceInput, error) {
	table, inc, err := parseIncarnationID(TableMaintenanceKind, id)
	return TableMaintenanceInput{Namespace: table.Namespace, Name: table.Name, Incarnation: inc}, err
}

// Phases of a maintenance.
const (
	// PhaseCompacting: small pieces of data are being joined.
	PhaseCompacting Phase = "compacting"
	// PhasePublishing: a version is committed and gets its final name.
	PhasePublishing Phase = "publishing"
	// PhaseReclaiming: objects that no version needs are being deleted.
	PhaseReclaiming Phase = "reclaiming"
	// PhaseRecords: the records of versions that are gone are being removed.
	PhaseRecords Phase = "removing-records"
)

// Counters of a maintenance.
const (
	// CountVersions are the versions made.
	CountVersions = "versions_committed"
	// CountPartsBefore and CountPartsAfter are the pieces of data that were
	// joined, and what they were joined to.
	CountPartsBefore = "parts_joined"
	CountPartsAfter  = "parts_written"
	// CountStagedAgain is how often an append was faster and the version was
	// staged again on it.
	CountStagedAgain = "staged_again"
	// CountRefused is 1 when the table cannot be compacted.
	CountRefused = "compaction_refused"
	// CountGivenUp are the versions that were given up, tagged ones among them.
	CountGivenUp = "versions_given_up"
	// CountManifests are the manifests, staged ones too, that were deleted; they
	// are among the [CountObjects].
	CountManifests = "manifests_deleted"
)

// Activity names of a maintenance.
const (
	// MaintenanceCompact compacts once, commits and publishes.
	MaintenanceCompact = "TableMaintenance.Compact"
	// MaintenanceReclaim deletes what no version needs any more.
	MaintenanceReclaim = "TableMaintenance.Reclaim"
	// MaintenancePlan looks over the tables and starts what is worth while.
	MaintenancePlan = "TableMaintenance.Plan"
)

// MaintenanceStep is the argument of the activity of a maintenance.
type MaintenanceStep struct {
	Namespace   string           `json:"namespace"`
	Name        string           `json:"name"`
	Incarnation lake.Incarnation `json:"incarnation"`
}

// Table is the table's name.
func (s MaintenanceStep) Table() lake.TableName {
	return lake.TableName{Namespace: s.Namespace, Name: s.Name}
}

// Ref is the procedure's address.
func (s MaintenanceStep) Ref() Ref { return TableMaintenanceRef(s.Table(), s.Incarnation) }

// MaintenanceProgress is the result of the activity of a maintenance.
type MaintenanceProgress struct {
	// Over: nothing is left that is worth while, or the table is gone.
	Over bool `json:"over,omitempty"`
	// Gone: the table was dropped.
	Gone bool `json:"gone,omitempty"`
	// Stopped: an operator cancelled the maintenance.
	Stopped bool `json:"stopped,omitempty"`
	// Wait: every place for a compaction is taken; ask again then.
	Wait     *time.Time `json:"wait,omitempty"`
	Counters Counters   `json:"counters,omitempty"`
	Estimate *Estimate  `json:"estimate,omitempty"`
	// Joined is how many pieces of data this activity joined.
	Joined int64 `json:"joined,omitempty"`
}

// TableMaintenanceResult is how a maintenance ended.
type TableMaintenanceResult struct {
	// Gone: the table was dropped meanwhile.
	Gone bool `json:"gone,omitempty"`
	// Stopped: an operator cancelled the maintenance. The versions that were
	// committed are whole.
	Stopped  bool     `json:"stopped,omitempty"`
	Counters Counters `json:"counters,omitempty"`
}
