// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"slices"

	"go.temporal.io/sdk/converter"

	"github.com/lakeplane/lake/lake"
)

// Manual is what operators may ask of the procedures of a kind.
type Manual struct {
	// Startable kinds are started by an operator; ID is the one there is.
	Startable bool
	ID        string
	// DryRunID is the id of a dry run, empty where there is none.
	DryRunID string
	// Rated kinds heed a bound of their items a second.
	Rated bool
	// Rollback says that a cancelled procedure has something in force that a
	// worker takes back, so that it does not end at once.
	Rollback bool
	// Acknowledgements are what an approval must confirm; nil where there is no
	// point of no return that needs one.
	Acknowledgements []string
}

// Acknowledgements of the procedures that change who may write.
const (
	// AckWriterRollout: every process that writes runs a release that knows what
	// is about to be in force.
	AckWriterRollout = "writer-rollout"
	// AckWriteQuiescence: writers of older releases have stopped and will not
	// come back.
	AckWriteQuiescence = "write-quiescence"
)

var manuals = map[Kind]Manual{
	DropTableKind:        {Rated: true},
	TableMaintenanceKind: {},
	CatalogFinalizeKind: {
		Startable: true, ID: CatalogFinalizeID, Rollback: true,
		Acknowledgements: []string{AckWriterRollout, AckWriteQuiescence},
	},
	OperationGCKind: {Startable: true, ID: OperationGCID, DryRunID: OperationGCDryRunRef().ID},
}

// ManualOf returns the manual of a kind; ok is false for an unknown one.
func ManualOf(kind Kind) (m Manual, ok bool) {
	m, ok = manuals[kind]
	return m, ok
}

// MaxPayload bounds an argument and a result of an activity, in bytes. A history
// holds two of them for each step, and Temporal refuses what is much larger again
// and again, so a page's contents never travel: they are behind a cursor.
const MaxPayload = 4 << 10

// CheckPayload refuses a value that is larger than [MaxPayload] once encoded.
func CheckPayload(what string, value any) error {
	payload, err := converter.GetDefaultDataConverter().ToPayload(value)
	if err != nil {
		return lake.Errorf(lake.Invalid, "%s cannot be encoded: %w", what, err)
	}
	if n := len(payload.GetData()); n > MaxPayload {
		return lake.Errorf(lake.Invalid, "%s has %d bytes: at most %d may travel; keep a cursor in the procedure's record instead", what, n, MaxPayload)
	}
	return nil
}

// OrderActivity records an operator's order that came by an update.
const OrderActivity = "Procedure.Order"

// OrderInput is the argument of the updates.
type OrderInput struct {
	// By is who asks, Reason why, for the audit.
	By     string `json:"by"`
	Reason string `json:"reason"`
	// Acknowledgements go with [ApproveUpdate], Rate with [RateUpdate].
	Acknowledgements []string `json:"acknowledgements,omitempty"`
	Rate             float64  `json:"rate,omitempty"`
}

// Check refuses an order that is not complete.
func (in OrderInput) Check() error {
	if in.By == "" || in.Reason == "" {
		return lake.Errorf(lake.Invalid, "the order needs \"by\" and \"reason\": who looks at the audit later will ask")
	}
	return nil
}

// OrderStep is the argument of [OrderActivity].
type OrderStep struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
	// Update is the update's name, or that of a signal, which is only noted.
	Update string     `json:"update"`
	Order  OrderInput `json:"order"`
}

// CheckAcknowledgements refuses an approval that does not confirm exactly what
// the kind asks for.
func CheckAcknowledgements(kind Kind, given []string) error {
	m := manuals[kind]
	if m.Acknowledgements == nil {
		return lake.Errorf(lake.Precondition, "%s procedures wait for no approval", kind)
	}
	for _, want := range m.Acknowledgements {
		if !slices.Contains(given, want) {
			return lake.Errorf(lake.Precondition, "the approval must acknowledge all of %v: %q is missing", m.Acknowledgements, want)
		}
	}
	for _, got := range given {
		if !slices.Contains(m.Acknowledgements, got) {
			return lake.Errorf(lake.Invalid, "unknown acknowledgement %q: want %v", got, m.Acknowledgements)
		}
	}
	return nil
}

// Leaves says what cancelling a procedure that stands in the phase leaves
// behind, and how to go on from there.
func Leaves(kind Kind, phase Phase) string {
	switch {
	case kind == DropTableKind && Undoable(phase):
		return "The tombstone and all objects of the table; nothing was deleted. `lake table undrop` brings the table back, `lake procedure retry` goes on with the drop."
	case kind == DropTableKind:
		return "The tombstone and the objects that were not deleted yet; what was deleted is gone. The table cannot be brought back; `lake procedure retry` goes on with the drop."
	case kind == TableMaintenanceKind:
		return "The versions that were committed; they are whole. A copy under way is thrown away. The planner or `lake table compact` begins another maintenance."
	case kind == OperationGCKind:
		return "The records that were not looked at yet. The schedule begins another run, `lake procedure retry` goes on with this one."
	case kind == CatalogFinalizeKind:
		return "Nothing: no record was changed. A worker ends the procedure; `lake procedure start catalog-finalize` begins again."
	case manuals[kind].Rollback:
		return "What was filled in so far, which nothing reads. A worker takes the barrier back before the procedure ends; nothing is in force then. `lake procedure start` begins again."
	}
	return "Nothing that is in force. `lake procedure retry` goes on with it."
}
