// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
)

// adoptTimeout bounds one version by another writer: its new objects are looked
// at, which grows with their number.
const adoptTimeout = time.Minute

// Adopt commits a version of a table that another writer of its format has
// staged, and returns the table as it is then. The caller has checked that the
// principal may write the table.
//
// lake.Conflict: the version is taken, or is not the next one; the writer reads
// what is there and makes another. lake.Invalid and lake.Unsupported: it is not
// taken. lake.Unavailable: this member does not lead. A proposal that was taken
// before succeeds again, so that a request whose answer was lost can be repeated.
func (s *Server) Adopt(ctx context.Context, name lake.TableName, p engine.Proposal) (catalog.Table, error) {
	adopter, ok := s.opts.Engine.(engine.Adopter)
	if !ok {
		return catalog.Table{}, lake.Errorf(lake.Unsupported, "the storage engine %q takes no versions of others", s.opts.Engine.Name())
	}
	// What is committed is also published, whether or not the writer waits.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adoptTimeout)
	defer cancel()
	table, err := s.adopt(ctx, adopter, name, p)
	s.metrics.adopted.WithLabelValues(outcomeLabel(err)).Inc()
	return table, lake.Wrap("write to table "+name.String(), err)
}

func (s *Server) adopt(ctx context.Context, adopter engine.Adopter, name lake.TableName, p engine.Proposal) (catalog.Table, error) {
	fence, done, err := s.lead(ctx)
	if err != nil {
		return catalog.Table{}, err
	}
	defer done()
	table, err := s.catalog.Get(ctx, name)
	if err != nil {
		return catalog.Table{}, err
	}
	if p.Version == table.Snapshot.Version {
		switch held, err := adopter.Holds(ctx, table.Snapshot, p); {
		case err != nil:
			return catalog.Table{}, err
		case held:
			return table, s.publish(ctx, table, time.Time{})
		}
	}
	// The base of a version is published before the version is committed: after
	// a crash only the current one is made good.
	if err := s.publish(ctx, table, time.Time{}); err != nil {
		return catalog.Table{}, lake.Errorf(lake.Unavailable, "%w", err)
	}
	staged, err := adopter.Adopt(ctx, table.Snapshot, p)
	if err != nil {
		return catalog.Table{}, err
	}
	defer s.tables.forget(name)
	seen := wall()
	moved, err := s.catalog.Advance(ctx, fence, table, staged.Snapshot, staged.Ops, nil)
	if err != nil {
		return catalog.Table{}, err
	}
	return moved, s.publish(ctx, moved, seen)
}

// Publish makes the current version of a table openable by its number, if a
// crash or a slow store has kept it from that. Any member may do it.
func (s *Server) Publish(ctx context.Context, table catalog.Table) error {
	return s.publish(ctx, table, time.Time{})
}
