// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

const (
	tablePrefix = "tbl/"
	// tombstoneRoom is what a tombstone adds around the table record it holds:
	// requester and reason in the worst JSON spelling, times, names.
	tombstoneRoom = 16 << 10
	// maxTableRecord leaves room for the record to grow by a few digits, and
	// for a tombstone to hold it.
	maxTableRecord = metastore.MaxValueBytes - tombstoneRoom
)

// Table is what a name stands for: one snapshot of one incarnation.
type Table struct {
	Name     lake.TableName
	Snapshot lake.Snapshot
	// Schema is the registered Arrow schema as an IPC stream without batches.
	// The caller must not change its bytes.
	Schema    []byte
	CreatedAt time.Time
	// UpdatedAt is when the current version was committed.
	UpdatedAt time.Time
	// Reclaimed is how far old versions were given up.
	Reclaimed Reclaimed

	// raw is the exact record, by which the next change identifies this one;
	// packed is the schema as the record spells it.
	raw    []byte
	packed packedSchema
}

func tableKey(name lake.TableName) string { return tablePrefix + name.Path() }

type tableRecord struct {
	header
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	Snapshot  lake.Snapshot `json:"snapshot"`
	packedSchema
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Reclaimed Reclaimed `json:"reclaimed,omitzero"`
}

// stored returns t as a new write of it leaves it, with its bytes.
func (t Table) stored() Table {
	t.CreatedAt, t.UpdatedAt, t.Reclaimed.At = stamp(t.CreatedAt), stamp(t.UpdatedAt), stamp(t.Reclaimed.At)
	t.raw = tableRecord{
		header: newHeader(), Namespace: t.Name.Namespace, Name: t.Name.Name,
		Snapshot: t.Snapshot, packedSchema: t.packed, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, Reclaimed: t.Reclaimed,
	}.encode()
	return t
}

func decodeTable(found metastore.Record) (Table, error) {
	var r tableRecord
	if err := decode(found.Key, found.Value, &r); err != nil {
		return Table{}, err
	}
	t := Table{
		Name: lake.TableName{Namespace: r.Namespace, Name: r.Name}, Snapshot: r.Snapshot,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Reclaimed: r.Reclaimed, raw: found.Value, packed: r.packedSchema,
	}
	if tableKey(t.Name) != found.Key || t.Snapshot.Incarnation.IsZero() || t.Snapshot.Version == 0 {
		return Table{}, lake.Errorf(lake.Corrupt, "record %q holds table %s, incarnation %s, version %d",
			found.Key, t.Name, t.Snapshot.Incarnation, t.Snapshot.Version)
	}
	schema, err := r.unpack()
	if err != nil {
		return Table{}, lake.Errorf(lake.Corrupt, "record %q: %w", found.Key, err)
	}
	t.Schema = schema
	return t, nil
}

// Get returns what the name stands for now; lake.NotFound when nothing.
func (c *Catalog) Get(ctx context.Context, name lake.TableName) (Table, error) {
	if err := name.Validate(); err != nil {
		return Table{}, err
	}
	found, err := c.store.Get(ctx, tableKey(name))
	if errors.Is(err, metastore.ErrNotFound) {
		return Table{}, lake.Errorf(lake.NotFound, "no table %s", name)
	}
	if err != nil {
		return Table{}, lake.Wrap("read table "+name.String(), err)
	}
	return decodeTable(found)
}

// GetIncarnation returns what one incarnation of a table is now; lake.NotFound
// when it was dropped, also where another one carries its name.
func (c *Catalog) GetIncarnation(ctx context.Context, name lake.TableName, inc lake.Incarnation) (Table, error) {
	t, err := c.Get(ctx, name)
	if err == nil && t.Snapshot.Incarnation != inc {
		return Table{}, lake.Errorf(lake.NotFound, "no incarnation %s of table %s", inc, name)
	}
	return t, err
}

// List returns one page of the tables of a namespace, or of all when it is
// empty. cursor is empty for the first page and next of the page before for
// the others; an empty next ends the listing. A page may be empty and still
// have a next one. limit is 1..[lake.MaxPageSize]. The order across pages is
// the metastore's.
func (c *Catalog) List(ctx context.Context, namespace, cursor string, limit int) (page []Table, next string, err error) {
	prefix := tablePrefix
	if namespace != "" {
		if err := lake.ValidateNamespace(namespace); err != nil {
			return nil, "", err
		}
		prefix += namespace + "/"
	}
	return scanPage(ctx, c.store, prefix, cursor, limit, decodeTable)
}
