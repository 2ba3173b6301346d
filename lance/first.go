// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/schema"
)

// ArrowSchema returns the schema that batches of the version are handed out with.
func (m *Manifest) ArrowSchema() (*arrow.Schema, error) {
	_, registered, err := m.arrowSchemas()
	return registered, err
}

// CheckFirst decides whether version 1 of a dataset that another writer made can
// be the beginning of one that is written here: that its transaction made it from
// nothing, that it has feature flags and a data format this package can go on
// from, columns it can store, no configuration by which other writers would
// delete versions, and that the objects of its rows are there, with readable
// footers and the rows it claims. What is added is in the result.
//
// Errors are those of [CheckSuccessor]; lake.Conflict: it is not version 1.
func CheckFirst(ctx context.Context, st Storage, m *Manifest) (Successor, error) {
	if m.Version() != 1 {
		return Successor{}, lake.Errorf(lake.Conflict, "the manifest is of version %d: a table begins with version 1", m.Version())
	}
	c := &successor{st: st, base: &Manifest{pb: new(lancepb.Manifest)}, next: m, name: "overwrite", changes: allowed{add: true}}
	for _, check := range []func(context.Context) error{c.firstHeader, c.firstOperation, c.fragments, c.indexes} {
		if err := check(ctx); err != nil {
			return Successor{}, invalidate(err)
		}
	}
	slices.Sort(c.added)
	return Successor{Operation: c.name, Added: c.added}, nil
}

// deletesVersions begins the names of configuration by which other writers delete
// old versions at their commits, whatever is to stay.
const deletesVersions = "lance.auto_cleanup."

func (c *successor) firstHeader(context.Context) error {
	pb := c.next.pb
	if err := c.flags(); err != nil {
		return err
	}
	if f := pb.GetDataFormat(); f.GetFileFormat() != "lance" || f.GetVersion() != dataVersion {
		return unsupported("data format %q, version %q: want \"lance\", version %q, which is LanceDB's default (data_storage_version)",
			f.GetFileFormat(), f.GetVersion(), dataVersion)
	}
	for key := range pb.GetConfig() {
		if strings.HasPrefix(key, deletesVersions) {
			return unsupported("configuration %q: old versions are deleted by the table's own maintenance; leave it out", key)
		}
	}
	if pb.GetTableMetadata()[registeredKey] != "" {
		return invalid("table metadata %q is not for other writers", registeredKey)
	}
	s, err := c.next.ArrowSchema()
	if err != nil {
		return err
	}
	if s.NumFields() == 0 {
		return invalid("the table has no columns")
	}
	if pb.GetTimestamp() == nil {
		return invalid("the manifest has no timestamp")
	}
	return schema.Check(s)
}

// firstOperation reads the transaction, which is in the manifest or beside it.
func (c *successor) firstOperation(ctx context.Context) error {
	tx, err := c.readTransaction(ctx)
	if err != nil {
		return err
	}
	if tx.GetReadVersion() != 0 {
		return invalid("the transaction was made on version %d, and there is none", tx.GetReadVersion())
	}
	if _, ok := tx.GetOperation().(*lancepb.Transaction_Overwrite_); !ok {
		return unsupported("an operation of kind %s does not make a table: want overwrite", operationKind(tx))
	}
	return nil
}
