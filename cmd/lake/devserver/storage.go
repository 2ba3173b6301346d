// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/services/query/engine/duck"
)

// storage is what the tiers share.
type storage struct {
	meta    *pebble.Store
	objects *local.Store
	tables  *enginelance.Engine
	sql     *duck.Engine
	planner *duck.Engine // binds statements beside the running queries
}

// openStorage opens the data directory. The metastore comes first: its lock
// proves that no other server uses the directory.
func openStorage(o Options) (s storage, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
			s = storage{}
		}
	}()
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return s, lake.Errorf(lake.Invalid, "data directory: %w", err)
	}
	if s.meta, err = pebble.Open(filepath.Join(o.DataDir, "metastore"), pebble.Options{Logger: o.Log}); err != nil {
		return s, heldError(o.DataDir, err)
	}
	if s.objects, err = local.Open(filepath.Join(o.DataDir, "objects")); err != nil {
		return s, err
	}
	if s.tables, err = enginelance.New(enginelance.Options{Store: s.objects}); err != nil {
		return s, err
	}
	spill := filepath.Join(o.DataDir, "spill")
	if err := os.MkdirAll(spill, 0o700); err != nil {
		return s, lake.Errorf(lake.Unknown, "spill directory: %w", err)
	}
	// A query holds its slot for as long as its client reads, so there must be
	// more of them than cursors that people leave open. They open when used.
	if s.sql, err = duck.New(duck.Options{Slots: 16, Memory: 512 << 20, SpillDir: spill}); err != nil {
		return s, err
	}
	s.planner, err = duck.New(duck.Options{Slots: 2, Threads: 1, Memory: 128 << 20})
	return s, err
}

// heldError says who holds the data directory.
func heldError(dir string, err error) error {
	var locked *pebble.LockedError
	if !errors.As(err, &locked) {
		return err
	}
	who := "another process"
	if h := locked.Holder; h.PID > 0 {
		who = fmt.Sprintf("process %d", h.PID)
		if host, e := os.Hostname(); e == nil && h.Host != "" && h.Host != host {
			who += " on " + h.Host
		}
		if !h.Since.IsZero() {
			who += ", since " + h.Since.Local().Format(time.DateTime)
		}
	}
	return lake.Errorf(lake.Precondition, "data directory %s is in use by %s: stop it first or choose another --data-dir", dir, who)
}

// sweep deletes what lies under a location that never became a table.
func (s storage) sweep(ctx context.Context, loc lake.Location) error {
	for {
		page, more, err := s.objects.List(ctx, loc.Prefix(), "", objstore.MaxPage)
		if err != nil {
			return err
		}
		for _, object := range page {
			if err := s.objects.Delete(ctx, object.Key); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
	}
}

func (s storage) close() error {
	var errs []error
	if s.planner != nil {
		errs = append(errs, s.planner.Close())
	}
	if s.sql != nil {
		errs = append(errs, s.sql.Close())
	}
	if s.tables != nil {
		errs = append(errs, s.tables.Close())
	}
	if s.objects != nil {
		errs = append(errs, s.objects.Close())
	}
	if s.meta != nil {
		errs = append(errs, s.meta.Close())
	}
	return errors.Join(errs...)
}
