// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/lake/predicate"
	"github.com/lakeplane/lake/lance/lancepb"
)

// Selection is a part of a version: the fragments that may hold the rows of a
// predicate, or a run of neighbours. It is immutable and safe for concurrent use, as long as its dataset is open.
type Selection struct {
	d         *Dataset
	fragments []*fragment
	rows      uint64
	skipped   int
}

// sidecarsAtOnce is how many sidecars are fetched at one time: they are small,
// so what counts is how long the store takes to answer.
const sidecarsAtOnce = 32

// Prune selects the fragments that may hold a row for which the predicate is
// true, by the statistics of their data files. What is not known is selected.
// Columns are indexes of top-level fields. A dataset that was opened without
// [Options.Stats] selects everything.
func (d *Dataset) Prune(ctx context.Context, where predicate.Predicate) (*Selection, error) {
	return d.all().Prune(ctx, where)
}

// all selects every fragment.
func (d *Dataset) all() *Selection {
	return &Selection{d: d, fragments: d.fragments, rows: d.rows}
}

// Prune is [Dataset.Prune] among the selected fragments.
func (s *Selection) Prune(ctx context.Context, where predicate.Predicate) (*Selection, error) {
	possible, err := s.possible(ctx, where)
	if err != nil {
		return nil, err
	}
	sel := &Selection{d: s.d, skipped: s.skipped}
	for i, f := range s.fragments {
		if possible[i] {
			sel.fragments, sel.rows = append(sel.fragments, f), sel.rows+f.live
		} else {
			sel.skipped++
		}
	}
	return sel, nil
}

// possible reports for each selected fragment whether it may hold a row for
// which the predicate is true.
func (s *Selection) possible(ctx context.Context, where predicate.Predicate) ([]bool, error) {
	d, out := s.d, make([]bool, len(s.fragments))
	columns := predicate.Columns(where)
	for _, c := range columns {
		if c < 0 || c >= len(d.rootIDs) {
			return nil, invalid("the predicate's column %d is not in 0..%d", c, len(d.rootIDs)-1)
		}
	}
	if len(columns) == 0 || d.stats == nil {
		for i := range out {
			out[i] = true
		}
		return out, nil
	}
	known, err := d.loadStats(ctx, s.fragments, columns)
	if err != nil {
		return nil, err
	}
	for i, f := range s.fragments {
		out[i] = predicate.Possible(where, func(c int) (predicate.Stats, bool) { return d.about(f, known[i], c) })
	}
	return out, nil
}

// loadStats returns the statistics of each fragment's files that hold one of
// the columns, by the place of the file.
func (d *Dataset) loadStats(ctx context.Context, fragments []*fragment, columns []int) ([]map[int]fileStats, error) {
	wanted := make(map[int32]int, len(columns))
	for _, c := range columns {
		wanted[d.rootIDs[c]] = c
	}
	known := make([]map[int]fileStats, len(fragments))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(sidecarsAtOnce)
	for i, f := range fragments {
		if f.live == 0 {
			continue
		}
		var files []int
		for at, df := range f.pb.GetFiles() {
			if d.touches(df, wanted) {
				files = append(files, at)
			}
		}
		group.Go(func() (err error) {
			known[i] = make(map[int]fileStats, len(files))
			for _, at := range files {
				if known[i][at], err = d.stats.load(gctx, d.view, f.pb.GetFiles()[at], f.rows); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return known, group.Wait()
}

// about returns what is known of a column in a fragment.
func (d *Dataset) about(f *fragment, known map[int]fileStats, column int) (predicate.Stats, bool) {
	root := d.rootIDs[column]
	var s predicate.Stats
	holders, ok := 0, false
	for at, df := range f.pb.GetFiles() {
		if d.holds(df, root) {
			s, ok = known[at][root]
			holders++
		}
	}
	switch holders {
	case 0: // a column that was added later, see [plan]
		return predicate.Stats{Rows: f.rows, Nulls: f.rows}, true
	case 1:
		return s, ok
	}
	return predicate.Stats{}, false
}

// holds reports whether a file's entry names a field under a root.
func (d *Dataset) holds(df *lancepb.DataFile, root int32) bool {
	return d.touches(df, map[int32]int{root: 0})
}

// Rows is the exact number of live rows in the selected fragments.
func (s *Selection) Rows() uint64 { return s.rows }

// Fragments returns how many fragments are selected, and how many are not.
func (s *Selection) Fragments() (selected, skipped int) { return len(s.fragments), s.skipped }

// Scan starts a pass over the rows of the selected fragments, all of them,
// wanted or not. It ends early with ctx.
func (s *Selection) Scan(ctx context.Context, o ScanOptions) (*Scan, error) {
	return s.d.scan(ctx, o, s.fragments, false)
}
