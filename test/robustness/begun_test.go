// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/lakeplane/lake/activities/sweep"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/workflows"
)

// idle is a workflow engine in which nothing runs.
type idle struct{}

func (idle) Start(context.Context, string, string) error { return nil }
func (idle) Open(context.Context, workflows.Kind) (map[string]bool, error) {
	return map[string]bool{}, nil
}
func (idle) Recheck(context.Context, workflows.Ref) error { return nil }

// sweepOnce runs the sweep's activity as of a time.
func (c *cluster) sweepOnce(store metastore.Store, at time.Time) (r workflows.SweepResult) {
	c.t.Helper()
	records := catalog.New(store, catalog.Options{})
	a := sweep.New(records, idle{}, sweep.Options{Declarations: records, Objects: c.objects, StartEvery: 1, Now: func() time.Time { return at }})
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a.Sweep)
	v, err := env.ExecuteActivity(a.Sweep, workflows.SweepStep{})
	require.NoError(c.t, err)
	require.NoError(c.t, v.Get(&r))
	require.Zero(c.t, r.Failed, r.LastError)
	return r
}

// TestKilledBetweenStagingAndRegistering: a metadata server that dies with version
// 1 of a table staged and not registered leaves objects. The sweep deletes them
// when the declaration has expired, and nothing of the table that is made in the
// place of that one.
func TestKilledBetweenStagingAndRegistering(t *testing.T) {
	c := newCluster(t, onPebble)
	p := c.start("a").leading(t)
	kept := c.create("kept")
	p.arm(begun, 1)
	name := lake.TableName{Namespace: "r", Name: "t"}
	failed := make(chan error, 1)
	go func() {
		_, err := createTable(t.Context(), p, name)
		failed <- err
	}()
	p.await(t, "the create to be staged", func(r *reported) bool { return r.waiting[begun] })
	p.kill()
	require.Error(t, <-failed)

	var left catalog.Declaration
	c.withStore(func(store metastore.Store) {
		page, _, err := catalog.New(store, catalog.Options{}).Declarations(t.Context(), "", 10)
		require.NoError(t, err)
		require.Len(t, page, 1)
		left = page[0]
		require.Equal(t, name, left.Name)
		require.Len(t, c.objectsOf(left.Location()), 1, "its manifest")
		require.Zero(t, c.sweepOnce(store, time.Now()).Deleted, "it has not expired")
	})
	c.revive()
	require.Equal(t, name, c.create("t")) // the name is in nobody's way
	c.withStore(func(store metastore.Store) {
		r := c.sweepOnce(store, left.Expires.Add(time.Second))
		require.EqualValues(t, 1, r.Abandoned)
		require.EqualValues(t, 1, r.Deleted)
		require.Empty(t, c.objectsOf(left.Location()))
		c.sweepOnce(store, left.Expires.Add(24*time.Hour))
		page, _, err := catalog.New(store, catalog.Options{}).Declarations(t.Context(), "", 10)
		require.NoError(t, err)
		require.Empty(t, page)
	})
	c.revive()
	for _, table := range []lake.TableName{kept, name} {
		snap := c.snapshot(c.leader(), table)
		require.NotEqual(t, left.Incarnation, snap.Incarnation)
		require.NotEmpty(t, c.objectsOf(snap.Location))
	}
}

func (c *cluster) objectsOf(loc lake.Location) (keys []string) {
	c.t.Helper()
	infos, more, err := c.objects.List(c.t.Context(), loc.Prefix(), "", 1000)
	require.NoError(c.t, err)
	require.False(c.t, more)
	for _, info := range infos {
		keys = append(keys, info.Key)
	}
	return keys
}
