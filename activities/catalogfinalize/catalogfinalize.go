// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package catalogfinalize makes the directory of a deployment authoritative
// whose first tables were made by a release that did not replace the directory
// generation: the marker and a fresh generation in one commit. From then on
// replicas trust an unchanged generation instead of reading every table.
//
// It is a migration (package migrate) without a backfill: the tables are as they
// should be. Nothing is in force before the one commit, so it has no barrier;
// that commit keeps the leader's fence, and fails when a server of an older
// release takes over. It is idempotent, and the marker is never removed.
package catalogfinalize

import (
	"context"
	"strings"

	"github.com/lakeplane/lake/activities/migrate"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/workflows"
)

// Catalog is what the steps need of the catalog.
type Catalog interface {
	Authoritative(ctx context.Context) (bool, error)
	CheckWriters(ctx context.Context) (writers int, keep metastore.Op, problems []string, err error)
	FinalizeOps(ctx context.Context) ([]metastore.Op, error)
	List(ctx context.Context, namespace, cursor string, limit int) (page []catalog.Table, next string, err error)
}

// Steps are those of the migration.
type Steps struct{ Catalog Catalog }

var _ migrate.Steps = Steps{}

// page is how many tables are read at once, with their schemas.
const page = 64

// Preflight implements [migrate.Steps]: every metadata server announced that it
// replaces the generation.
func (s Steps) Preflight(ctx context.Context) (done bool, counters map[string]int64, err error) {
	if done, err = s.Catalog.Authoritative(ctx); err != nil || done {
		return done, nil, err
	}
	writers, _, problems, err := s.Catalog.CheckWriters(ctx)
	if err == nil && len(problems) > 0 {
		err = lake.Errorf(lake.Precondition, "preflight: %s", strings.Join(problems, "; "))
	}
	return false, map[string]int64{workflows.CountWriters: int64(writers)}, err
}

// Backfill implements [migrate.Steps]: there is nothing to fill in.
func (s Steps) Backfill(context.Context, string) (migrate.Page, error) { return migrate.Page{}, nil }

// Verify implements [migrate.Steps]: every table's record can be read, so the
// directory can be.
func (s Steps) Verify(ctx context.Context, cursor string) (migrate.Page, error) {
	tables, next, err := s.Catalog.List(ctx, "", cursor, page)
	return migrate.Page{Next: next, Items: len(tables)}, err
}

// Barrier implements [migrate.Steps].
func (s Steps) Barrier(context.Context) ([]metastore.Op, error) { return nil, nil }

// Lift implements [migrate.Steps].
func (s Steps) Lift(context.Context) ([]metastore.Op, error) { return nil, nil }

// Publish implements [migrate.Steps]. The servers are looked at again: one of an
// older release may have come up while an approval was awaited.
func (s Steps) Publish(ctx context.Context) ([]metastore.Op, error) {
	return s.Catalog.FinalizeOps(ctx)
}
