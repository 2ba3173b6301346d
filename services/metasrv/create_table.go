// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
)

// CreateTable implements lakepb.CatalogServer. The name and the schema are
// checked before storage is touched; a create that loses leaves nothing but
// staged objects, which are swept.
func (s *Server) CreateTable(ctx context.Context, req *lakepb.CreateTableRequest) (*lakepb.Table, error) {
	p, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	name, err := tableName(req.GetName())
	if err != nil {
		return nil, err
	}
	if !p.May(name.Namespace) {
		return nil, lake.Errorf(lake.Denied, "namespace %s is not granted to %s", name.Namespace, p.Name)
	}
	if leader, err := s.elsewhere(ctx, p); leader != nil || err != nil {
		return forwarded(s, leader, err, func(to *peer) (*lakepb.Table, error) { return to.catalog.CreateTable(to.ctx, req) })
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.working.Done()
	table, err := s.create(ctx, name, req.GetSchema())
	if err != nil {
		return nil, lake.Wrap("create table "+name.String(), err)
	}
	return tableMessage(table), nil
}

func (s *Server) create(ctx context.Context, name lake.TableName, wire []byte) (catalog.Table, error) {
	schema, err := readSchema(wire)
	if err != nil {
		return catalog.Table{}, err
	}
	if err := s.opts.Engine.CheckSchema(schema); err != nil {
		return catalog.Table{}, err
	}
	fence, err := s.leader.fence(ctx)
	if err != nil {
		return catalog.Table{}, err
	}
	switch _, err := s.catalog.Get(ctx, name); {
	case err == nil:
		return catalog.Table{}, lake.Errorf(lake.AlreadyExists, "a table of that name exists")
	case !lake.Is(err, lake.NotFound):
		return catalog.Table{}, err
	}
	inc := lake.NewID()
	loc := lake.Place(name, inc)
	staged, err := s.opts.Engine.Create(ctx, loc, inc, schema)
	if err != nil {
		s.sweep(loc)
		return catalog.Table{}, err
	}
	defer s.tables.forget(name)
	seen := wall()
	table, err := s.catalog.Create(ctx, fence, catalog.Table{Name: name, Snapshot: staged.Snapshot, Schema: wire}, staged.Ops)
	if err != nil {
		if !lake.Is(err, lake.Undetermined) && !lake.Is(err, lake.Unknown) {
			s.sweep(loc)
		}
		return catalog.Table{}, err
	}
	return table, s.publish(context.WithoutCancel(ctx), table, seen)
}

// sweep deletes, in the background and as well as it can, what was staged for
// an incarnation that certainly was not registered.
func (s *Server) sweep(loc lake.Location) {
	if s.opts.Sweep == nil {
		return
	}
	s.background(func(ctx context.Context) {
		if err := s.opts.Sweep(ctx, loc); err != nil {
			s.opts.Logger.Warn("metasrv: objects staged for a create that failed are left behind", "location", loc, "error", err)
		}
	})
}
