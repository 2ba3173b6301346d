// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/objstore"
)

// audit reads everything there is of one table and compares it with the ledger.
type audit struct {
	*cluster
	store metastore.Store
	table catalog.Table
	known map[lake.OperationID]entry

	history []engine.Entry // of version i+1
	rows    []uint64       // of version i+1
	found   map[lake.OperationID]lake.Version
}

// audited checks a table against the invariants and returns which operation is
// in which version:
//
//   - the history has exactly the versions 1..N;
//   - every version opens by its number, with the exact bytes that were
//     committed; only the newest may lack its final name, and only while
//     nothing in it is acknowledged;
//   - each version holds the rows of the one before and those of its
//     operations, whole, once and in order;
//   - every acknowledged operation is in the version of its acknowledgement,
//     no refused one and no stranger is in any;
//   - each operation's record says the version that its rows are in.
func (c *cluster) audited(ctx context.Context, store metastore.Store, name lake.TableName) (map[lake.OperationID]lake.Version, error) {
	table, err := catalog.New(store, catalog.Options{}).Get(ctx, name)
	if err != nil {
		return nil, err
	}
	a := &audit{cluster: c, store: store, table: table, known: c.ledger.of(name), found: map[lake.OperationID]lake.Version{}}
	for _, step := range []func(context.Context) error{a.readHistory, a.checkManifests, a.checkRows, a.checkFates, a.checkRecords} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("table %s at version %d: %w", name, table.Snapshot.Version, err)
		}
	}
	return a.found, nil
}

// scanAll reads every record under a prefix.
func scanAll(ctx context.Context, store metastore.Store, prefix string) (all []metastore.Record, err error) {
	for cursor, first := "", true; first || cursor != ""; first = false {
		page, err := store.Scan(ctx, prefix, cursor, metastore.MaxPage)
		if err != nil {
			return nil, err
		}
		all, cursor = append(all, page.Records...), page.Next
	}
	return all, nil
}

func (a *audit) readHistory(ctx context.Context) error {
	snap := a.table.Snapshot
	prefix := a.engine.HistoryPrefix(snap.Location)
	records, err := scanAll(ctx, a.store, prefix)
	if err != nil {
		return err
	}
	if len(records) != int(snap.Version) {
		return fmt.Errorf("%d history rows for %d versions", len(records), snap.Version)
	}
	byKey := map[string][]byte{}
	for _, r := range records {
		byKey[r.Key] = r.Value
	}
	for v := lake.Version(1); v <= snap.Version; v++ {
		var e engine.Entry
		if err := json.Unmarshal(byKey[fmt.Sprintf("%s%020d", prefix, v)], &e); err != nil {
			return fmt.Errorf("history row of version %d: %w", v, err)
		}
		if e.Snapshot.Version != v || e.Snapshot.Incarnation != snap.Incarnation {
			return fmt.Errorf("the history row of version %d is of version %d", v, e.Snapshot.Version)
		}
		if len(e.Operations) == 0 && v > 1 && !a.compacts || len(e.Operations) > 0 && v == 1 {
			return fmt.Errorf("version %d has %d operations", v, len(e.Operations))
		}
		if err := a.enter(e); err != nil {
			return err
		}
	}
	if newest := a.history[snap.Version-1].Snapshot; newest != snap {
		return fmt.Errorf("the registry has %+v, the history %+v", snap, newest)
	}
	return nil
}

// enter notes the operations of a version.
func (a *audit) enter(e engine.Entry) error {
	a.history = append(a.history, e)
	for _, op := range e.Operations {
		if v, twice := a.found[op.ID]; twice {
			return fmt.Errorf("operation %s is in versions %d and %d", op.ID, v, e.Snapshot.Version)
		}
		a.found[op.ID] = e.Snapshot.Version
		known, ok := a.known[op.ID]
		if !ok || known.command.Digest != op.Digest {
			return fmt.Errorf("operation %s in version %d is nobody's, or of another payload", op.ID, e.Snapshot.Version)
		}
	}
	return nil
}

