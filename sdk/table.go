// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"iter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// Table describes a table as the catalog has it.
type Table struct {
	Name     lake.TableName
	Snapshot lake.Snapshot
	// Schema is nil in listings.
	Schema *arrow.Schema
	// CreatedAt is when this incarnation was made; UpdatedAt is the commit of
	// its current version.
	CreatedAt, UpdatedAt time.Time
}

// CreateTable makes a new, empty table. It fails with lake.AlreadyExists when
// the name is taken, and with lake.Invalid or lake.Unsupported, naming the
// column, when the schema cannot be stored; then nothing was made.
func (c *Client) CreateTable(ctx context.Context, name lake.TableName, schema *arrow.Schema) (Table, error) {
	if err := name.Validate(); err != nil {
		return Table{}, err
	}
	if schema == nil || schema.NumFields() == 0 {
		return Table{}, lake.Errorf(lake.Invalid, "create table %s: the schema needs at least one column", name)
	}
	encoded := flight.SerializeSchema(schema, memory.DefaultAllocator)
	if len(encoded) > lake.MaxSchemaBytes {
		return Table{}, lake.Errorf(lake.Invalid, "create table %s: the schema has %d bytes, at most %d are allowed", name, len(encoded), lake.MaxSchemaBytes)
	}
	c.forget(name)
	asked := c.memory.moment()
	p, err := c.catalog.CreateTable(ctx, &lakepb.CreateTableRequest{Name: nameToProto(name), Schema: encoded})
	t, err := tableResult("create table", name, p, err)
	c.memory.learn(asked, name, t.Snapshot.Incarnation, t.Schema)
	return t, err
}

// Table resolves a name to the table's current snapshot and schema, or fails
// with lake.NotFound.
func (c *Client) Table(ctx context.Context, name lake.TableName) (Table, error) {
	if err := name.Validate(); err != nil {
		return Table{}, err
	}
	asked := c.memory.moment()
	p, err := c.catalog.GetTable(ctx, &lakepb.GetTableRequest{Name: nameToProto(name)})
	t, err := tableResult("table", name, p, err)
	if lake.Is(err, lake.NotFound) {
		c.forget(name)
	}
	c.memory.learn(asked, name, t.Snapshot.Incarnation, t.Schema)
	return t, err
}

// ListTables lists the tables of a namespace, or of all when it is empty, by
// name and without schemas. Pages are fetched as the loop goes on; an error
// ends it.
func (c *Client) ListTables(ctx context.Context, namespace string) iter.Seq2[Table, error] {
	return func(yield func(Table, error) bool) {
		for token := ""; ; {
			page, err := c.catalog.ListTables(ctx, &lakepb.ListTablesRequest{Namespace: namespace, PageToken: token})
			if err != nil {
				yield(Table{}, lake.Wrap("list tables", grpcerr.FromStatus(err)))
				return
			}
			for _, p := range page.GetTables() {
				t, err := tableFromProto(p)
				if !yield(t, err) || err != nil {
					return
				}
			}
			if token = page.GetNextPageToken(); token == "" {
				return
			}
		}
	}
}

// DropOptions narrows [Client.DropTable]. The zero value drops what the name
// stands for now, with the server's undrop window.
type DropOptions struct {
	// Incarnation, when set, protects from dropping a table that was made
	// again under the same name.
	Incarnation lake.Incarnation
	// Reason is kept with the tombstone; at most 1024 bytes.
	Reason string
	// UndropWindow is how long the objects are kept; nil means the server's
	// default.
	UndropWindow *time.Duration
	// DryRun changes nothing and says what would be dropped.
	DryRun bool
}

// Drop is what a drop did.
type Drop struct {
	// Table is the table that is gone from the catalog.
	Table Table
	// Procedure deletes the table's objects; its kind is "drop-table".
	Procedure ProcedureID
	// PurgeAfter is when deletion may start. Until then [Client.UndropTable]
	// takes the drop back.
	PurgeAfter time.Time
	// UIURL is the procedure's page in the Temporal UI, if there is one.
	UIURL  string
	DryRun bool
}

