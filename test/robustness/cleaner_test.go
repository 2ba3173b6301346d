// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	procedurelease "github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/activities/maintain"
	"github.com/lakeplane/lake/catalog"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/workflows"
)

// cleanerEnv holds the [memberConfig] of a cleaner, in JSON: a worker that does
// nothing but the activities of table maintenance, on one table after the other,
// until it is killed.
const cleanerEnv = "LAKE_ROBUSTNESS_CLEANER"

// Times of clean-ups here. An orphan is far older than what a commit may bring.
const (
	cleanerStagedFor = 3 * time.Second
	cleanerOrphanAge = 4 * cleanerStagedFor
)

func cleanerPolicy() retention.Policy {
	return retention.Policy{Versions: 3, For: time.Second, OrphanAge: cleanerOrphanAge}
}

func beCleaner(config string) error {
	var cfg memberConfig
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		return err
	}
	go func() { // the parent died
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	ctx := context.Background()
	store, err := openStore(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	objects, err := local.Open(filepath.Join(cfg.Dir, "objects"))
	if err != nil {
		return err
	}
	engine, err := enginelance.New(enginelance.Options{Store: objects})
	if err != nil {
		return err
	}
	for round := 0; ; round++ {
		tables, _, err := catalog.New(store, catalog.Options{}).List(ctx, "", "", 100)
		if err != nil {
			return err
		}
		for _, t := range tables {
			// What an attempt that was killed, or a faster commit, made fail is tried
			// again, as a worker does.
			if err := maintainTable(ctx, store, objects, engine, t, cleanerPolicy()); err != nil {
				fmt.Fprintf(os.Stderr, "clean %s: %v\n", t.Name, err)
			}
		}
		fmt.Printf("reached cleaned %d\n", round+1)
		time.Sleep(20 * time.Millisecond)
	}
}

// maintainTable runs one maintenance of a table by the activities of the worker.
func maintainTable(ctx context.Context, store metastore.Store, objects objstore.Store, e *enginelance.Engine, t catalog.Table, policy retention.Policy) error {
	records := catalog.New(store, catalog.Options{})
	a, err := maintain.New(records, nil, map[string]maintain.Engine{enginelance.Name: e}, maintain.Options{
		Records: store, Objects: objects, Retention: policy, Lease: procedurelease.Options{TTL: 2 * time.Second, Margin: 200 * time.Millisecond},
		Beat: 100 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	step := workflows.MaintenanceStep{Namespace: t.Name.Namespace, Name: t.Name.Name, Incarnation: t.Snapshot.Incarnation}
	_, _, err = records.OpenProcedure(ctx, catalog.Procedure{Kind: catalog.MaintenanceKind, ID: step.Ref().ID, Namespace: step.Namespace, Table: step.Name})
	if err != nil {
		return err
	}
	for _, activity := range []func(context.Context, workflows.MaintenanceStep) (workflows.MaintenanceProgress, error){a.Compact, a.Reclaim} {
		for over := false; !over; {
			var suite testsuite.WorkflowTestSuite
			suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
			env := suite.NewTestActivityEnvironment()
			env.RegisterActivity(activity)
			v, err := env.ExecuteActivity(activity, step)
			if err != nil {
				return err
			}
			var p workflows.MaintenanceProgress
			if err := v.Get(&p); err != nil {
				return err
			}
			over = p.Over
		}
	}
	p, err := records.Procedure(ctx, catalog.MaintenanceKind, step.Ref().ID)
	if err == nil && p.State != catalog.ProcedureCompleted {
		err = lake.Errorf(lake.Unknown, "the maintenance is %s: %s", p.State, p.LastError)
	}
	return err
}
