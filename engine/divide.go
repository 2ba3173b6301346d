// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"github.com/lakeplane/lake/lake/predicate"
)

// Divider is an optional ability of a [Dataset]: to be read in parts by readers
// that do not know of each other. A version's data lie in pieces, numbered from
// 0. The same snapshot has the same pieces wherever and whenever it is opened.
type Divider interface {
	// PieceRows returns the number of live rows of each piece, and 0 for one of
	// which it is certain that it holds no row for which the predicate is true.
	// What it may read is as for [Pruner]. nil is no condition.
	PieceRows(ctx context.Context, where predicate.Predicate) ([]uint64, error)
	// Slice returns the pieces from up to and without to as a dataset, good as
	// long as this one is open; its Close does nothing. Slices of ranges that
	// adjoin hold each row of the version once. A range that is not there is
	// lake.Invalid. The slice is a [Pruner] if the dataset is one.
	Slice(from, to int) (Dataset, error)
}
