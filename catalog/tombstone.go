// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

const (
	tombstonePrefix = "drop/"
	// DropKind is the kind of the procedure that deletes a dropped table.
	DropKind = "drop-table"
)

// Tombstone stands for a dropped incarnation from the moment its name is free
// until its last object is gone.
type Tombstone struct {
	// Table is the record that was removed, byte for byte.
	Table     Table
	Requester string
	Reason    string
	DroppedAt time.Time
	// PurgeAfter is when the objects may be deleted; until then the drop can
	// be undone.
	PurgeAfter time.Time

	raw []byte
}

// RemoveOp returns the operation that removes exactly this tombstone. It
// belongs to the commit that ends the drop.
func (t Tombstone) RemoveOp() metastore.Op {
	return metastore.Remove(tombstoneKey(t.Table.Name, t.Table.Snapshot.Incarnation), t.raw)
}

// ProcedureID is the id of the drop's procedure, of kind [DropKind].
func (t Tombstone) ProcedureID() string {
	return DropID(t.Table.Name, t.Table.Snapshot.Incarnation)
}

// DropID returns the id of the procedure that deletes an incarnation.
func DropID(name lake.TableName, inc lake.Incarnation) string {
	return name.Path() + "/" + inc.String()
}

func tombstoneKey(name lake.TableName, inc lake.Incarnation) string {
	return tombstonePrefix + DropID(name, inc)
}

type tombstoneRecord struct {
	header
	// Table is the removed record. Records are compact JSON, which embeds
	// without a change of its bytes; newTombstone checks that.
	Table      json.RawMessage `json:"table"`
	Requester  string          `json:"requester,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	DroppedAt  time.Time       `json:"dropped_at"`
	PurgeAfter time.Time       `json:"purge_after"`
}

func newTombstone(table Table, req DropRequest, now time.Time) (Tombstone, error) {
	t := Tombstone{
		Table: table, Requester: req.Requester, Reason: req.Reason,
		DroppedAt: stamp(now), PurgeAfter: stamp(req.PurgeAfter),
	}
	t.raw = encode(tombstoneRecord{
		header: newHeader(), Table: table.raw, Requester: t.Requester, Reason: t.Reason,
		DroppedAt: t.DroppedAt, PurgeAfter: t.PurgeAfter,
	})
	if !bytes.Contains(t.raw, table.raw) {
		return Tombstone{}, lake.Errorf(lake.Corrupt, "the record of table %s is not compact JSON, so its tombstone would not hold it exactly", table.Name)
	}
	return t, nil
}

func decodeTombstone(found metastore.Record) (Tombstone, error) {
	var r tombstoneRecord
	if err := decode(found.Key, found.Value, &r); err != nil {
		return Tombstone{}, err
	}
	var name struct{ Namespace, Name string }
	if err := json.Unmarshal(r.Table, &name); err != nil {
		return Tombstone{}, lake.Errorf(lake.Corrupt, "record %q: its table does not decode: %w", found.Key, err)
	}
	key := tableKey(lake.TableName(name))
	table, err := decodeTable(metastore.Record{Key: key, Value: r.Table})
	if err != nil {
		return Tombstone{}, lake.Wrap("tombstone "+found.Key, err)
	}
	if tombstoneKey(table.Name, table.Snapshot.Incarnation) != found.Key {
		return Tombstone{}, lake.Errorf(lake.Corrupt, "record %q holds the tombstone of %s", found.Key, DropID(table.Name, table.Snapshot.Incarnation))
	}
	return Tombstone{
		Table: table, Requester: r.Requester, Reason: r.Reason,
		DroppedAt: r.DroppedAt, PurgeAfter: r.PurgeAfter, raw: found.Value,
	}, nil
}

// Tombstone returns the tombstone of one incarnation; lake.NotFound when it
// was never dropped or its drop has ended.
func (c *Catalog) Tombstone(ctx context.Context, name lake.TableName, inc lake.Incarnation) (Tombstone, error) {
	if err := name.Validate(); err != nil {
		return Tombstone{}, err
	}
	found, err := c.store.Get(ctx, tombstoneKey(name, inc))
	if errors.Is(err, metastore.ErrNotFound) {
		return Tombstone{}, lake.Errorf(lake.NotFound, "no drop of %s in progress", DropID(name, inc))
	}
	if err != nil {
		return Tombstone{}, lake.Wrap("read tombstone "+DropID(name, inc), err)
	}
	return decodeTombstone(found)
}

// Tombstones returns one page of all drops in progress; the rules of cursor
// and limit are those of [Catalog.List].
func (c *Catalog) Tombstones(ctx context.Context, cursor string, limit int) (page []Tombstone, next string, err error) {
	return scanPage(ctx, c.store, tombstonePrefix, cursor, limit, decodeTombstone)
}

// TombstonesOf returns one page of the drops in progress of tables that
// carried the name, with the same rules.
func (c *Catalog) TombstonesOf(ctx context.Context, name lake.TableName, cursor string, limit int) (page []Tombstone, next string, err error) {
	if err := name.Validate(); err != nil {
		return nil, "", err
	}
	return scanPage(ctx, c.store, tombstonePrefix+name.Path()+"/", cursor, limit, decodeTombstone)
}
