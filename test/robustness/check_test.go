// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// check audits the tables, replays operations and audits again. An embedded
// metastore's member is killed for each audit; all members run afterwards.
func (c *cluster) check(tables ...lake.TableName) {
	c.t.Helper()
	c.replayAll(tables)
	c.audit(tables)
	c.revive()
}

// replayAll audits the tables and replays operations.
func (c *cluster) replayAll(tables []lake.TableName) {
	c.t.Helper()
	before := c.audit(tables)
	c.revive()
	for _, table := range tables {
		for id, e := range c.ledger.of(table) {
			v, there := before[table][id]
			c.tally.sawFate(e.fate, there)
			require.NoError(c.t, c.replay(e, v, there), "replay of operation %s on %s", id, table)
		}
	}
}

// audit audits the tables.
func (c *cluster) audit(tables []lake.TableName) map[lake.TableName]map[lake.OperationID]lake.Version {
	c.t.Helper()
	found := map[lake.TableName]map[lake.OperationID]lake.Version{}
	c.withStore(func(store metastore.Store) {
		for _, table := range tables {
			var err error
			found[table], err = c.auditAtRest(c.t.Context(), store, table)
			require.NoError(c.t, err)
		}
	})
	return found
}

// auditAtRest audits a table that may still move: an append whose client gave
// up goes on. An audit during which it moved says nothing and is repeated.
func (c *cluster) auditAtRest(ctx context.Context, store metastore.Store, table lake.TableName) (map[lake.OperationID]lake.Version, error) {
	for {
		before, err := catalog.New(store, catalog.Options{}).Get(ctx, table)
		if err != nil {
			return nil, err
		}
		found, failed := c.audited(ctx, store, table)
		after, err := catalog.New(store, catalog.Options{}).Get(ctx, table)
		if err != nil || after.Snapshot == before.Snapshot {
			return found, errors.Join(failed, err)
		}
	}
}

// maxReplays bounds the acknowledged operations of a table that are replayed
// in one check. All that nobody knows the outcome of are.
const maxReplays = 6

// replay sends an operation again. One that is in the table must be answered
// with its version, as a replay; one that is not is applied now.
func (c *cluster) replay(e entry, v lake.Version, there bool) error {
	switch {
	case e.fate == refused:
		return nil
	case e.fate == acked && int64(v)+maxReplays < c.newest(e) && e.marker%16 != 0:
		return nil // an old one: some of those are enough
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	result, err := c.append(ctx, e.operation)
	if err != nil {
		return err
	}
	if there && (lake.Version(result.GetVersion()) != v || !result.GetReplayed()) {
		return fmt.Errorf("it is in version %d, the replay says %v", v, result)
	}
	if result.GetRows() != uint64(e.rows) {
		return fmt.Errorf("%d rows, the answer says %v", e.rows, result)
	}
	return nil
}

// newest is the newest version that was acknowledged of the entry's table.
func (c *cluster) newest(e entry) (v int64) {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	for _, other := range c.ledger.entries {
		if other.command.Table == e.command.Table {
			v = max(v, int64(other.version))
		}
	}
	return v
}

// watcher is a reader that follows the tables while members die, and opens
// every snapshot that it is told of.
type watcher struct {
	*cluster
	tables []lake.TableName
	last   map[lake.TableName]lake.Version
	Reads  int
}

// run reads until ctx ends. It fails when a snapshot shows a part of an append,
// a version goes back, or what was announced cannot be read.
func (w *watcher) run(ctx context.Context) error {
	w.last = map[lake.TableName]lake.Version{}
	for ctx.Err() == nil {
		for _, table := range w.tables {
			if err := w.look(ctx, table); err != nil && ctx.Err() == nil {
				return fmt.Errorf("a reader of %s: %w", table, err)
			}
		}
		sleep(ctx, 5*time.Millisecond)
	}
	return nil
}

func (w *watcher) look(ctx context.Context, table lake.TableName) error {
	members := w.running()
	if len(members) == 0 {
		return nil
	}
	asked, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	answer, err := members[0].catalog.GetTable(asked, &lakepb.GetTableRequest{Name: wireName(table)})
	if err != nil {
		return nil // it is being killed
	}
	snap, err := snapshotOf(answer.GetSnapshot())
	if err != nil {
		return err
	}
	if snap.Version < w.last[table] {
		return fmt.Errorf("version %d was announced after version %d", snap.Version, w.last[table])
	}
	if snap.Version == w.last[table] {
		return nil
	}
	w.last[table] = snap.Version
	w.Reads++
	if _, err = w.read(ctx, snap); err != nil {
		return fmt.Errorf("version %d: %w", snap.Version, err)
	}
	return nil
}

func snapshotOf(m *lakepb.Snapshot) (s lake.Snapshot, err error) {
	s = lake.Snapshot{
		Engine: m.GetEngine(), Location: lake.Location(m.GetLocation()), Version: lake.Version(m.GetVersion()),
		Manifest: lake.Manifest{Path: m.GetManifest().GetPath(), Size: m.GetManifest().GetSize()},
	}
	copy(s.Manifest.SHA256[:], m.GetManifest().GetSha256())
	s.Incarnation, err = lake.ParseID(m.GetIncarnation())
	return s, err
}
