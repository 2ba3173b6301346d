// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"slices"
	"strings"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/workflows"
)

// StartProcedure implements lakepb.ProceduresServer. It is for those who may see
// every namespace, since what it starts works on the whole deployment. Any
// member of the group answers.
func (s *Server) StartProcedure(ctx context.Context, req *lakepb.StartProcedureRequest) (*lakepb.StartProcedureResponse, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	if !p.May(access.AllNamespaces) {
		return nil, lake.Errorf(lake.Denied, "procedures of the whole deployment are for principals with every namespace")
	}
	ref, err := startable(req)
	if err != nil {
		return nil, err
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.working.Done()
	record, opened, err := s.catalog.StartProcedure(ctx, catalog.Procedure{Kind: string(ref.Kind), ID: ref.ID}, p.Name, p.Via, strings.TrimSpace(req.GetReason()))
	if err != nil {
		return nil, err
	}
	if err := s.opts.Starter.Start(ctx, string(ref.Kind), ref.ID); err != nil {
		s.opts.Logger.Warn("metasrv: a procedure was not started; the sweep will", "procedure", ref.String(), "error", err)
	}
	return &lakepb.StartProcedureResponse{Procedure: s.procedureMessage(record), Shared: !opened}, nil
}

// startable returns what a request starts.
func startable(req *lakepb.StartProcedureRequest) (workflows.Ref, error) {
	kind := workflows.Kind(req.GetKind())
	manual, _ := workflows.ManualOf(kind)
	ref := workflows.Ref{Kind: kind, ID: manual.ID}
	switch {
	case !manual.Startable:
		return ref, lake.Errorf(lake.Invalid, "kind %q: want one of %v; drops and maintenances are started by their tables", kind, startableKinds())
	case req.GetDryRun() && manual.DryRunID == "":
		return ref, lake.Errorf(lake.Unsupported, "%s has no dry run", kind)
	case req.GetDryRun():
		ref.ID = manual.DryRunID
	}
	return ref, nil
}

func startableKinds() []workflows.Kind {
	return slices.DeleteFunc(slices.Clone(workflows.Kinds), func(k workflows.Kind) bool {
		m, _ := workflows.ManualOf(k)
		return !m.Startable
	})
}
