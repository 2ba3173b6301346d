// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"time"

	"github.com/lakeplane/lake/lake"
)

// CatalogFinalizeID is the id of the one catalog finalization of a deployment.
const CatalogFinalizeID = "deployment"

// CatalogFinalizeRef addresses the catalog finalization.
func CatalogFinalizeRef() Ref { return Ref{Kind: CatalogFinalizeKind, ID: CatalogFinalizeID} }

func checkCatalogFinalizeID(id string) error {
	if id == CatalogFinalizeID {
		return nil
	}
	return lake.Errorf(lake.Invalid, "catalog-finalize id %q: want %q", id, CatalogFinalizeID)
}

// Phases of a migration, in order. Between PhaseVerifying and PhaseBarrier it
// waits in [PhaseApproval]; the last one is [PhasePublishing], in which the marker
// that makes the new form the one in force is committed.
const (
	// PhasePreflight: looking whether it may begin; nothing is changed.
	PhasePreflight Phase = "preflight"
	// PhaseBackfilling: what the new form needs is filled in, beside the old one.
	PhaseBackfilling Phase = "backfilling"
	// PhaseVerifying: both forms are compared while writers go on.
	PhaseVerifying Phase = "verifying"
	// PhaseBarrier: the barrier, which stops writers that do not know the new
	// form, is being installed.
	PhaseBarrier Phase = "barrier"
	// PhaseVerifyingAgain: both forms are compared behind the barrier.
	PhaseVerifyingAgain Phase = "verifying-again"
)

// Counters of a migration.
const (
	CountFilled   = "records_filled"
	CountVerified = "records_verified"
	CountWriters  = "writers_checked"
)

// AdvanceActivity is the name of the one activity of a migration's workflow type.
func AdvanceActivity(workflow string) string { return workflow + ".Advance" }

// MigrationInput starts a migration. The procedure's record holds how far it is.
type MigrationInput struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	// Carry is set when the workflow continues in a fresh history.
	Carry Carry `json:"carry,omitzero"`
}

// Ref is the procedure's address.
func (in MigrationInput) Ref() Ref { return Ref{Kind: in.Kind, ID: in.ID} }

// MigrationStep is the argument of a migration's activity.
type MigrationStep struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
}

// MigrationProgress is its result.
type MigrationProgress struct {
	Phase Phase `json:"phase"`
	// Over: it has ended; Cancelled says that an operator did that, and that
	// nothing of it is in force.
	Over      bool `json:"over,omitempty"`
	Cancelled bool `json:"cancelled,omitempty"`
	// Approve: nothing happens before somebody approves.
	Approve  bool       `json:"approve,omitempty"`
	Wait     *time.Time `json:"wait,omitempty"`
	Counters Counters   `json:"counters,omitempty"`
	Estimate *Estimate  `json:"estimate,omitempty"`
}

// MigrationResult is how a migration ended.
type MigrationResult struct {
	Cancelled bool     `json:"cancelled,omitempty"`
	Counters  Counters `json:"counters,omitempty"`
}
