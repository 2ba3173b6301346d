// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

// SweepSchedule is the id of the schedule that starts ProcedureSweep.
const SweepSchedule = "procedure-sweep"

// SweepActivity is the sweep's one activity.
const SweepActivity = "ProcedureSweep.Sweep"

// SweepStep is the activity's argument.
type SweepStep struct {
	// Cursor is where the page set starts, empty for the beginning.
	Cursor string `json:"cursor,omitempty"`
}

// SweepResult counts what one sweep, or one page set of it, saw and did.
type SweepResult struct {
	// Cursor is where the next page set starts, empty at the end.
	Cursor string `json:"cursor,omitempty"`
	// Intents is the number of intents seen.
	Intents int64 `json:"intents"`
	// Live is the number of them that had an open workflow.
	Live int64 `json:"live"`
	// Started is the number of workflows started for those that had none.
	Started int64 `json:"started"`
	// Stopped is the number of drops that an operator cancelled.
	Stopped int64 `json:"stopped,omitempty"`
	// Failed is the number of starts that failed and are left to the next sweep.
	Failed int64 `json:"failed"`
	// Orphans is the number of open workflows whose intent was not seen. They
	// were told to look again; most had just ended.
	Orphans int64 `json:"orphans,omitempty"`
	// OldestSeconds is the age of the oldest intent that may already be carried
	// out, 0 when there is none. It grows when procedures are stuck.
	OldestSeconds int64 `json:"oldest_seconds"`
	// Declared is the number of tables that are being made, Abandoned of those
	// that were not in time and are given up, and Deleted of the objects that such
	// ones left.
	Declared  int64 `json:"declared,omitempty"`
	Abandoned int64 `json:"abandoned,omitempty"`
	Deleted   int64 `json:"deleted,omitempty"`
	// LastError is the last failure to start, if any.
	LastError string `json:"last_error,omitempty"`
	// Backlog counts the intents of one page set by their kinds.
	Backlog map[Kind]Backlog `json:"backlog,omitempty"`
}

// Backlog counts the intents of one kind.
type Backlog struct {
	// Due may be carried out now; OldestSeconds is how long the oldest might
	// have been.
	Due           int64 `json:"due"`
	OldestSeconds int64 `json:"oldest_seconds"`
	// Waiting are drops whose undrop window is open.
	Waiting int64 `json:"waiting,omitempty"`
	// Paused are held by an operator, AwaitApproval wait for one. Of a drop its
	// record tells, which a sweep does not read.
	Paused        int64 `json:"paused,omitempty"`
	AwaitApproval int64 `json:"await_approval,omitempty"`
}

// Add accumulates the counts of a later page set, but for the backlogs, which are
// for whoever sees the page set.
func (r *SweepResult) Add(page SweepResult) {
	r.Cursor = page.Cursor
	r.Intents += page.Intents
	r.Live += page.Live
	r.Started += page.Started
	r.Stopped += page.Stopped
	r.Failed += page.Failed
	r.Orphans += page.Orphans
	r.Declared += page.Declared
	r.Abandoned += page.Abandoned
	r.Deleted += page.Deleted
	r.OldestSeconds = max(r.OldestSeconds, page.OldestSeconds)
	if page.LastError != "" {
		r.LastError = page.LastError
	}
}
