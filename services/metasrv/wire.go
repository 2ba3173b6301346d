// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/workflows"
)

// tableName reads and validates a name from the wire.
func tableName(n *lakepb.TableName) (lake.TableName, error) {
	name := lake.TableName{Namespace: n.GetNamespace(), Name: n.GetName()}
	return name, name.Validate()
}

// tableMessage returns a table as the wire has it.
func tableMessage(t catalog.Table) *lakepb.Table {
	return &lakepb.Table{
		Name: &lakepb.TableName{Namespace: t.Name.Namespace, Name: t.Name.Name},
		Snapshot: &lakepb.Snapshot{
			Engine:      t.Snapshot.Engine,
			Location:    string(t.Snapshot.Location),
			Incarnation: t.Snapshot.Incarnation.String(),
			Version:     uint64(t.Snapshot.Version),
			Manifest: &lakepb.Manifest{
				Path: t.Snapshot.Manifest.Path, Size: t.Snapshot.Manifest.Size, Sha256: t.Snapshot.Manifest.SHA256[:],
			},
		},
		Schema:    t.Schema,
		CreatedAt: timestamp(t.CreatedAt),
		UpdatedAt: timestamp(t.UpdatedAt),
	}
}

// timestamp returns nil for the zero time.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

var procedureStates = map[catalog.ProcedureState]lakepb.ProcedureState{
	catalog.ProcedurePending:   lakepb.ProcedureState_PROCEDURE_STATE_PENDING,
	catalog.ProcedureRunning:   lakepb.ProcedureState_PROCEDURE_STATE_RUNNING,
	catalog.ProcedurePaused:    lakepb.ProcedureState_PROCEDURE_STATE_PAUSED,
	catalog.ProcedureCompleted: lakepb.ProcedureState_PROCEDURE_STATE_COMPLETED,
	catalog.ProcedureFailed:    lakepb.ProcedureState_PROCEDURE_STATE_FAILED,
	catalog.ProcedureCancelled: lakepb.ProcedureState_PROCEDURE_STATE_CANCELLED,
}

// procedureMessage returns a procedure as the wire has it.
func (s *Server) procedureMessage(p catalog.Procedure) *lakepb.Procedure {
	out := &lakepb.Procedure{
		Kind: p.Kind, Id: p.ID, State: procedureStates[p.Shown()], Phase: p.Phase,
		Counters: p.Counters, LastError: p.LastError, Epoch: p.Epoch,
		CreatedAt: timestamp(p.CreatedAt), UpdatedAt: timestamp(p.UpdatedAt),
		WorkflowId: p.WorkflowID(), UiUrl: s.opts.Starter.UIURL(p.WorkflowID()),
		Rate: p.Rate, Stopped: p.Stopped, Cancelling: p.Cancelling && !p.State.Terminal(),
	}
	if m := p.Progress; m.Of != "" && !p.State.Terminal() {
		out.Progress = &lakepb.ProcedureProgress{Of: m.Of, Total: m.Total, About: m.About, PerSecond: m.PerSecond}
		if eta, ok := p.ETA(); ok {
			out.Progress.Eta = timestamp(eta)
		}
	}
	if p.Table != "" {
		out.Table = &lakepb.TableName{Namespace: p.Namespace, Name: p.Table}
	}
	if a := p.Approval; a != nil {
		out.Approval = &lakepb.ProcedureApproval{By: a.By, At: timestamp(a.At), Acknowledgements: a.Acknowledgements}
	} else if workflows.Phase(p.Phase) == workflows.PhaseApproval && !p.State.Terminal() {
		manual, _ := workflows.ManualOf(workflows.Kind(p.Kind))
		out.AwaitedAcknowledgements = manual.Acknowledgements
	}
	return out
}
