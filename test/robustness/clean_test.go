// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build robustness && unix

package robustness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	check "github.com/lakeplane/lake/audit"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/retention"
)

// TestCleanUpSurvivesKills: Lake's appends to one table, and another Lance
// client's appends and deletes in a second one, go on while a worker compacts
// both and deletes old versions, and workers and metadata servers are killed at
// random. After every loop each version that stays, or is tagged, is whole and
// the rows are those that were acknowledged; after a last, quiet clean-up nothing
// is left that no version needs.
func TestCleanUpSurvivesKills(t *testing.T) {
	start := *seed
	if start == 0 {
		start = rand.Uint64()
	}
	t.Logf("-seed %d", start)
	rng := rand.New(rand.NewPCG(start, 77))
	c := newCluster(t, onPostgres, func(cfg *memberConfig) { cfg.Staged = cleanerStagedFor })
	c.startAll()
	mine, theirs := c.create("mine"), c.create("theirs")
	other := newStranger(c, theirs)
	tagged := map[lake.Version]bool{}
	for loop := range max(3, *loops/25) {
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		cleaner := spawnAs(t, cleanerEnv, c.config)
		done := make(chan error, 2)
		go func() {
			defer func() { done <- nil }()
			for ctx.Err() == nil {
				_, _ = c.append(ctx, newOperation(t, mine, 1+rand.IntN(4)))
			}
		}()
		go func() {
			err := error(nil)
			for n := 0; ctx.Err() == nil && err == nil; n++ {
				err = other.step(context.WithoutCancel(ctx), n%5 == 4)
			}
			done <- err
		}()
		for ctx.Err() == nil {
			sleep(ctx, time.Duration(rng.IntN(400))*time.Millisecond)
			if rng.IntN(3) > 0 {
				cleaner.kill()
				cleaner = spawnAs(t, cleanerEnv, c.config)
				continue
			}
			if running := c.running(); len(running) > 0 {
				running[0].kill()
				c.revive()
			}
		}
		stop()
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		c.revive()
		if loop%2 == 0 {
			c.tagHead(theirs, loop, tagged)
		}
		cleaner.kill()
		c.checkClean(other, tagged)
		c.checkAppends(mine)
	}
	require.NotEmpty(t, other.sure, "the other client got nothing done: %v", other.last)

	// What the killed left becomes old, and then goes.
	sleep(t.Context(), cleanerOrphanAge+time.Second)
	policy := cleanerPolicy()
	for _, table := range []lake.TableName{mine, theirs} {
		require.Eventually(t, func() bool {
			now, err := catalog.New(c.store, catalog.Options{}).Get(t.Context(), table)
			return err == nil && maintainTable(t.Context(), c.store, c.objects, c.engine, now, policy) == nil
		}, patience, 100*time.Millisecond, "the last clean-up of %s does not end", table)
	}
	c.checkClean(other, tagged)
	c.checkAppends(mine)
	for _, table := range []lake.TableName{mine, theirs} {
		now, err := catalog.New(c.store, catalog.Options{}).Get(t.Context(), table)
		require.NoError(t, err)
		require.Positive(t, now.Reclaimed.Floor, "nothing of %s was given up", table)
		t.Logf("%s: version %d, given up to %d", table, now.Snapshot.Version, now.Reclaimed.Floor)
	}
	c.requireAudit(func(f check.Finding) error { return fmt.Errorf("left: %+v", f) }, time.Nanosecond, mine, theirs)
}

// tagHead tags the current version, as an operator does.
func (c *cluster) tagHead(table lake.TableName, n int, tagged map[lake.Version]bool) {
	c.t.Helper()
	now, err := catalog.New(c.store, catalog.Options{}).Get(c.t.Context(), table)
	require.NoError(c.t, err)
	require.NoError(c.t, c.engine.Tag(c.t.Context(), now.Snapshot, fmt.Sprintf("loop-%d", n)))
	tagged[now.Snapshot.Version] = true
}

// checkClean reads what the stranger's table promises.
func (c *cluster) checkClean(s *stranger, tagged map[lake.Version]bool) {
	c.t.Helper()
	now, err := catalog.New(c.store, catalog.Options{}).Get(c.t.Context(), s.table)
	require.NoError(c.t, err)
	require.NoError(c.t, c.engine.Publish(c.t.Context(), now.Snapshot))
	d, err := openNumber(c.t.Context(), c.objects, now.Snapshot.Location, now.Snapshot.Version)
	require.NoError(c.t, err)
	require.NoError(c.t, s.check(c.t.Context(), d))
	for v := range tagged {
		snap, found, err := retention.Find(c.t.Context(), c.store, c.engine.HistoryPrefix(now.Snapshot.Location), v)
		require.NoError(c.t, err)
		require.True(c.t, found, "version %d is tagged", v)
		old, err := openNumber(c.t.Context(), c.objects, snap.Location, v)
		require.NoError(c.t, err)
		require.NoError(c.t, old.Verify(c.t.Context(), format.VerifyOptions{
			Data: true, Skip: func(string) bool { return false }, Found: func(f format.Fault) error { return f.Err },
		}))
	}
	c.requireAudit(func(f check.Finding) error {
		if f.Problem.Harmless() {
			return nil
		}
		return fmt.Errorf("%+v", f)
	}, time.Hour, s.table)
}

// checkAppends holds the rows of the current version against the ledger: old
// versions are gone, so [cluster.check] does not apply.
func (c *cluster) checkAppends(table lake.TableName) {
	c.t.Helper()
	now, err := catalog.New(c.store, catalog.Options{}).Get(c.t.Context(), table)
	require.NoError(c.t, err)
	require.NoError(c.t, c.engine.Publish(c.t.Context(), now.Snapshot))
	d, err := openNumber(c.t.Context(), c.objects, now.Snapshot.Location, now.Snapshot.Version)
	require.NoError(c.t, err)
	scan, err := d.Scan(c.t.Context(), format.ScanOptions{Ordered: true})
	require.NoError(c.t, err)
	defer scan.Close()
	pieces, err := piecesOf(c.t.Context(), scan)
	require.NoError(c.t, err)
	there := map[int64]bool{}
	for _, p := range pieces {
		there[p.marker] = true
	}
	for id, e := range c.ledger.of(table) {
		if e.fate == unknown {
			delete(there, e.marker)
			continue
		}
		require.Equal(c.t, e.fate == acked, there[e.marker], "operation %s", id)
		delete(there, e.marker)
	}
	require.Empty(c.t, there, "rows that nobody wrote")
	c.requireAudit(func(f check.Finding) error {
		if f.Problem.Harmless() {
			return nil
		}
		return fmt.Errorf("%+v", f)
	}, time.Hour, table)
}

// requireAudit audits tables that do not move, and gives every finding to found.
func (c *cluster) requireAudit(found func(check.Finding) error, grace time.Duration, tables ...lake.TableName) {
	c.t.Helper()
	a, err := check.New(check.Options{Catalog: catalog.New(c.store, catalog.Options{}), Records: c.store, Objects: c.objects, Engine: c.engine, Grace: grace})
	require.NoError(c.t, err)
	for _, table := range tables {
		require.NoError(c.t, a.Table(c.t.Context(), table, found))
	}
}
