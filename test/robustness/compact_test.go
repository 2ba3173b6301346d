// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build robustness && unix

package robustness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
)

// compact joins the data of random tables until ctx ends, in the way of the
// maintenance's activity: it commits versions beside the leader and without its
// fence. Half of its versions it leaves unpublished, as a worker that died
// would.
func (l *lane) compact(ctx context.Context, rng *rand.Rand) error {
	records := catalog.New(l.store, catalog.Options{})
	for ctx.Err() == nil {
		sleep(ctx, time.Duration(rng.IntN(150))*time.Millisecond)
		table := l.tables[rng.IntN(len(l.tables))]
		err := l.compactOnce(context.WithoutCancel(ctx), records, table, rng.IntN(2) == 0)
		if err != nil && !lake.Is(err, lake.Conflict) {
			return fmt.Errorf("compact %s: %w", table, err)
		}
	}
	return nil
}

// compactOnce makes one version. lake.Conflict means that an append was faster.
func (l *lane) compactOnce(ctx context.Context, records *catalog.Catalog, name lake.TableName, dies bool) error {
	table, err := records.Get(ctx, name)
	if err != nil {
		return err
	}
	made, err := l.engine.CompactSome(ctx, table.Snapshot, 4)
	if err != nil || made == nil {
		return err
	}
	if table, err = records.Get(ctx, name); err != nil { // appends went on meanwhile
		return err
	}
	if err := l.engine.Publish(ctx, table.Snapshot); err != nil {
		return err
	}
	staged, err := l.engine.StageCompaction(ctx, table.Snapshot, made)
	if err != nil {
		return err
	}
	record, err := claim(ctx, records, table)
	if err != nil {
		return err
	}
	moved, ops, err := records.MaintainOps(record, table, staged.Snapshot, staged.Ops)
	if err != nil {
		return err
	}
	if _, err := records.CommitProcedure(ctx, record, record, ops...); err != nil {
		l.tally.add("compactions too late", 1)
		return err
	}
	l.tally.add("compactions", 1)
	if dies {
		return nil
	}
	return l.engine.Publish(ctx, moved.Snapshot)
}

// claim opens the table's maintenance and takes it.
func claim(ctx context.Context, records *catalog.Catalog, table catalog.Table) (catalog.Procedure, error) {
	record, _, err := records.OpenProcedure(ctx, catalog.Procedure{
		Kind: catalog.MaintenanceKind, ID: catalog.MaintenanceID(table.Name, table.Snapshot.Incarnation),
		Namespace: table.Name.Namespace, Table: table.Name.Name,
	})
	if err != nil {
		return record, err
	}
	claimed := record
	claimed.State, claimed.Epoch = catalog.ProcedureRunning, record.Epoch+1
	return records.CommitProcedure(ctx, record, claimed)
}