// DropTable removes a table from the catalog at once and starts the durable
// procedure that deletes its objects. It is idempotent for an incarnation.
func (c *Client) DropTable(ctx context.Context, name lake.TableName, opts DropOptions) (Drop, error) {
	if err := name.Validate(); err != nil {
		return Drop{}, err
	}
	req := &lakepb.DropTableRequest{Name: nameToProto(name), Reason: opts.Reason, DryRun: opts.DryRun}
	if !opts.Incarnation.IsZero() {
		req.Incarnation = opts.Incarnation.String()
	}
	if opts.UndropWindow != nil {
		req.UndropWindow = durationpb.New(*opts.UndropWindow)
	}
	resp, err := c.catalog.DropTable(ctx, req)
	c.forget(name) // also when the outcome is not known
	t, err := tableResult("drop table", name, resp.GetDropped(), err)
	if err != nil {
		return Drop{}, err
	}
	return Drop{
		Table: t, Procedure: ProcedureID{Kind: dropKind, ID: resp.GetProcedureId()},
		PurgeAfter: resp.GetPurgeAfter().AsTime(), UIURL: resp.GetUiUrl(), DryRun: resp.GetDryRun(),
	}, nil
}

// UndropOptions narrows [Client.UndropTable].
type UndropOptions struct {
	// Incarnation chooses among several dropped tables that had the name.
	Incarnation lake.Incarnation
}

// UndropTable takes a drop back while nothing has been deleted: the same
// incarnation carries the name again, with its version and its rows. It fails
// with lake.NotFound when no drop of the name is in progress, with
// lake.AlreadyExists when another table carries the name, and with
// lake.Precondition when deletion has begun or when several dropped tables had
// the name and none was chosen; the error lists them. It is idempotent for an
// incarnation.
func (c *Client) UndropTable(ctx context.Context, name lake.TableName, opts UndropOptions) (Table, error) {
	if err := name.Validate(); err != nil {
		return Table{}, err
	}
	req := &lakepb.UndropTableRequest{Name: nameToProto(name)}
	if !opts.Incarnation.IsZero() {
		req.Incarnation = opts.Incarnation.String()
	}
	c.forget(name)
	asked := c.memory.moment()
	p, err := c.catalog.UndropTable(ctx, req)
	t, err := tableResult("undrop table", name, p, err)
	c.memory.learn(asked, name, t.Snapshot.Incarnation, t.Schema)
	return t, err
}

func nameToProto(n lake.TableName) *lakepb.TableName {
	return &lakepb.TableName{Namespace: n.Namespace, Name: n.Name}
}

func tableResult(verb string, name lake.TableName, p *lakepb.Table, err error) (Table, error) {
	op := verb + " " + name.String()
	if err != nil {
		return Table{}, withOp(op, grpcerr.FromStatus(err))
	}
	t, err := tableFromProto(p)
	return t, lake.Wrap(op, err)
}

func tableFromProto(p *lakepb.Table) (Table, error) {
	s := p.GetSnapshot()
	t := Table{
		Name: lake.TableName{Namespace: p.GetName().GetNamespace(), Name: p.GetName().GetName()},
		Snapshot: lake.Snapshot{
			Engine: s.GetEngine(), Location: lake.Location(s.GetLocation()), Version: lake.Version(s.GetVersion()),
			Manifest: lake.Manifest{Path: s.GetManifest().GetPath(), Size: s.GetManifest().GetSize()},
		},
		CreatedAt: p.GetCreatedAt().AsTime(), UpdatedAt: p.GetUpdatedAt().AsTime(),
	}
	copy(t.Snapshot.Manifest.SHA256[:], s.GetManifest().GetSha256())
	inc, err := lake.ParseID(s.GetIncarnation())
	if err != nil {
		return Table{}, lake.Errorf(lake.Corrupt, "the server sent a table with a bad incarnation: %w", err)
	}
	t.Snapshot.Incarnation = inc
	if len(p.GetSchema()) == 0 {
		return t, nil
	}
	if t.Schema, err = flight.DeserializeSchema(p.GetSchema(), memory.DefaultAllocator); err != nil {
		return Table{}, lake.Errorf(lake.Corrupt, "the server sent a table with a bad schema: %w", err)
	}
	return t, nil
}
