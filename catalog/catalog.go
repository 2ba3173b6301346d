// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"time"

	"github.com/lakeplane/lake/metastore"
)

// Options tune a [Catalog]. The zero value is good.
type Options struct {
	// Now tells the time for stamps and for the age rules of operation ids.
	// nil means time.Now.
	Now func() time.Time
}

// Catalog applies the rules of this package to one metastore. It is safe for
// concurrent use, holds no state that matters and may exist in any number.
type Catalog struct {
	store metastore.Store
	now   func() time.Time
	// registry serialises creates and drops of this process, which all
	// replace the one generation record. Those of other processes meet it as
	// a conflict and try again.
	registry chan struct{}
	building directoryBuilder
}

// New returns a catalog over store. It does no I/O; the caller keeps the
// store.
func New(store metastore.Store, opts Options) *Catalog {
	c := &Catalog{store: store, now: opts.Now, registry: make(chan struct{}, 1)}
	if c.now == nil {
		c.now = time.Now
	}
	c.building.turn = make(chan struct{}, 1)
	return c
}
