// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

const (
	internalPrefix = "__lake_internal/"
	generationKey  = internalPrefix + "catalog-directory-generation"
	authorityKey   = internalPrefix + "catalog-directory-authoritative"
	authorityV1    = "v1"
)

// Bounds of a directory. Both keep the memory of one construction bounded;
// bytes are counted before an entry is retained.
const (
	MaxDirectoryEntries = 100_000
	MaxDirectoryBytes   = 64 << 20

	directoryPage  = 64
	directoryTries = 3
	// entryOverhead is counted for each entry beside its names and schema.
	entryOverhead = 256
)

// Directory is the set of all tables at one moment.
type Directory struct {
	// Generation identifies the set. It is opaque and never shown to users.
	// It is empty while the deployment is not authoritative, and then the
	// directory can never be "not modified".
	Generation string
	// NotModified says that the caller's generation is current; Tables is nil.
	NotModified bool
	// Tables are sorted by name. Names, schemas, incarnations and locations
	// are those of the generation; versions are as of some moment of its
	// construction and move on without a new generation.
	Tables []Table
}

// directoryBuilder lets one directory be built at a time and remembers that
// the deployment is authoritative, which never ends.
type directoryBuilder struct {
	turn          turn
	authoritative atomic.Bool
}

// Prepare makes a fresh deployment authoritative: from its first table on,
// every change of the set of tables replaces the generation, because no older
// writer can exist. A store that holds tables without the marker is left for
// the catalog-finalize procedure. It is idempotent; a new leader calls it.
func (c *Catalog) Prepare(ctx context.Context, fence Fence) error {
	if err := fence.check(); err != nil {
		return err
	}
	fresh, err := c.fresh(ctx)
	if err != nil || !fresh {
		return lake.Wrap("prepare the catalog", err)
	}
	generation := metastore.Create(generationKey, newGeneration())
	err = c.commit(ctx, generation, []metastore.Op{
		fence.stripe(0), metastore.Create(authorityKey, []byte(authorityV1)), generation,
	})
	if isConflict(err) && !c.holds(ctx, fence.stripe(0)) {
		return lake.Errorf(lake.Fenced, "prepare the catalog: another leader took over from epoch %d", fence.epoch)
	}
	if isConflict(err) {
		return nil // another leader has done it, or its first table came first
	}
	return lake.Wrap("prepare the catalog", err)
}

// fresh reports whether the store has neither a directory nor a table.
func (c *Catalog) fresh(ctx context.Context) (bool, error) {
	for _, key := range []string{authorityKey, generationKey} {
		if raw, err := c.read(ctx, key); err != nil || raw != nil {
			return false, err
		}
	}
	for cursor := ""; ; {
		page, err := c.store.Scan(ctx, tablePrefix, cursor, directoryPage)
		if err != nil || len(page.Records) > 0 {
			return false, err
		}
		if cursor = page.Next; cursor == "" {
			return true, nil
		}
	}
}

func newGeneration() []byte { return []byte(lake.NewID().String()) }

// nextGeneration returns the operation that replaces the current generation.
func (c *Catalog) nextGeneration(ctx context.Context) (metastore.Op, error) {
	old, err := c.read(ctx, generationKey)
	if err != nil {
		return metastore.Op{}, lake.Wrap("read the directory generation", err)
	}
	if old == nil {
		return metastore.Create(generationKey, newGeneration()), nil
	}
	return metastore.Update(generationKey, old, newGeneration()), nil
}

// Directory returns all tables, or NotModified when known is the current
// generation. It costs one or two point reads when nothing changed, and a scan
// otherwise. A set that changes during the scan is scanned again, three times
// at most, then the call fails with lake.Unavailable. A set over the bounds is
// lake.Exhausted.
func (c *Catalog) Directory(ctx context.Context, known string) (Directory, error) {
	dir, err := c.directory(ctx, known)
	return dir, lake.Wrap("read the table directory", err)
}

func (c *Catalog) directory(ctx context.Context, known string) (Directory, error) {
	if unchanged, err := c.unchanged(ctx, known); err != nil || unchanged {
		return Directory{Generation: known, NotModified: unchanged}, err
	}
	if err := c.building.turn.lock(ctx); err != nil {
		return Directory{}, err
	}
	defer c.building.turn.unlock()
	for range directoryTries {
		before, err := c.generation(ctx)
		if err != nil {
			return Directory{}, err
		}
		tables, err := c.scanTables(ctx)
		if err != nil {
			return Directory{}, err
		}
		after, err := c.generation(ctx)
		if err != nil {
			return Directory{}, err
		}
		if before == after {
			return Directory{Generation: after, Tables: tables}, nil
		}
	}
	return Directory{}, lake.Errorf(lake.Unavailable, "tables were created or dropped during each of %d scans: try again", directoryTries)
}

func (c *Catalog) unchanged(ctx context.Context, known string) (bool, error) {
	if known == "" {
		return false, nil
	}
	current, err := c.generation(ctx)
	return err == nil && current == known, err
}

// generation returns the current generation, or "" while the deployment is not
// authoritative: an old writer may then change the set without a new one.
func (c *Catalog) generation(ctx context.Context) (string, error) {
	if !c.building.authoritative.Load() {
		marker, err := c.read(ctx, authorityKey)
		if err != nil || marker == nil {
			return "", err
		}
		if string(marker) != authorityV1 {
			return "", lake.Errorf(lake.Unsupported, "record %q holds %q: this release knows %q", authorityKey, marker, authorityV1)
		}
		c.building.authoritative.Store(true)
	}
	raw, err := c.read(ctx, generationKey)
	if err == nil && raw == nil {
		err = lake.Errorf(lake.Corrupt, "record %q is missing although the directory is authoritative", generationKey)
	}
	return string(raw), err
}

func (c *Catalog) scanTables(ctx context.Context) ([]Table, error) {
	var tables []Table
	size := 0
	for cursor := ""; ; {
		page, next, err := c.List(ctx, "", cursor, directoryPage)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			size += len(t.Name.Namespace) + len(t.Name.Name) + len(t.Schema) + entryOverhead
			if len(tables) == MaxDirectoryEntries || size > MaxDirectoryBytes {
				return nil, lake.Errorf(lake.Exhausted, "the directory is over its bounds of %d tables and %d bytes", MaxDirectoryEntries, MaxDirectoryBytes)
			}
			t.raw, t.packed = nil, packedSchema{}
			tables = append(tables, t)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	slices.SortFunc(tables, func(a, b Table) int { return a.Name.Compare(b.Name) })
	return tables, nil
}
