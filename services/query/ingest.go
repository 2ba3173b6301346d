// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/internal/rpc"
	"github.com/lakeplane/lake/services/query/registration"
)

// ingest serves the bulk ingestion of Flight SQL: it creates the table where
// the client asks for it, and appends the stream in pieces, each one append
// operation of the append protocol. Pieces that were appended stay when a
// later one fails; the answer counts them, and the error follows. Few ingestions
// have rows in memory at once, see [turns].
func (s *Server) ingest(ctx context.Context, p access.Principal, cmd *pb.CommandStatementIngest, in *putStream) (err error) {
	defer recovered(&err)
	name, err := ingestTable(p, cmd)
	if err != nil {
		return err
	}
	paced := newPacedStream(ctx, in, s.ingestions)
	defer paced.end()
	r, err := readRows(paced)
	if err != nil {
		return err
	}
	defer r.Release()
	target, err := s.ingestTarget(ctx, p, name, cmd.GetTableDefinitionOptions(), r.Schema())
	if err != nil {
		return err
	}
	a := &appender{server: s, ctx: rpc.Delegate(ctx, p), table: name, incarnation: target.Snapshot.Incarnation, schema: target.Schema}
	defer a.discard()
	paced.rows = a
	failed := a.copy(r)
	answer, err := proto.Marshal(&pb.DoPutUpdateResult{RecordCount: a.appended})
	if err != nil {
		return err
	}
	if err := in.stream.Send(&flight.PutResult{AppMetadata: answer}); err != nil {
		return err
	}
	return failed
}

func ingestTable(p access.Principal, cmd *pb.CommandStatementIngest) (lake.TableName, error) {
	name := lake.TableName{Namespace: cmd.GetSchema(), Name: cmd.GetTable()}
	switch {
	case cmd.GetTemporary():
		return name, lake.Errorf(lake.Unsupported, "ingest: temporary tables are not supported")
	case cmd.Catalog != nil && cmd.GetCatalog() != "" && cmd.GetCatalog() != CatalogName:
		return name, lake.Errorf(lake.Invalid, "ingest: there is no catalog %.200q: want %q", cmd.GetCatalog(), CatalogName)
	case cmd.GetSchema() == "":
		return name, lake.Errorf(lake.Invalid, "ingest: name the target's namespace as the database schema")
	}
	if err := noTransaction(cmd.GetTransactionId()); err != nil {
		return name, err
	}
	if err := name.Validate(); err != nil {
		return name, err
	}
	if !p.May(name.Namespace) {
		return name, missing(name)
	}
	return name, nil
}

// ingestTarget finds or creates the target.
func (s *Server) ingestTarget(ctx context.Context, p access.Principal, name lake.TableName, opts *pb.CommandStatementIngest_TableDefinitionOptions, schema *arrow.Schema) (registration.Registration, error) {
	reg, err := registration.Fetch(rpc.Delegate(ctx, p), s.catalog, name)
	switch {
	case lake.Is(err, lake.NotFound):
		if opts.GetIfNotExist() != pb.CommandStatementIngest_TableDefinitionOptions_TABLE_NOT_EXIST_OPTION_CREATE {
			return reg, missing(name)
		}
		return s.createTable(ctx, p, name, schema)
	case err != nil:
		return reg, err
	}
	switch opts.GetIfExists() {
	case pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_APPEND:
		return reg, nil
	case pb.CommandStatementIngest_TableDefinitionOptions_TABLE_EXISTS_OPTION_REPLACE:
		return reg, lake.Errorf(lake.Unsupported, "ingest: replacing table %s is not supported: drop it, or append to it", name)
	}
	return reg, lake.Errorf(lake.AlreadyExists, "table %s already exists", name)
}

func (s *Server) createTable(ctx context.Context, p access.Principal, name lake.TableName, schema *arrow.Schema) (registration.Registration, error) {
	defer s.names.Evict(name)
	t, err := s.catalog.CreateTable(rpc.Delegate(ctx, p), &lakepb.CreateTableRequest{
		Name:   &lakepb.TableName{Namespace: name.Namespace, Name: name.Name},
		Schema: flight.SerializeSchema(schema, memory.DefaultAllocator),
	})
	if err != nil {
		return registration.Registration{}, grpcerr.FromStatus(err)
	}
	return registration.Of(name, t)
}
