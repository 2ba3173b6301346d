// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/retention"
)

// DeclaredFor is how long another writer has to commit the first version of a
// table it has declared. It may write all of a large table in that time.
const DeclaredFor = time.Hour

// createdFor is how long a create of our own has, which writes one small object
// and is never repeated.
const createdFor = retention.StagedFor

// lead begins an operation that only the leader does for a caller that cannot be
// passed on to it, and returns what ends it.
func (s *Server) lead(ctx context.Context) (catalog.Fence, func(), error) {
	if err := s.begin(); err != nil {
		return catalog.Fence{}, nil, err
	}
	fence, err := s.leader.fence(ctx)
	if leader, known := s.election.Leader(); lake.Is(err, lake.Unavailable) && known && leader.Holder != s.election.Holder() {
		err = lake.Errorf(lake.Unavailable, "this member does not lead, and versions of other writers are not passed on: write at the member whose address is %s", leader.Address)
	}
	if err != nil {
		s.working.Done()
		return catalog.Fence{}, nil, err
	}
	return fence, s.working.Done, nil
}

// Declare reserves a name, for [DeclaredFor], for a table whose first version
// another writer makes, and says where its objects go. Until [Server.AdoptFirst]
// nobody sees the table. The caller has checked that the principal may write to
// the namespace.
//
// lake.AlreadyExists when a table has the name, lake.Conflict when another is
// being made. lake.Unavailable: this member does not lead.
func (s *Server) Declare(ctx context.Context, name lake.TableName, by string) (catalog.Declaration, error) {
	verb := "declare table " + name.String()
	if _, ok := s.opts.Engine.(engine.Adopter); !ok {
		return catalog.Declaration{}, lake.Errorf(lake.Unsupported, "%s: the storage engine %q takes no versions of others", verb, s.opts.Engine.Name())
	}
	fence, done, err := s.lead(ctx)
	if err != nil {
		return catalog.Declaration{}, lake.Wrap(verb, err)
	}
	defer done()
	d := catalog.Declaration{Name: name, Incarnation: lake.NewID(), By: by, Reserves: true, Expires: time.Now().Add(DeclaredFor)}
	return s.catalog.Declare(ctx, fence, d)
}

// AdoptFirst registers a declared incarnation with the first version that
// another writer has staged for it, and returns the table. The caller has checked
// that the principal may write to the namespace.
//
// lake.AlreadyExists: a table has the name, made by another. lake.Precondition:
// the incarnation is not declared, or was given up. lake.Invalid and
// lake.Unsupported: the version is not taken, and the declaration is given up: a
// client does not try another one, and its next attempt declares anew. A proposal
// that was taken before succeeds again while the table has no other version.
func (s *Server) AdoptFirst(ctx context.Context, name lake.TableName, inc lake.Incarnation, p engine.Proposal) (catalog.Table, error) {
	adopter, ok := s.opts.Engine.(engine.Adopter)
	if !ok {
		return catalog.Table{}, lake.Errorf(lake.Unsupported, "the storage engine %q takes no versions of others", s.opts.Engine.Name())
	}
	// What is committed is also published, whether or not the writer waits.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adoptTimeout)
	defer cancel()
	table, err := s.adoptFirst(ctx, adopter, name, inc, p)
	s.metrics.adopted.WithLabelValues(outcomeLabel(err)).Inc()
	return table, lake.Wrap("create table "+name.String(), err)
}

func (s *Server) adoptFirst(ctx context.Context, adopter engine.Adopter, name lake.TableName, inc lake.Incarnation, p engine.Proposal) (catalog.Table, error) {
	fence, done, err := s.lead(ctx)
	if err != nil {
		return catalog.Table{}, err
	}
	defer done()
	declared, err := s.catalog.Declaration(ctx, name, inc)
	if lake.Is(err, lake.NotFound) {
		return s.adoptedFirst(ctx, adopter, name, inc, p)
	}
	if err != nil {
		return catalog.Table{}, err
	}
	if declared.Abandoned() {
		return catalog.Table{}, lake.Errorf(lake.Precondition, "the declaration expired at %s and was given up: declare the table again", declared.Expires.Format(time.RFC3339))
	}
	staged, schema, err := adopter.AdoptFirst(ctx, declared.Location(), inc, p)
	if err == nil {
		err = checkColumnNames(schema)
	}
	if lake.Is(err, lake.Invalid) || lake.Is(err, lake.Unsupported) {
		s.giveUp(ctx, declared, err)
	}
	if err != nil {
		return catalog.Table{}, err
	}
	table := catalog.Table{Name: name, Snapshot: staged.Snapshot, Schema: flight.SerializeSchema(schema, memory.DefaultAllocator)}
	return s.register(ctx, fence, declared, table, staged)
}

