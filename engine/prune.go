// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
)

// Pruner is an optional ability of a [Dataset]: to leave out parts of which it
// is known, without reading them, that no row in them is wanted.
type Pruner interface {
	// Prune returns the part of the version that may hold rows for which the
	// predicate is true. It holds all of them, in their order, and others: the
	// caller still has to filter. Columns are indexes of top-level fields of the
	// schema; one that is not there is lake.Invalid. What is known of rows may be
	// read from the store, as little as possible. It is safe for concurrent use.
	Prune(ctx context.Context, where predicate.Predicate) (Part, error)
}

// Part is a part of a [Dataset], good as long as that is open. It is immutable
// and safe for concurrent use.
type Part interface {
	// Schema is that of the dataset.
	Schema() *arrow.Schema
	// Rows is the exact number of live rows in the part.
	Rows() uint64
	// Pieces are how many pieces of the version's data the part takes in, and
	// how many it leaves out.
	Pieces() (in, out int)
	// Scan starts one pass over the rows of the part.
	Scan(ctx context.Context, opts ScanOptions) (Scan, error)
}

// Prune returns the part of a dataset that may hold rows for which the
// predicate is true: all of it where the dataset is no [Pruner].
func Prune(ctx context.Context, d Dataset, where predicate.Predicate) (Part, error) {
	if p, ok := d.(Pruner); ok && where != nil {
		return p.Prune(ctx, where)
	}
	return whole{d}, nil
}

// whole is a part that leaves nothing out.
type whole struct{ Dataset }

func (whole) Pieces() (in, out int) { return 1, 0 }
