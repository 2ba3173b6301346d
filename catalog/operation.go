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
	operationPrefix = "append-operation/v1/"
	// maxTenantBytes bounds a tenant's name.
	maxTenantBytes = 64
)

// Operation identifies one logical append to a table and says what was in it.
type Operation struct {
	Tenant string
	ID     lake.OperationID
	Digest lake.Digest
	// Rows is the number of rows, kept so that a replay can repeat the answer.
	Rows uint64
}

// OperationRecord says which version an append operation became. It appears in
// the same commit as that version, so it exists exactly when the rows do.
type OperationRecord struct {
	Table lake.TableName
	Operation
	Incarnation lake.Incarnation
	// Base is the version the append was committed on, Version the one it is
	// part of. Several operations may share both.
	Base, Version lake.Version
	CommittedAt   time.Time

	raw []byte
}

// RemoveOp returns the operation that forgets exactly this record. A record
// may go when [Catalog.Forgettable] says so.
func (r OperationRecord) RemoveOp() metastore.Op { return metastore.Remove(r.key(), r.raw) }

func (r OperationRecord) key() string { return operationKey(r.Tenant, r.Table, r.ID) }

func operationKey(tenant string, table lake.TableName, id lake.OperationID) string {
	return operationPrefix + tenant + "/" + table.Path() + "/" + id.String()
}

type operationRecord struct {
	header
	Tenant      string           `json:"tenant"`
	Namespace   string           `json:"namespace"`
	Name        string           `json:"name"`
	ID          lake.OperationID `json:"operation"`
	Digest      lake.Digest      `json:"sha256"`
	Rows        uint64           `json:"rows"`
	Incarnation lake.Incarnation `json:"incarnation"`
	Base        lake.Version     `json:"base_version"`
	Version     lake.Version     `json:"result_version"`
	State       string           `json:"state"`
	CommittedAt time.Time        `json:"committed_at"`
}

// operationCommitted is the only state: a record appears with its version.
const operationCommitted = "committed"

func (r OperationRecord) createOp() metastore.Op {
	return metastore.Create(r.key(), operationRecord{
		header: newHeader(), Tenant: r.Tenant, Namespace: r.Table.Namespace, Name: r.Table.Name,
		ID: r.ID, Digest: r.Digest, Rows: r.Rows, Incarnation: r.Incarnation,
		Base: r.Base, Version: r.Version, State: operationCommitted, CommittedAt: stamp(r.CommittedAt),
	}.encode())
}

func decodeOperation(found metastore.Record) (OperationRecord, error) {
	var r operationRecord
	if err := decode(found.Key, found.Value, &r); err != nil {
		return OperationRecord{}, err
	}
	out := OperationRecord{
		Table:       lake.TableName{Namespace: r.Namespace, Name: r.Name},
		Operation:   Operation{Tenant: r.Tenant, ID: r.ID, Digest: r.Digest, Rows: r.Rows},
		Incarnation: r.Incarnation, Base: r.Base, Version: r.Version, CommittedAt: r.CommittedAt,
		raw: found.Value,
	}
	if out.key() != found.Key || r.State != operationCommitted || out.Version == 0 {
		return OperationRecord{}, lake.Errorf(lake.Corrupt, "record %q holds operation %s of %s, state %q, version %d",
			found.Key, r.ID, out.Table, r.State, r.Version)
	}
	return out, nil
}

// ValidateTenant refuses anything but 1..64 bytes of [A-Za-z0-9_-].
func ValidateTenant(tenant string) error {
	if tenant == "" || len(tenant) > maxTenantBytes {
		return lake.Errorf(lake.Invalid, "tenant of %d bytes: want 1..%d of [A-Za-z0-9_-]", len(tenant), maxTenantBytes)
	}
	for i, r := range tenant {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return lake.Errorf(lake.Invalid, "tenant: character %q at byte %d is not allowed: want [A-Za-z0-9_-]", r, i)
		}
	}
	return nil
}

// Operation returns the record of one append operation; lake.NotFound when
// none is remembered.
func (c *Catalog) Operation(ctx context.Context, tenant string, name lake.TableName, id lake.OperationID) (OperationRecord, error) {
	if err := errors.Join(ValidateTenant(tenant), name.Validate()); err != nil {
		return OperationRecord{}, lake.Wrap("read operation", err)
	}
	found, err := c.store.Get(ctx, operationKey(tenant, name, id))
	if errors.Is(err, metastore.ErrNotFound) {
		return OperationRecord{}, lake.Errorf(lake.NotFound, "no operation %s on %s", id, name)
	}
	if err != nil {
		return OperationRecord{}, lake.Wrap("read operation "+id.String(), err)
	}
	return decodeOperation(found)
}

// Operations returns one page of all remembered operations; the rules of
// cursor and limit are those of [Catalog.List].
func (c *Catalog) Operations(ctx context.Context, cursor string, limit int) (page []OperationRecord, next string, err error) {
	return scanPage(ctx, c.store, operationPrefix, cursor, limit, decodeOperation)
}

// Replay decides whether the operation may be applied to the table. It returns
// the record when the operation is already in it, with the same digest, and
// found=false when it is new. Otherwise it refuses:
//
//   - lake.Invalid: the id is from the future, by more than
//     [lake.OperationFutureSkew];
//   - lake.Precondition: the id is older than the retention, so nobody knows
//     any more whether it was applied; or it was applied to an earlier table
//     of this name;
//   - lake.AlreadyExists: the id was used for another payload.
func (c *Catalog) Replay(ctx context.Context, table Table, op Operation) (record OperationRecord, found bool, err error) {
	if err := c.checkAge(op.ID); err != nil {
		return OperationRecord{}, false, err
	}
	record, err = c.Operation(ctx, op.Tenant, table.Name, op.ID)
	switch {
	case lake.Is(err, lake.NotFound):
		// The read may have taken long enough for the record to be forgotten
		// before it. An id that is young enough even now had none.
		return OperationRecord{}, false, c.checkAge(op.ID)
	case err != nil:
		return OperationRecord{}, false, err
	case record.Incarnation != table.Snapshot.Incarnation:
		return OperationRecord{}, false, lake.Errorf(lake.Precondition, "operation %s was applied to an earlier table %s, which was dropped since", op.ID, table.Name)
	case record.Digest != op.Digest:
		return OperationRecord{}, false, lake.Errorf(lake.AlreadyExists, "operation %s on %s was committed with another payload, sha256 %s", op.ID, table.Name, record.Digest)
	}
	return record, true, nil
}

func (c *Catalog) checkAge(id lake.OperationID) error {
	age := c.now().Sub(id.Time())
	switch {
	case age > c.retention:
		return lake.Errorf(lake.Precondition, "operation %s is %s old: operations are remembered for %s, so whether it was applied is no longer known",
			id, age.Round(time.Second), c.retention)
	case -age > lake.OperationFutureSkew:
		return lake.Errorf(lake.Invalid, "operation %s is from the future by %s: at most %s is allowed; check the clocks",
			id, (-age).Round(time.Second), lake.OperationFutureSkew)
	}
	return nil
}

// Forgettable reports whether the record may be removed: any replay of it is
// refused by its age from now on, on every replica whose clock is within
// [lake.OperationFutureSkew] of ours.
func (c *Catalog) Forgettable(r OperationRecord) bool {
	// An id may be ahead of its commit by one skew, and the clock of the
	// replica that sees the replay behind ours by another.
	const slack = 2 * lake.OperationFutureSkew
	return c.now().Sub(r.ID.Time()) > c.retention+slack
}
