// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

// Ids of the schedules that start ProcedurePlan, one for each kind.
const (
	OperationGCSchedule      = "operation-gc"
	TableMaintenanceSchedule = "table-maintenance"
)

// PlanActivities names the activity that plans a kind.
var PlanActivities = map[Kind]string{
	OperationGCKind:      OperationGCPlan,
	TableMaintenanceKind: MaintenancePlan,
}

// PlanInput starts ProcedurePlan.
type PlanInput struct {
	// Kind is what is planned, a key of [PlanActivities].
	Kind Kind `json:"kind"`
}

// PlanStep is the argument of a planning activity.
type PlanStep struct {
	// Cursor is where the page set starts, empty for the beginning.
	Cursor string `json:"cursor,omitempty"`
	// Intended is how many intents earlier page sets of the run recorded.
	Intended int64 `json:"intended,omitempty"`
}

// PlanResult counts what one run of a planner, or one page set, saw and did.
type PlanResult struct {
	// Cursor is where the next page set starts, empty at the end.
	Cursor string `json:"cursor,omitempty"`
	// Looked is the number of things that might need work.
	Looked int64 `json:"looked"`
	// Intended is the number of intents recorded, Started of workflows started.
	Intended int64 `json:"intended"`
	Started  int64 `json:"started"`
	// Failed is the number of things that could not be looked at or started;
	// what has an intent is left to the sweep, the rest to the next run.
	Failed int64 `json:"failed"`
	// Forgotten is the number of records of ended procedures that were removed.
	Forgotten int64 `json:"forgotten,omitempty"`
	// LastError is the last failure, if any.
	LastError string `json:"last_error,omitempty"`
}

// Add accumulates the counts of a later page set.
func (r *PlanResult) Add(page PlanResult) {
	r.Cursor = page.Cursor
	r.Looked += page.Looked
	r.Intended += page.Intended
	r.Started += page.Started
	r.Failed += page.Failed
	r.Forgotten += page.Forgotten
	if page.LastError != "" {
		r.LastError = page.LastError
	}
}
