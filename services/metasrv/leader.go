// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"sync/atomic"

	"github.com/lakeplane/lake/catalog"
)

// leader hands out the fence for writes.
type leader struct {
	election *catalog.Election
	catalog  *catalog.Catalog
	prepared atomic.Bool
}

// fence returns the fence to write under; lake.Unavailable when this process
// does not lead. Before its first write a process prepares the catalog: on a
// fresh store the directory's authority must exist before the first table
// does, or it could not be told from one that older writers use.
func (l *leader) fence(ctx context.Context) (catalog.Fence, error) {
	fence, err := l.election.Fence()
	if err != nil || l.prepared.Load() {
		return fence, err
	}
	if err := l.catalog.Prepare(ctx, fence); err != nil {
		return catalog.Fence{}, err
	}
	l.prepared.Store(true)
	return fence, nil
}