// checkManifests opens every version by its number.
func (a *audit) checkManifests(ctx context.Context) error {
	newest := a.table.Snapshot.Version
	for _, e := range a.history {
		raw, err := objstore.ReadAll(ctx, a.objects, e.Snapshot.Location.Prefix()+format.ManifestName(uint64(e.Snapshot.Version)), e.Snapshot.Manifest.Size)
		if lake.Is(err, lake.NotFound) && e.Snapshot.Version == newest && !a.acknowledged(newest) {
			break // a crash left it to whoever comes next
		}
		if err != nil {
			return fmt.Errorf("version %d does not open by its number: %w", e.Snapshot.Version, err)
		}
		if lake.Digest(sha256.Sum256(raw)) != e.Snapshot.Manifest.SHA256 {
			return fmt.Errorf("version %d has other bytes under its final name than were committed", e.Snapshot.Version)
		}
		d, err := openNumber(ctx, a.objects, e.Snapshot.Location, e.Snapshot.Version)
		if err != nil {
			return fmt.Errorf("version %d: %w", e.Snapshot.Version, err)
		}
		a.rows = append(a.rows, d.Rows())
		if err := d.Close(); err != nil {
			return err
		}
	}
	return a.checkCounts()
}

// acknowledged reports whether a client was told that the version exists.
// Version 1 is told by the answer to the create.
func (a *audit) acknowledged(v lake.Version) bool {
	for _, e := range a.known {
		if e.fate == acked && e.version == v {
			return true
		}
	}
	return false
}

// checkCounts compares the row counts of neighbouring versions.
func (a *audit) checkCounts() error {
	want := uint64(0)
	for i, have := range a.rows {
		for _, op := range a.history[i].Operations {
			want += uint64(a.known[op.ID].rows)
		}
		if have != want {
			return fmt.Errorf("version %d has %d rows, want %d", i+1, have, want)
		}
	}
	return nil
}

// checkRows reads the newest version and cuts it into its versions.
func (a *audit) checkRows(ctx context.Context) error {
	pieces, err := a.read(ctx, a.table.Snapshot)
	if err != nil {
		return err
	}
	for _, e := range a.history {
		for _, op := range e.Operations {
			if len(pieces) == 0 || pieces[0].marker != a.known[op.ID].marker {
				return fmt.Errorf("version %d should add marker %d, the rows there begin with %+v", e.Snapshot.Version, a.known[op.ID].marker, pieces[:min(1, len(pieces))])
			}
			pieces = pieces[1:]
		}
	}
	if len(pieces) > 0 {
		return fmt.Errorf("%d appends are in the rows and in no history row: %+v", len(pieces), pieces[0])
	}
	return nil
}

// read returns the pieces of a snapshot.
func (c *cluster) read(ctx context.Context, snap lake.Snapshot) ([]piece, error) {
	d, err := c.engine.Open(ctx, snap)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	scan, err := d.Scan(ctx, engine.ScanOptions{Ordered: true})
	if err != nil {
		return nil, err
	}
	defer scan.Close()
	return piecesOf(ctx, scan)
}

// checkFates compares what clients were told with what is there.
func (a *audit) checkFates(context.Context) error {
	var errs []error
	for id, e := range a.known {
		v, there := a.found[id]
		switch {
		case e.fate == acked && !there:
			errs = append(errs, fmt.Errorf("LOST: operation %s, acknowledged in version %d, is not there", id, e.version))
		case e.fate == acked && v != e.version:
			errs = append(errs, fmt.Errorf("operation %s was acknowledged in version %d and is in version %d", id, e.version, v))
		case e.fate == acked && e.incarnation != a.table.Snapshot.Incarnation.String():
			errs = append(errs, fmt.Errorf("operation %s was acknowledged in incarnation %s", id, e.incarnation))
		case e.fate == refused && there:
			errs = append(errs, fmt.Errorf("operation %s was refused for good and is in version %d", id, v))
		}
	}
	return errors.Join(errs...)
}

// checkRecords compares the operation records with the versions.
func (a *audit) checkRecords(ctx context.Context) error {
	records, err := scanAll(ctx, a.store, "append-operation/v1/default/"+a.table.Name.Path()+"/")
	if err != nil {
		return err
	}
	if len(records) != len(a.found) {
		return fmt.Errorf("%d operation records for %d operations", len(records), len(a.found))
	}
	operations := catalog.New(a.store, catalog.Options{})
	for id, v := range a.found {
		r, err := operations.Operation(ctx, "default", a.table.Name, id)
		if err != nil {
			return err
		}
		if r.Version != v || r.Incarnation != a.table.Snapshot.Incarnation || r.Rows != uint64(a.known[id].rows) {
			return fmt.Errorf("the record of operation %s says version %d, %d rows; it is in version %d", id, r.Version, r.Rows, v)
		}
	}
	return nil
}
