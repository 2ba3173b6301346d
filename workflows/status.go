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
