// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"strings"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
)

// ListProcedureEvents implements lakepb.ProceduresServer. Any member of the
// group answers. The audit outlives the record, so what is visible is decided by
// the id where the record is gone.
func (s *Server) ListProcedureEvents(ctx context.Context, req *lakepb.ListProcedureEventsRequest) (*lakepb.ListProcedureEventsResponse, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	kind, id := req.GetKind(), req.GetId()
	if kind == "" || id == "" || strings.Contains(kind, "/") {
		return nil, lake.Errorf(lake.Invalid, "procedure %q of kind %q: want a kind of one segment and an id", id, kind)
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	if namespace, _, ok := strings.Cut(id, "/"); !p.May(access.AllNamespaces) && (!ok || !p.May(namespace)) {
		return nil, lake.Errorf(lake.NotFound, "no procedure %q", kind+"/"+id)
	}
	page, next, err := s.catalog.Audit(ctx, kind, id, req.GetPageToken(), size)
	if err != nil {
		return nil, err
	}
	resp := &lakepb.ListProcedureEventsResponse{NextPageToken: next, Events: make([]*lakepb.ProcedureEvent, len(page))}
	for i, e := range page {
		resp.Events[i] = eventMessage(e)
	}
	return resp, nil
}

func eventMessage(e catalog.Entry) *lakepb.ProcedureEvent {
	return &lakepb.ProcedureEvent{
		Action: string(e.Action), At: timestamp(e.At), By: e.By, Via: e.Via, Reason: e.Reason,
		State: procedureStates[e.State], Phase: e.Phase, Rate: e.Rate, Acknowledgements: e.Acknowledgements,
	}
}
