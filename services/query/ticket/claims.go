// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ticket

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/ticket/ticketpb"
)

const (
	// MaxSnapshots bounds the tables one ticket pins.
	MaxSnapshots = 64
	// MaxPieces bounds the pieces of a table whose scans are divided.
	MaxPieces = 1 << 30
	// MaxParameterBytes bounds the bound parameters of one ticket.
	MaxParameterBytes = 1 << 20
)

// QueryID names one planned query through all renewals of its ticket.
type QueryID [16]byte

// Pin is one pinned table reference.
type Pin struct {
	Name     lake.TableName
	Snapshot lake.Snapshot
}

// Claims is what a ticket says. The sealer fills IssuedAt and ExpiresAt.
type Claims struct {
	IssuedAt, ExpiresAt time.Time
	// Principal and Tenant say who asked; nobody else may redeem.
	Principal, Tenant string
	// SQL is the statement as it passed the gate.
	SQL string
	// Snapshots are the exact versions the statement reads, at most
	// [MaxSnapshots].
	Snapshots []Pin
	// Parameters is an Arrow IPC stream with one row, or empty.
	Parameters []byte
	// Schema is the planned result schema as an Arrow IPC stream, so that the
	// replica that runs the statement promises exactly what the one that
	// planned it did. Empty where nothing was planned yet.
	Schema []byte
	// Query identifies the query, for cancellation. All parts of a result have
	// the same.
	Query QueryID
	// Part is which part of the result the ticket is good for: nil in all kinds
	// but [Part], and never nil there.
	Part *Pieces
}

// Pieces are those from From up to and without To of the one snapshot that a
// statement reads.
type Pieces struct{ From, To int }

func (c *Claims) validate() error {
	switch {
	case len(c.Snapshots) > MaxSnapshots:
		return lake.Errorf(lake.Invalid, "the statement reads %d tables: at most %d are allowed", len(c.Snapshots), MaxSnapshots)
	case len(c.SQL) > lake.MaxSQLBytes:
		return lake.Errorf(lake.Invalid, "the statement has %d bytes: at most %d are allowed", len(c.SQL), lake.MaxSQLBytes)
	case len(c.Parameters) > MaxParameterBytes:
		return lake.Errorf(lake.Invalid, "the parameters have %d bytes: at most %d are allowed", len(c.Parameters), MaxParameterBytes)
	case len(c.Schema) > lake.MaxSchemaBytes:
		return lake.Errorf(lake.Invalid, "the result's schema has %d bytes: at most %d are allowed", len(c.Schema), lake.MaxSchemaBytes)
	case c.Part != nil && (len(c.Snapshots) != 1 || c.Part.From < 0 || c.Part.From >= c.Part.To || c.Part.To > MaxPieces):
		return lake.Errorf(lake.Invalid, "pieces %d to %d of %d tables: want a range in 0..%d, of one table", c.Part.From, c.Part.To, len(c.Snapshots), MaxPieces)
	}
	return nil
}

func (c *Claims) marshal() ([]byte, error) {
	msg := &ticketpb.Claims{
		IssuedAt: c.IssuedAt.UnixMilli(), ExpiresAt: c.ExpiresAt.UnixMilli(),
		Principal: c.Principal, Tenant: c.Tenant, Sql: c.SQL,
		Parameters: c.Parameters, Schema: c.Schema, QueryId: c.Query[:],
	}
	if c.Part != nil {
		msg.Part = &ticketpb.Part{From: uint32(c.Part.From), To: uint32(c.Part.To)}
	}
	for _, p := range c.Snapshots {
		msg.Snapshots = append(msg.Snapshots, &ticketpb.Snapshot{
			Namespace: p.Name.Namespace, Table: p.Name.Name,
			Engine: p.Snapshot.Engine, Location: string(p.Snapshot.Location),
			Incarnation: p.Snapshot.Incarnation[:], Version: uint64(p.Snapshot.Version),
			ManifestPath: p.Snapshot.Manifest.Path, ManifestSize: p.Snapshot.Manifest.Size,
			ManifestSha256: p.Snapshot.Manifest.SHA256[:],
		})
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(msg)
}

func unmarshal(b []byte) (*Claims, error) {
	var msg ticketpb.Claims
	if err := proto.Unmarshal(b, &msg); err != nil {
		return nil, err
	}
	c := &Claims{
		IssuedAt: time.UnixMilli(msg.GetIssuedAt()), ExpiresAt: time.UnixMilli(msg.GetExpiresAt()),
		Principal: msg.GetPrincipal(), Tenant: msg.GetTenant(), SQL: msg.GetSql(),
		Parameters: msg.GetParameters(), Schema: msg.GetSchema(),
	}
	if len(msg.GetQueryId()) != len(c.Query) {
		return nil, fmt.Errorf("query id of %d bytes", len(msg.GetQueryId()))
	}
	c.Query = QueryID(msg.GetQueryId())
	if part := msg.GetPart(); part != nil {
		c.Part = &Pieces{From: int(part.GetFrom()), To: int(part.GetTo())}
	}
	for _, s := range msg.GetSnapshots() {
		pin, err := unmarshalPin(s)
		if err != nil {
			return nil, err
		}
		c.Snapshots = append(c.Snapshots, pin)
	}
	return c, c.validate()
}

func unmarshalPin(s *ticketpb.Snapshot) (Pin, error) {
	p := Pin{Name: lake.TableName{Namespace: s.GetNamespace(), Name: s.GetTable()}}
	if len(s.GetIncarnation()) != len(p.Snapshot.Incarnation) || len(s.GetManifestSha256()) != len(p.Snapshot.Manifest.SHA256) {
		return Pin{}, fmt.Errorf("malformed snapshot of %s", p.Name)
	}
	p.Snapshot = lake.Snapshot{
		Engine: s.GetEngine(), Location: lake.Location(s.GetLocation()),
		Incarnation: lake.Incarnation(s.GetIncarnation()), Version: lake.Version(s.GetVersion()),
		Manifest: lake.Manifest{
			Path: s.GetManifestPath(), Size: s.GetManifestSize(),
			SHA256: lake.Digest(s.GetManifestSha256()),
		},
	}
	return p, p.Name.Validate()
}
