// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// clusterKey holds the id of the cluster a store belongs to, as text. It tells
// two deployments apart, so that a client that is pointed at another one by
// mistake changes nothing there. It says what the store is, not what is in it:
// it cannot be read or changed through the service, and a copy of the records
// made by the service is a cluster of its own.
const clusterKey = "__lake_internal/cluster"

// clusterAttempts bounds how often the id is looked for. One suffices unless
// the outcome of making it is unknown or others make it at the same time.
const clusterAttempts = 3

// cluster is the id of a store. It is safe for concurrent use.
type cluster struct {
	store metastore.Store
	id    atomic.Pointer[lake.ID]
}

func (c *cluster) known() bool { return c.id.Load() != nil }

// get returns the id, which never changes once it is there. What is returned
// was read from the store: an id of ours that may not have been written is
// told to nobody.
func (c *cluster) get(ctx context.Context) (lake.ID, error) {
	if id := c.id.Load(); id != nil {
		return *id, nil
	}
	ours := metastore.Create(clusterKey, []byte(lake.NewID().String()))
	var made error
	for range clusterAttempts {
		found, err := c.store.Get(ctx, clusterKey)
		switch {
		case err == nil:
			return c.remember(found.Value)
		case !errors.Is(err, metastore.ErrNotFound):
			return lake.ID{}, lake.Wrap("read the cluster's id", err)
		}
		made = c.store.Commit(ctx, metastore.Txn{Ops: []metastore.Op{ours}})
		var taken *metastore.ConflictError
		if made != nil && !errors.As(made, &taken) && !errors.Is(made, metastore.ErrUnknownOutcome) {
			break
		}
	}
	return lake.ID{}, lake.Wrap("make the cluster's id", made)
}

func (c *cluster) remember(text []byte) (lake.ID, error) {
	id, err := lake.ParseID(string(text))
	if err != nil {
		return lake.ID{}, lake.Errorf(lake.Corrupt, "record %s: %w", clusterKey, err)
	}
	c.id.Store(&id)
	return id, nil
}

// check refuses a request that means another cluster, or none.
func (c *cluster) check(ctx context.Context, named string) error {
	id, err := c.get(ctx)
	if err != nil {
		return err
	}
	if named != id.String() {
		return lake.Errorf(lake.Precondition, "this is cluster %s: the request names %.40q", id, named)
	}
	return nil
}

// reserved refuses the key that is the service's own.
func reserved(key string) error {
	if key == clusterKey {
		return fmt.Errorf("%w: key %q is the server's own", metastore.ErrInvalid, key)
	}
	return nil
}
