// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Options tune a [Catalog]. The zero value is good.
type Options struct {
	// Now tells the time for stamps and for the age rules of operation ids.
	// nil means time.Now.
	Now func() time.Time
	// Retention is how long an append operation is remembered. 0 means
	// [lake.OperationRetention].
	Retention time.Duration
}

// Catalog applies the rules of this package to one metastore. It is safe for
// concurrent use, holds no state that matters and may exist in any number.
type Catalog struct {
	settler
	now       func() time.Time
	retention time.Duration
	// registry serialises the creates and drops of this process, which all
	// replace the one generation record. Those of another process meet it as
	// a conflict and try again.
	registry turn
	building directoryBuilder
}

// New returns a catalog over store. It does no I/O; the caller keeps the
// store.
func New(store metastore.Store, opts Options) *Catalog {
	c := &Catalog{
		settler: settler{store}, now: opts.Now, retention: opts.Retention,
		registry: newTurn(), building: directoryBuilder{turn: newTurn()},
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.retention == 0 {
		c.retention = lake.OperationRetention
	}
	return c
}
