// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
)

// snapshotChunk is about how large a message of a snapshot becomes. A single
// table may be larger, by its schema.
const snapshotChunk = 1 << 20

// CatalogSnapshot implements lakepb.CatalogServer. Any member of the group
// answers. The stream holds the tables of the caller's namespaces.
func (s *Server) CatalogSnapshot(req *lakepb.CatalogSnapshotRequest, stream grpc.ServerStreamingServer[lakepb.CatalogSnapshotResponse]) error {
	p, err := caller(stream.Context())
	if err != nil {
		return err
	}
	dir, err := s.catalog.Directory(stream.Context(), req.GetKnownGeneration())
	if err != nil {
		return err
	}
	msg := &lakepb.CatalogSnapshotResponse{Generation: dir.Generation, NotModified: dir.NotModified}
	size := 0
	for _, t := range dir.Tables {
		if !p.May(t.Name.Namespace) {
			continue
		}
		entry := tableMessage(t)
		if n := proto.Size(entry); size > 0 && size+n > snapshotChunk {
			if err := stream.Send(msg); err != nil {
				return err
			}
			msg, size = new(lakepb.CatalogSnapshotResponse), 0
		}
		msg.Tables = append(msg.Tables, entry)
		size += proto.Size(entry)
	}
	return stream.Send(msg)
}
