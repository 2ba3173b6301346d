// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/audit"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/workflows"
)

// TestOldVersionsAreDeletedOnARealServer: the schedule starts it, several
// activities do it, a worker is stopped in the middle, and what stays is whole.
func TestOldVersionsAreDeletedOnARealServer(t *testing.T) {
	d := tend(t, memoryStore(t))
	name := lake.TableName{Namespace: "robots", Name: "old"}
	table := d.tables.Appended(t, name, 60)
	pinned := table.Snapshot
	tag := table.Snapshot.Location.Prefix() + "_refs/tags/keep.json"
	require.NoError(t, d.objects.Put(t.Context(), tag, []byte(`{"branch":null,"version":31,"manifestSize":1}`)))
	before := recorded(t, d, pinned.Location)
	require.NoError(t, d.engine.Close()) // it deletes superseded manifests in the background
	d.objects.delay = 50 * time.Millisecond

	opts := d.options()
	opts.Maintain.Retention = retention.Policy{Versions: 5, For: time.Nanosecond, OrphanAge: time.Nanosecond}
	opts.Maintain.GiveUp = 10
	opts.Maintain.Now = func() time.Time { return time.Now().Add(15 * time.Minute) } // due
	opts.Maintain.Lease.Now = time.Now
	stop := d.work(t, opts)
	trigger(t, d.client, workflows.TableMaintenanceSchedule)
	earlier := d.objects.deletes.Load()
	require.Eventually(t, func() bool { return d.objects.deletes.Load() > earlier+20 }, time.Minute, time.Millisecond)
	stop()
	ref := workflows.TableMaintenanceRef(name, pinned.Incarnation)
	require.False(t, d.tables.Procedure(t, ref).State.Terminal(), "the test is too slow to have a middle")
	d.work(t, opts)
	record := d.ended(t, time.Minute, ref)
	require.Equal(t, catalog.ProcedureCompleted, record.State)
	require.NoError(t, d.starter.Wait(t.Context(), ref))

	now := d.tables.Now(t, name)
	require.EqualValues(t, 62, now.Snapshot.Version)
	require.EqualValues(t, 57, now.Reclaimed.Floor)
	require.EqualValues(t, 56, record.Counters[workflows.CountHistory])
	require.EqualValues(t, 57, record.Counters[workflows.CountGivenUp])
	d.tables.RequireNumbers(t, now.Snapshot, 600)
	require.Len(t, d.Keys(t, d.engine.HistoryPrefix(pinned.Location)), 6, "five versions and a tagged one")
	auditor, err := audit.New(audit.Options{Catalog: d.Catalog, Records: d.store, Objects: d.objects, Engine: d.engine, Grace: time.Nanosecond})
	require.NoError(t, err)
	require.NoError(t, auditor.Table(t.Context(), name, func(f audit.Finding) error { return fmt.Errorf("%+v", f) }), "the tag is no orphan")
	for v, there := range map[lake.Version]bool{2: false, 31: true, 61: true} {
		dataset, err := d.engine.Open(context.WithoutCancel(t.Context()), before[v])
		if there {
			require.NoError(t, err, "version %d", v)
			require.NoError(t, dataset.Close())
		} else {
			require.ErrorIs(t, err, engine.ErrUnavailable)
		}
	}

	capture(t, d.client, "tablemaintenance/reclaimed", ref.String())
	requireSmallHistory(t, d.client, ref.String())
}

// recorded are the snapshots of a table's versions.
func recorded(t *testing.T, d *tended, loc lake.Location) map[lake.Version]lake.Snapshot {
	t.Helper()
	rows, _, err := retention.Rows(t.Context(), d.store, d.engine.HistoryPrefix(loc), "", 1000)
	require.NoError(t, err)
	out := map[lake.Version]lake.Snapshot{}
	for _, r := range rows {
		out[r.Snapshot.Version] = r.Snapshot
	}
	return out
}
