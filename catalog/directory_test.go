// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

func prepared(t *testing.T) (*hooked, *catalog.Catalog, catalog.Fence) {
	t.Helper()
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	require.NoError(t, c.Prepare(t.Context(), fence))
	return store, c, fence
}

func TestDirectoryGenerationMovesWithTheSetOnly(t *testing.T) {
	_, c, fence := prepared(t)
	empty, err := c.Directory(t.Context(), "")
	require.NoError(t, err)
	require.NotEmpty(t, empty.Generation, "a fresh deployment is born authoritative")
	require.Empty(t, empty.Tables)

	table := create(t, c, fence, name("a.t"))
	create(t, c, fence, name("a.T"))
	one, err := c.Directory(t.Context(), empty.Generation)
	require.NoError(t, err)
	require.False(t, one.NotModified)
	require.NotEqual(t, empty.Generation, one.Generation)
	require.Equal(t, "a.T a.t", one.Tables[0].Name.String()+" "+one.Tables[1].Name.String())
	require.Equal(t, "schema of a.t", string(one.Tables[1].Schema))

	moved, err := advance(t, c, fence, table, operation())
	require.NoError(t, err)
	same, err := c.Directory(t.Context(), one.Generation)
	require.NoError(t, err)
	require.True(t, same.NotModified, "an append does not move the generation")
	require.Empty(t, same.Tables)

	_, err = c.Drop(t.Context(), fence, moved, records.Retire(moved.Snapshot), catalog.DropRequest{PurgeAfter: time.Now()})
	require.NoError(t, err)
	less, err := c.Directory(t.Context(), one.Generation)
	require.NoError(t, err)
	require.Len(t, less.Tables, 1)
	require.False(t, less.NotModified)
}

func TestDirectoryWithoutAuthorityIsNeverUnmodified(t *testing.T) {
	store := newHooked(t)
	c, fence := catalog.New(store, catalog.Options{}), lead(t, store)
	create(t, c, fence, name("a.t"))
	require.NoError(t, c.Prepare(t.Context(), fence), "a store with tables is left alone")
	for range 2 {
		dir, err := c.Directory(t.Context(), "")
		require.NoError(t, err)
		require.Empty(t, dir.Generation)
		require.Len(t, dir.Tables, 1)
	}
}

func TestPrepareIsIdempotentAndFenced(t *testing.T) {
	store := newHooked(t)
	c, stale := catalog.New(store, catalog.Options{}), lead(t, store)
	fence := lead(t, store)
	requireKind(t, lake.Fenced, c.Prepare(t.Context(), stale))
	requireKind(t, lake.Fenced, c.Prepare(t.Context(), catalog.Fence{}))
	require.NoError(t, c.Prepare(t.Context(), fence))
	before := dump(t, store)
	require.NoError(t, c.Prepare(t.Context(), fence))
	require.Equal(t, before, dump(t, store))
}

// TestDirectoryMovingDuringTheScan creates a table inside every read of the
// generation, so that no scan is of one generation.
func TestDirectoryMovingDuringTheScan(t *testing.T) {
	store, c, fence := prepared(t)
	calm := catalog.New(store.Store, catalog.Options{})
	made, limit := 0, 3
	store.get = func(key string) error {
		if strings.HasSuffix(key, "directory-generation") && made < limit {
			made++
			create(t, calm, fence, name(fmt.Sprintf("a.t%d", made)))
		}
		return nil
	}
	dir, err := c.Directory(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, dir.Tables, 3)

	limit = 1000
	_, err = c.Directory(t.Context(), "")
	requireKind(t, lake.Unavailable, err)
	require.LessOrEqual(t, made, 3+6, "three tries, not more")
}

func TestDirectoryBounds(t *testing.T) {
	store, c, fence := prepared(t)
	for i := range catalog.MaxDirectoryBytes/lake.MaxSchemaBytes + 1 {
		table, ops := first(name(fmt.Sprintf("a.t%d", i)))
		table.Schema = make([]byte, lake.MaxSchemaBytes)
		_, err := c.Create(t.Context(), fence, table, ops)
		require.NoError(t, err)
	}
	_, err := c.Directory(t.Context(), "")
	requireKind(t, lake.Exhausted, err)
	store.get = func(key string) error { return metastore.ErrRetryable }
	_, err = c.Directory(t.Context(), "")
	requireKind(t, lake.Unavailable, err)
}