// giveUp makes room for another attempt. The log says why, since LanceDB tells its
// users of any refusal that the table exists.
func (s *Server) giveUp(ctx context.Context, declared catalog.Declaration, why error) {
	s.opts.Logger.Warn("metasrv: a table by another Lance client was refused", "table", declared.Name, "by", declared.By, "error", why)
	if _, err := s.catalog.Abandon(ctx, declared); err != nil && !lake.Is(err, lake.Conflict) {
		s.opts.Logger.Warn("metasrv: a refused declaration stays until it expires", "table", declared.Name, "error", err)
	}
}

// adoptedFirst answers for an incarnation that is not declared: it may be
// registered already, by the proposal itself.
func (s *Server) adoptedFirst(ctx context.Context, adopter engine.Adopter, name lake.TableName, inc lake.Incarnation, p engine.Proposal) (catalog.Table, error) {
	table, err := s.catalog.Get(ctx, name)
	switch {
	case lake.Is(err, lake.NotFound):
		return catalog.Table{}, lake.Errorf(lake.Precondition, "incarnation %s is not declared: it was given up, or dropped; declare the table again", inc)
	case err != nil:
		return catalog.Table{}, err
	case table.Snapshot.Incarnation != inc:
		return catalog.Table{}, lake.Errorf(lake.AlreadyExists, "a table of that name exists")
	}
	held, err := adopter.Holds(ctx, table.Snapshot, p)
	if err != nil {
		return catalog.Table{}, err
	}
	if !held {
		return catalog.Table{}, lake.Errorf(lake.Conflict, "the table is at version %d", table.Snapshot.Version)
	}
	return table, s.publish(ctx, table, time.Time{})
}

// register commits the first version of a declared incarnation and publishes it.
func (s *Server) register(ctx context.Context, fence catalog.Fence, declared catalog.Declaration, table catalog.Table, staged engine.Staged) (catalog.Table, error) {
	defer s.tables.forget(table.Name)
	seen := wall()
	made, err := s.catalog.Create(ctx, fence, table, append(staged.Ops, declared.RegisterOps()...))
	if lake.Is(err, lake.Conflict) && s.givenUp(ctx, declared) {
		return catalog.Table{}, lake.Errorf(lake.Precondition, "the declaration of incarnation %s was given up meanwhile: %w", declared.Incarnation, err)
	}
	if err != nil {
		return catalog.Table{}, err
	}
	return made, s.publish(context.WithoutCancel(ctx), made, seen)
}

// givenUp reports whether an incarnation can no longer be registered. A conflict
// alone does not say so: it stays one where what was in the way could not be read.
func (s *Server) givenUp(ctx context.Context, declared catalog.Declaration) bool {
	now, err := s.catalog.Declaration(ctx, declared.Name, declared.Incarnation)
	return lake.Is(err, lake.NotFound) || err == nil && now.Abandoned()
}

// DropNamed drops what has the name, for a caller that knows no more of it: the
// table, as [Server.DropTable] does, or the declaration of one. The caller has
// checked that the principal may write to the namespace.
//
// lake.NotFound when nothing has the name. lake.Unavailable: this member does not
// lead.
func (s *Server) DropNamed(ctx context.Context, name lake.TableName, by string) error {
	verb := "drop table " + name.String()
	_, done, err := s.lead(ctx)
	if err != nil {
		return lake.Wrap(verb, err)
	}
	defer done()
	_, err = s.drop(ctx, dropRequest{name: name, window: s.opts.UndropWindow, reason: "dropped by another Lance client", requester: by}, false)
	if !lake.Is(err, lake.NotFound) {
		return lake.Wrap(verb, err)
	}
	declared, e := s.catalog.Reserved(ctx, name)
	if lake.Is(e, lake.NotFound) {
		return lake.Wrap(verb, err)
	}
	if e == nil {
		_, e = s.catalog.Abandon(ctx, declared)
	}
	return lake.Wrap(verb, e)
}
