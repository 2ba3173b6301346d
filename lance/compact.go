// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

// CompactOptions says which fragments are worth rewriting. The zero value is
// the default.
type CompactOptions struct {
	// TargetRows is how many rows a fragment should have. Default: 1,048,576.
	TargetRows uint64
	// TargetBytes bounds the data files of one new fragment. Default: 1 GiB.
	TargetBytes uint64
	// DeletedShare is the share of deleted rows from which on a fragment is
	// rewritten whatever its size. Default: 0.1.
	DeletedShare float64
}

func (o CompactOptions) withDefaults() CompactOptions {
	if o.TargetRows == 0 {
		o.TargetRows = 1 << 20
	}
	if o.TargetBytes == 0 {
		o.TargetBytes = 1 << 30
	}
	if o.DeletedShare == 0 {
		o.DeletedShare = 0.1
	}
	return o
}

// PlanCompaction returns runs of neighbouring fragments, by index, each of
// which one new fragment should replace. Only neighbours are joined, so rows
// keep their order. A plan of a compacted table is empty.
func (d *Dataset) PlanCompaction(o CompactOptions) [][]int {
	o = o.withDefaults()
	var groups [][]int
	var group []int
	var rows, size uint64
	flush := func() {
		if len(group) > 1 || len(group) == 1 && d.fragments[group[0]].decayed(o) {
			groups = append(groups, group)
		}
		group, rows, size = nil, 0, 0
	}
	for i, f := range d.fragments {
		if !f.decayed(o) && (f.live >= o.TargetRows || f.fileBytes() >= o.TargetBytes) {
			flush()
			continue
		}
		if len(group) > 0 && (rows+f.live > o.TargetRows || size+f.fileBytes() > o.TargetBytes) {
			flush()
		}
		group, rows, size = append(group, i), rows+f.live, size+f.fileBytes()
	}
	flush()
	return groups
}

// decayed reports whether enough rows are deleted to rewrite the fragment.
func (f *fragment) decayed(o CompactOptions) bool {
	return f.rows > 0 && float64(f.rows-f.live) >= o.DeletedShare*float64(f.rows) && f.live < f.rows
}

func (f *fragment) fileBytes() uint64 {
	var n uint64
	for _, df := range f.pb.GetFiles() {
		n += df.GetFileSizeBytes()
	}
	return n
}

// Compact returns the version after d in which one new fragment stands for
// each of the groups, which are as [Dataset.PlanCompaction] returns them. Rows
// and their order do not change. Tables with secondary indexes are refused with
// lake.Unsupported, since row addresses change and indexes hold them.
func (d *Dataset) Compact(ctx context.Context, st Creator, groups [][]int, c Commit) (*Manifest, error) {
	if err := d.checkGroups(groups); err != nil {
		return nil, err
	}
	next, err := d.manifest.derive()
	if err != nil {
		return nil, err
	}
	rewrite := &lancepb.Transaction_Rewrite{}
	id := d.manifest.nextFragmentID()
	replaced := make(map[int]*lancepb.DataFragment) // by index of a group's first fragment
	gone := make(map[int]bool)
	for _, group := range groups {
		fresh, err := d.rewrite(ctx, st, group)
		if err != nil {
			return nil, lake.Wrap("compact", err)
		}
		part := &lancepb.Transaction_Rewrite_RewriteGroup{}
		for _, i := range group {
			gone[i] = true
			part.OldFragments = append(part.OldFragments, d.fragments[i].pb)
		}
		if fresh != nil {
			fresh.Id = id
			id++
			replaced[group[0]] = fresh
			part.NewFragments = append(part.NewFragments, fresh)
		}
		rewrite.Groups = append(rewrite.Groups, part)
	}
	next.pb.Fragments = d.exchange(gone, replaced)
	if id > 0 {
		next.pb.MaxFragmentId = proto.Uint32(uint32(id - 1))
	}
	tx := &lancepb.Transaction{Operation: &lancepb.Transaction_Rewrite_{Rewrite: rewrite}}
	return finish(next, tx, c, d.manifest.Version()), nil
}

// exchange lists the fragments with the new ones in place of the old.
func (d *Dataset) exchange(gone map[int]bool, replaced map[int]*lancepb.DataFragment) []*lancepb.DataFragment {
	var out []*lancepb.DataFragment
	for i, f := range d.fragments {
		if fresh := replaced[i]; fresh != nil {
			out = append(out, fresh)
		}
		if !gone[i] {
			out = append(out, f.pb)
		}
	}
	return out
}

// checkGroups refuses groups that are not runs of neighbours, each once.
func (d *Dataset) checkGroups(groups [][]int) error {
	if len(groups) == 0 {
		return invalid("nothing to compact")
	}
	if err := d.manifest.refuseIndexes("compaction"); err != nil {
		return err
	}
	last := -1
	for _, group := range groups {
		if len(group) == 0 || group[0] <= last || group[len(group)-1] >= len(d.fragments) {
			return invalid("compaction group %v: want indexes of neighbouring fragments, ascending, below %d", group, len(d.fragments))
		}
		for i, at := range group {
			if at != group[0]+i {
				return invalid("compaction group %v: fragments %d and %d are not neighbours", group, group[i-1], at)
			}
			last = at
		}
	}
	return nil
}

// refuseIndexes fails when the manifest lists a secondary index.
func (m *Manifest) refuseIndexes(what string) error {
	if len(m.indexes) == 0 {
		return nil
	}
	var section lancepb.IndexSection
	if err := proto.Unmarshal(m.indexes, &section); err != nil {
		return corrupt("index section: %w", err)
	}
	if n := len(section.GetIndices()); n > 0 {
		return unsupported("%s of a table with %d secondary indexes", what, n)
	}
	return nil
}

// rewrite copies the live rows of a group into one new fragment, or returns
// nil when there are none.
func (d *Dataset) rewrite(ctx context.Context, st Creator, group []int) (*lancepb.DataFragment, error) {
	fragments := make([]*fragment, len(group))
	for i, at := range group {
		fragments[i] = d.fragments[at]
	}
	s, err := d.scan(ctx, ScanOptions{Ordered: true}, fragments, false)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rows := &scanReader{ctx: ctx, s: s}
	defer rows.Release()
	return WriteFragment(ctx, st, d.manifest.Fields(), rows)
}

// scanReader makes a record reader of a scan.
type scanReader struct {
	ctx   context.Context
	s     *Scan
	batch arrow.RecordBatch
	err   error
}

func (r *scanReader) Schema() *arrow.Schema          { return r.s.schema }
func (r *scanReader) RecordBatch() arrow.RecordBatch { return r.batch }
func (r *scanReader) Record() arrow.RecordBatch      { return r.batch }
func (r *scanReader) Err() error                     { return r.err }
func (r *scanReader) Retain()                        {}

func (r *scanReader) Release() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

func (r *scanReader) Next() bool {
	r.Release()
	var err error
	if r.batch, err = r.s.Next(r.ctx); err != nil {
		r.batch = nil
		if !errors.Is(err, io.EOF) {
			r.err = err
		}
		return false
	}
	return true
}
