// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

import "time"

// Phase is where a procedure stands, in a word an operator understands.
type Phase string

// Phases that any procedure can be in; each has its own besides.
const (
	// PhasePaused: held by an operator before its next step.
	PhasePaused Phase = "paused"
	// PhaseBlocked: a step failed for good or too often; it is tried again
	// after a while, or at once on resume.
	PhaseBlocked Phase = "blocked"
	// PhaseApproval: everything so far is verified, and an operator must approve
	// what cannot be taken back.
	PhaseApproval Phase = "awaiting-approval"
	// PhaseDone: nothing is left to do.
	PhaseDone Phase = "done"
)

// Counters are the running totals of a procedure, by name, such as
// "objects_deleted". They never go down within one intent.
type Counters map[string]int64

// Estimate is how far a phase is and when it may end, as the procedure's record
// has it.
type Estimate struct {
	// Of names the counter that the phase moves.
	Of string `json:"of"`
	// Total is what the counter will be at the end of the phase, 0 while that is
	// unknown; About says that it was guessed from what was there before.
	Total int64 `json:"total,omitempty"`
	About bool  `json:"about,omitempty"`
	// PerSecond is the counter's rate of the last half minute or so.
	PerSecond float64 `json:"per_second,omitempty"`
	// End is when the phase ends at this rate, nil when nobody can tell.
	End *time.Time `json:"end,omitempty"`
}

// Status answers [StatusQuery]. It stays under 4 KiB.
type Status struct {
	Procedure Kind   `json:"procedure"`
	ID        string `json:"id"`
	Phase     Phase  `json:"phase"`
	// Note says in one line what the phase is doing or waiting for.
	Note     string    `json:"note,omitempty"`
	Started  time.Time `json:"started"`
	Updated  time.Time `json:"updated"`
	Counters Counters  `json:"counters,omitempty"`
	// PerSecond is the rate of each counter over the last step that moved it.
	PerSecond map[string]float64 `json:"per_second,omitempty"`
	// Estimate is how far the phase is, nil where that cannot be told.
	Estimate *Estimate `json:"estimate,omitempty"`
	// WaitingUntil is set while the procedure waits for a moment.
	WaitingUntil *time.Time `json:"waiting_until,omitempty"`
	Paused       bool       `json:"paused"`
	// LastError is the last failure that ended a step, and LastErrorAt when.
	// They stay after a later success.
	LastError   string     `json:"last_error,omitempty"`
	LastErrorAt *time.Time `json:"last_error_at,omitempty"`
	// Runs counts how often the procedure continued in a fresh history.
	Runs int `json:"runs"`
}

// Carry is what a procedure takes along when it continues in a fresh history.
type Carry struct {
	Runs        int        `json:"runs,omitempty"`
	Paused      bool       `json:"paused,omitempty"`
	Started     *time.Time `json:"started,omitempty"`
	LastError   string     `json:"last_error,omitempty"`
	LastErrorAt *time.Time `json:"last_error_at,omitempty"`
}
