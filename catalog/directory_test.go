// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/hookstore"
	"github.com/lakeplane/lake/metastore/memory"
)

func prepared(t *testing.T) (*hookstore.Store, *catalog.Catalog, catalog.Fence) {
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
	store.OnGet(func(key string) error {
		if strings.HasSuffix(key, "directory-generation") && made < limit {
			made++
			create(t, calm, fence, name(fmt.Sprintf("a.t%d", made)))
		}
		return nil
	})
	dir, err := c.Directory(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, dir.Tables, 3)

	limit = 1000
	_, err = c.Directory(t.Context(), "")
	requireKind(t, lake.Unavailable, err)
	require.LessOrEqual(t, made, 3+6, "three tries, not more")
}

// crowd is a store with many tables, all of them like one that is in it.
type crowd struct {
	metastore.Store
	like   catalog.Table
	tables int
	scan   func(limit int) // is told of every page
}

func (c *crowd) Scan(_ context.Context, _, cursor string, limit int) (metastore.Page, error) {
	c.scan(limit)
	var page metastore.Page
	at, _ := strconv.Atoi(cursor)
	for ; at < c.tables && len(page.Records) < limit; at++ {
		n := lake.TableName{Namespace: c.like.Name.Namespace, Name: fmt.Sprintf("t%06d", at)}
		raw := strings.Replace(string(c.like.Raw()), strconv.Quote(c.like.Name.Name), strconv.Quote(n.Name), 1)
		page.Records = append(page.Records, metastore.Record{Key: catalog.TableKey(n), Value: []byte(raw)})
	}
	if at < c.tables {
		page.Next = strconv.Itoa(at)
	}
	return page, nil
}

func TestDirectoryHoldsSoManyTablesAndNoMore(t *testing.T) {
	store, c, fence := prepared(t)
	many := &crowd{Store: store, like: create(t, c, fence, name("a.like")), scan: func(limit int) {
		require.LessOrEqual(t, limit, 64, "a page is bounded, and what is on it is counted before the next")
	}}
	c = catalog.New(many, catalog.Options{})
	many.tables = catalog.MaxDirectoryEntries
	dir, err := c.Directory(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, dir.Tables, catalog.MaxDirectoryEntries)
	many.tables++
	_, err = c.Directory(t.Context(), "")
	requireKind(t, lake.Exhausted, err)
	require.ErrorContains(t, err, "100000 tables")
}

// TestDirectoriesAreBuiltOneAtATime: each may take the memory that one is
// allowed, however many ask.
func TestDirectoriesAreBuiltOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := hookstore.New(memory.New())
		fence := lead(t, store)
		like := create(t, catalog.New(store, catalog.Options{}), fence, name("a.like"))
		building, most := 0, 0
		var mu sync.Mutex
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			building += n
			most = max(most, building)
		}
		c := catalog.New(&crowd{Store: store, like: like, tables: 3, scan: func(int) {
			count(1)
			time.Sleep(time.Second)
			count(-1)
		}}, catalog.Options{})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := c.Directory(t.Context(), ""); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.Equal(t, 1, most)
		impatient, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		all.Go(func() { _, _ = c.Directory(t.Context(), "") })
		synctest.Wait()
		_, err := c.Directory(impatient, "")
		require.ErrorIs(t, err, context.DeadlineExceeded, "who waits for a turn may leave")
		all.Wait()
	})
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
	store.OnGet(func(key string) error { return metastore.ErrRetryable })
	_, err = c.Directory(t.Context(), "")
	requireKind(t, lake.Unavailable, err)
}
