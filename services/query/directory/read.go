// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

const (
	// MaxEntries bounds the tables of a directory.
	MaxEntries = 100_000
	// MaxBytes bounds its names and schemas together.
	MaxBytes = 64 << 20
)

// Source is the authority's directory call; a lakepb.CatalogClient is one.
type Source interface {
	CatalogSnapshot(context.Context, *lakepb.CatalogSnapshotRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[lakepb.CatalogSnapshotResponse], error)
}

// read fetches the directory, or returns known when it did not change.
func read(ctx context.Context, source Source, known *Snapshot) (*Snapshot, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream when it is left early
	req := &lakepb.CatalogSnapshotRequest{}
	if known != nil {
		req.KnownGeneration = known.Generation
	}
	stream, err := source.CatalogSnapshot(ctx, req)
	if err != nil {
		return nil, grpcerr.FromStatus(err)
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, grpcerr.FromStatus(err)
	}
	if first.GetNotModified() {
		if known == nil {
			return nil, lake.Errorf(lake.Corrupt, "directory: the authority reports no change from nothing")
		}
		return known, nil
	}
	return collect(stream, first, known)
}

func collect(stream grpc.ServerStreamingClient[lakepb.CatalogSnapshotResponse], first *lakepb.CatalogSnapshotResponse, known *Snapshot) (*Snapshot, error) {
	s := &Snapshot{Generation: first.GetGeneration()}
	size := 0
	for msg := first; ; {
		if err := s.add(msg.GetTables(), &size); err != nil {
			return nil, err
		}
		var err error
		if msg, err = stream.Recv(); errors.Is(err, io.EOF) {
			s.inherit(known)
			return s, nil
		} else if err != nil {
			return nil, grpcerr.FromStatus(err)
		}
	}
}

func (s *Snapshot) add(tables []*lakepb.Table, size *int) error {
	for _, t := range tables {
		name := lake.TableName{Namespace: t.GetName().GetNamespace(), Name: t.GetName().GetName()}
		if err := name.Validate(); err != nil {
			return lake.Errorf(lake.Corrupt, "directory: %w", err)
		}
		if n := len(s.Entries); n > 0 && s.Entries[n-1].Name.Compare(name) >= 0 {
			return lake.Errorf(lake.Corrupt, "directory: %s does not sort after %s", name, s.Entries[n-1].Name)
		}
		*size += len(t.GetSchema()) + len(name.Namespace) + len(name.Name)
		if len(s.Entries) >= MaxEntries || *size > MaxBytes || len(t.GetSchema()) > lake.MaxSchemaBytes {
			return lake.Errorf(lake.Exhausted, "directory: more than %d tables, %d bytes in all or %d bytes in one schema", MaxEntries, MaxBytes, lake.MaxSchemaBytes)
		}
		s.Entries = append(s.Entries, newEntry(name, t.GetSnapshot().GetIncarnation(), t.GetSchema()))
	}
	return nil
}
