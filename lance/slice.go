// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"

	"github.com/lakeplane/lake/lake/predicate"
)

// Slice selects the fragments from up to and without to, in the order of the
// manifest. The same manifest has the same fragments wherever it is opened, so
// readers that know only numbers can share a version among them. A range that is
// not in 0..the number of fragments is lake.Invalid.
func (d *Dataset) Slice(from, to int) (*Selection, error) {
	if from < 0 || from > to || to > len(d.fragments) {
		return nil, invalid("fragments %d to %d: want a range in 0..%d", from, to, len(d.fragments))
	}
	sel := &Selection{d: d, fragments: d.fragments[from:to], skipped: len(d.fragments) - (to - from)}
	for _, f := range sel.fragments {
		sel.rows += f.live
	}
	return sel, nil
}

// FragmentRows returns the live rows of each fragment, in the order of the
// manifest, and 0 for one that certainly holds no row for which the predicate is
// true; see [Dataset.Prune].
func (d *Dataset) FragmentRows(ctx context.Context, where predicate.Predicate) ([]uint64, error) {
	possible, err := d.all().possible(ctx, where)
	if err != nil {
		return nil, err
	}
	rows := make([]uint64, len(d.fragments))
	for i, f := range d.fragments {
		if possible[i] {
			rows[i] = f.live
		}
	}
	return rows, nil
}
