// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore/pebble"
)

// storage is what the tiers share.
type storage struct {
	records *process.Records
	objects *process.Objects
}

// openStorage opens the data directory. The metastore comes first: its lock
// proves that no other server uses the directory.
func openStorage(ctx context.Context, o Options, metrics prometheus.Registerer) (s storage, err error) {
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return s, lake.Errorf(lake.Invalid, "data directory: %w", err)
	}
	store := config.Metastore{URL: fileURL(config.Pebble, o.DataDir, "metastore")}
	if s.records, err = process.OpenRecords(ctx, store, config.Caller{}, false, o.Log); err != nil {
		return s, heldError(o.DataDir, err)
	}
	if err := s.records.Measure(metrics); err != nil {
		return storage{}, errors.Join(err, s.records.Close())
	}
	if s.objects, err = process.OpenObjects(ctx, config.Objects{URL: fileURL("file", o.DataDir, "objects")}, process.ObjectUse{Write: true, Metrics: metrics}); err != nil {
		return storage{}, errors.Join(err, s.records.Close())
	}
	return s, nil
}

// fileURL names a folder of the data directory.
func fileURL(scheme, dir, folder string) string {
	return (&url.URL{Scheme: scheme, Path: filepath.Join(dir, folder)}).String()
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

func (s storage) close() error { return errors.Join(s.objects.Close(), s.records.Close()) }
