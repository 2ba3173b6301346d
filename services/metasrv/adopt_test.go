// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/services/metasrv"
)

// adopting is an engine that takes every proposal for the next version.
type adopting struct{ *disturbed }

func (a adopting) Adopt(_ context.Context, base lake.Snapshot, p engine.Proposal) (engine.Staged, error) {
	if p.Version != base.Version+1 {
		return engine.Staged{}, lake.Errorf(lake.Conflict, "the table is at version %d", base.Version)
	}
	next := base
	next.Version, next.Manifest.Path = p.Version, p.Key
	records := engine.Records{Latest: "memory-latest", History: "memory-version"}
	return engine.Staged{Snapshot: next, Ops: records.Advance(base, next, nil)}, nil
}

// AdoptFirst takes any first version but one that is said to be bad.
func (a adopting) AdoptFirst(_ context.Context, loc lake.Location, inc lake.Incarnation, p engine.Proposal) (engine.Staged, *arrow.Schema, error) {
	if p.Key == "bad" {
		return engine.Staged{}, nil, lake.Errorf(lake.Unsupported, "bad")
	}
	first := lake.Snapshot{Engine: "memory", Location: loc, Incarnation: inc, Version: 1, Manifest: lake.Manifest{Path: p.Key, Size: 1}}
	records := engine.Records{Latest: "memory-latest", History: "memory-version"}
	return engine.Staged{Snapshot: first, Ops: records.Create(first)}, ints, nil
}

func (a adopting) Holds(_ context.Context, s lake.Snapshot, p engine.Proposal) (bool, error) {
	return s.Version == p.Version && s.Manifest.Path == p.Key, nil
}

func (a adopting) VersionKey(lake.Snapshot) string { return "" }

// Publish counts; the objects are nobody's here.
func (a adopting) Publish(_ context.Context, s lake.Snapshot) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.published = append(a.published, s.Version)
	if a.publish != nil {
		return a.publish(s)
	}
	return nil
}

func TestAProposedVersionIsCommittedOnceAndPublished(t *testing.T) {
	var e adopting
	a := start(t, func(o *metasrv.Options) {
		e = adopting{o.Engine.(*disturbed)}
		o.Engine = e
	})
	a.create(t, "a", "t")
	name := lake.TableName{Namespace: "a", Name: "t"}
	p := engine.Proposal{Version: 2, Key: "one"}
	for range 2 { // the second is who missed the answer
		table, err := a.Adopt(t.Context(), name, p)
		require.NoError(t, err)
		require.Equal(t, lake.Version(2), table.Snapshot.Version)
		require.Equal(t, "one", table.Snapshot.Manifest.Path)
	}
	for _, late := range []engine.Proposal{{Version: 2, Key: "other"}, {Version: 1, Key: "one"}, {Version: 9, Key: "one"}} {
		_, err := a.Adopt(t.Context(), name, late)
		require.True(t, lake.Is(err, lake.Conflict), "%v", err)
	}
	e.set(func(d *disturbed) { require.Equal(t, []lake.Version{1, 2}, d.published) })

	// One that cannot be published may have been committed, and says so; repeated,
	// it is published.
	e.set(func(d *disturbed) {
		d.publish = func(lake.Snapshot) error { return lake.Errorf(lake.NotFound, "away") }
	})
	p = engine.Proposal{Version: 3, Key: "two"}
	_, err := a.Adopt(t.Context(), name, p)
	require.True(t, lake.Is(err, lake.Undetermined), "%v", err)
	e.set(func(d *disturbed) { d.publish = nil })
	table, err := a.Adopt(t.Context(), name, p)
	require.NoError(t, err)
	require.Equal(t, lake.Version(3), table.Snapshot.Version)

	_, err = a.Adopt(t.Context(), lake.TableName{Namespace: "a", Name: "none"}, p)
	require.True(t, lake.Is(err, lake.NotFound))
}

func TestAFollowerSaysWhereToWrite(t *testing.T) {
	store, storage := memory.New(), enginetest.NewMemory()
	defer store.Close()
	wrap := func(o *metasrv.Options) { o.Engine = adopting{o.Engine.(*disturbed)} }
	leader := startOn(t, store, storage, wrap, func(o *metasrv.Options) {
		o.Election = catalog.ElectionOptions{Address: "leader:1"}
	})
	require.Eventually(t, leader.Leading, 20*time.Second, time.Millisecond)
	leader.create(t, "a", "t")
	follower := startOn(t, store, storage, wrap, func(o *metasrv.Options) { o.Election = catalog.ElectionOptions{Address: "f:1"} })
	require.Eventually(t, follower.Ready, 20*time.Second, time.Millisecond)
	_, err := follower.Adopt(t.Context(), lake.TableName{Namespace: "a", Name: "t"}, engine.Proposal{Version: 2})
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
	require.ErrorContains(t, err, "leader:1")

	plain := startOn(t, store, storage, func(o *metasrv.Options) { o.Election = catalog.ElectionOptions{Address: "p:1"} })
	_, err = plain.Adopt(t.Context(), lake.TableName{Namespace: "a", Name: "t"}, engine.Proposal{Version: 2})
	require.True(t, lake.Is(err, lake.Unsupported), "%v", err)
}
