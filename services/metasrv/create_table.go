// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"time"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
)

// CreateTable implements lakepb.CatalogServer. The name and the schema are
// checked before storage is touched, and the incarnation is declared; what a
// create that loses or dies has staged is swept.
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
	table, err := s.create(ctx, name, req.GetSchema(), p.Name)
	if err != nil {
		return nil, lake.Wrap("create table "+name.String(), err)
	}
	return tableMessage(table), nil
}

func (s *Server) create(ctx context.Context, name lake.TableName, wire []byte, by string) (catalog.Table, error) {
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
	declared, err := s.catalog.Declare(ctx, fence, catalog.Declaration{
		Name: name, Incarnation: lake.NewID(), By: by, Expires: time.Now().Add(createdFor),
	})
	if err != nil {
		return catalog.Table{}, err
	}
	staged, err := s.opts.Engine.Create(ctx, declared.Location(), declared.Incarnation, schema)
	if err != nil {
		s.sweep(declared)
		return catalog.Table{}, err
	}
	table, err := s.register(ctx, fence, declared, catalog.Table{Name: name, Snapshot: staged.Snapshot, Schema: wire}, staged)
	if err != nil {
		s.sweep(declared)
	}
	return table, err
}

// sweep deletes, in the background and as well as it can, what was staged for
// an incarnation whose create failed, unless it was registered after all. What it
// does not, the sweep of the procedures does.
func (s *Server) sweep(declared catalog.Declaration) {
	if s.opts.Sweep == nil {
		return
	}
	s.background(func(ctx context.Context) {
		declared, err := s.catalog.Abandon(ctx, declared)
		if lake.Is(err, lake.Conflict) {
			return // it is registered
		}
		if err == nil {
			err = s.opts.Sweep(ctx, declared.Location())
		}
		if err == nil {
			err = s.catalog.ForgetDeclaration(ctx, declared)
		}
		if err != nil {
			s.opts.Logger.Warn("metasrv: objects staged for a create that failed are left to the sweep", "location", declared.Location(), "error", err)
		}
	})
}
