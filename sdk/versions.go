// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"iter"
	"time"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// TableVersion is one version of a table.
type TableVersion struct {
	Version lake.Version
	// MadeAt is when its writer made it.
	MadeAt time.Time
	// Change is what made it: create, append, compact, delete and others.
	Change string
	// Operations are how many append operations the version added.
	Operations uint64
	// Rows are those that are not deleted.
	Rows uint64
	// Parts are pieces of data, Bytes the length of their objects.
	Parts, Bytes uint64
	// Tags are the names that keep the version, in order.
	Tags []string
}

// TableVersions lists the versions of a table, the newest first. Versions that
// were given up are not among them, nor those that are made while the loop goes
// on. Pages are fetched as it does; an error ends it. It fails with lake.NotFound
// when there is no such table.
func (c *Client) TableVersions(ctx context.Context, name lake.TableName) iter.Seq2[TableVersion, error] {
	return func(yield func(TableVersion, error) bool) {
		for before := uint64(0); ; {
			page, err := c.catalog.ListTableVersions(ctx, &lakepb.ListTableVersionsRequest{Name: nameToProto(name), Before: before})
			if err != nil {
				yield(TableVersion{}, grpcerr.FromStatus(err))
				return
			}
			for _, v := range page.GetVersions() {
				if !yield(versionFromProto(v), nil) {
					return
				}
			}
			if before = page.GetNextBefore(); before == 0 {
				return
			}
		}
	}
}

func versionFromProto(v *lakepb.TableVersion) TableVersion {
	out := TableVersion{
		Version: lake.Version(v.GetVersion()), Change: v.GetChange(), Operations: v.GetOperations(),
		Rows: v.GetRows(), Parts: v.GetParts(), Bytes: v.GetBytes(), Tags: v.GetTags(),
	}
	if v.GetMadeAt() != nil {
		out.MadeAt = v.GetMadeAt().AsTime()
	}
	return out
}
