// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/retention"
)

// Declarations are what is known of tables that were begun and not registered.
type Declarations interface {
	Declarations(ctx context.Context, cursor string, limit int) (page []catalog.Declaration, next string, err error)
	Abandon(ctx context.Context, d catalog.Declaration) (catalog.Declaration, error)
	Emptied(ctx context.Context, d catalog.Declaration) (catalog.Declaration, error)
	ForgetDeclaration(ctx context.Context, d catalog.Declaration) error
}

// DefaultLinger is how long after a declaration was given up its place is looked
// at once more: no write takes longer.
const DefaultLinger = retention.DefaultOrphanAge

// declaredPages bounds the pages of objects that one sweep deletes.
const declaredPages = 100

// declared gives up the declarations that have expired and deletes what lies in
// their places: at once, and once more after a while, since a writer may not have
// noticed yet. Then the declaration is forgotten.
//
// Whether the table was registered is not asked. It cannot have been: giving up
// replaced the record that registering it removes. So this is safe beside the
// writers, beside itself, and with any clock; a wrong one gives up too early and
// no more. A place that cannot be cleaned up is left to the next sweep, and so is
// everything that follows when a store is away.
func (s *sweep) declared(ctx context.Context) error {
	left := declaredPages
	for cursor := ""; ; {
		page, next, err := s.opts.Declarations.Declarations(ctx, cursor, s.opts.Page)
		if err != nil {
			return err
		}
		for _, d := range page {
			if err := s.visitDeclaration(ctx, d, &left); err != nil {
				err = lake.Wrap("clean up after "+string(d.Location()), err)
				if ctx.Err() != nil || lake.Is(err, lake.Unavailable) || lake.Is(err, lake.Exhausted) {
					return err
				}
				s.fail(ctx, "not cleaned up", string(d.Location()), err)
			}
			if left <= 0 {
				return nil
			}
		}
		s.beat(next)
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

func (s *sweep) visitDeclaration(ctx context.Context, d catalog.Declaration, left *int) error {
	now := s.opts.Now()
	if !d.Abandoned() {
		if d.Expires.After(now) {
			s.result.Declared++
			return nil
		}
		var err error
		d, err = s.opts.Declarations.Abandon(ctx, d)
		if lake.Is(err, lake.Conflict) {
			return nil // registered in time, or abandoned by another
		}
		if err != nil {
			return err
		}
		s.result.Abandoned++
	}
	last := now.Sub(d.AbandonedAt) > s.opts.Linger
	if !d.EmptiedAt.IsZero() && !last {
		return nil
	}
	empty, err := s.empty(ctx, d.Location(), left)
	switch {
	case err != nil || !empty:
		return err
	case last:
		return s.opts.Declarations.ForgetDeclaration(ctx, d)
	}
	_, err = s.opts.Declarations.Emptied(ctx, d)
	if lake.Is(err, lake.Conflict) {
		return nil // another sweep did the same
	}
	return err
}

// empty deletes the objects of a location, as many pages as are left, and reports
// whether none remains.
func (s *sweep) empty(ctx context.Context, loc lake.Location, left *int) (bool, error) {
	for page, err := range objstore.Pages(ctx, s.opts.Objects, loc.Prefix(), "", objstore.MaxPage) {
		if err != nil {
			return false, err
		}
		if *left <= 0 {
			return false, nil
		}
		*left--
		if _, err := objstore.DeleteListed(ctx, s.opts.Objects, page); err != nil {
			return false, err
		}
		s.result.Deleted += int64(len(page))
		s.beat(time.Now())
	}
	return true, nil
}
