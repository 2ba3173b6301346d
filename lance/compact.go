// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"errors"
	"io"
	"slices"

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

// Rewrite is compacted data that no version names yet: new fragments, each of
// which stands for a run of old ones.
type Rewrite struct {
	groups []rewriteGroup
	fields []*lancepb.Field // the new data files have these
}

type rewriteGroup struct {
	old   []*lancepb.DataFragment
	fresh *lancepb.DataFragment // nil where no live row is left
}

// Fragments returns how many fragments there were and are.
func (r *Rewrite) Fragments() (before, after int) {
	for _, g := range r.groups {
		before += len(g.old)
		if g.fresh != nil {
			after++
		}
	}
	return before, after
}

// Rewrite copies the live rows of each group, which are as
// [Dataset.PlanCompaction] returns them, into one new data file. It can take
// long; versions may be made meanwhile.
func (d *Dataset) Rewrite(ctx context.Context, st Creator, groups [][]int) (*Rewrite, error) {
	if err := d.checkGroups(groups); err != nil {
		return nil, err
	}
	r := &Rewrite{fields: d.manifest.Fields()}
	for _, group := range groups {
		g := rewriteGroup{}
		for _, i := range group {
			g.old = append(g.old, d.fragments[i].pb)
		}
		var err error
		if g.fresh, err = d.rewrite(ctx, st, group); err != nil {
			return nil, lake.Wrap("compact", err)
		}
		r.groups = append(r.groups, g)
	}
	return r, nil
}

// ApplyRewrite returns the version after m in which the new fragments stand for
// the old ones. Rows and their order do not change. m may be newer than the
// version that was rewritten; lake.Conflict means that one of the old fragments
// or the columns have changed since. Tables with secondary indexes are refused
// with lake.Unsupported: row addresses change, and indexes hold them.
func (m *Manifest) ApplyRewrite(r *Rewrite, c Commit) (*Manifest, error) {
	if err := m.mayCompact(); err != nil {
		return nil, err
	}
	next, err := m.derive()
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(r.fields, m.Fields(), func(a, b *lancepb.Field) bool { return proto.Equal(a, b) }) {
		return nil, lake.Errorf(lake.Conflict, "compaction: the columns of version %d are not those of the data", m.Version())
	}
	id := m.nextFragmentID()
	change := &lancepb.Transaction_Rewrite{}
	for _, g := range r.groups {
		part := &lancepb.Transaction_Rewrite_RewriteGroup{OldFragments: g.old}
		if g.fresh != nil {
			fresh := proto.CloneOf(g.fresh)
			fresh.Id = id
			id++
			part.NewFragments = []*lancepb.DataFragment{fresh}
		}
		if next.pb.Fragments, err = exchange(next.pb.Fragments, part); err != nil {
			return nil, err
		}
		change.Groups = append(change.Groups, part)
	}
	if id > 0 {
		next.pb.MaxFragmentId = proto.Uint32(uint32(id - 1))
	}
	tx := &lancepb.Transaction{Operation: &lancepb.Transaction_Rewrite_{Rewrite: change}}
	return finish(next, tx, c, m.Version()), nil
}

// exchange returns the fragments with the new ones in place of the run of old
// ones.
func exchange(fragments []*lancepb.DataFragment, g *lancepb.Transaction_Rewrite_RewriteGroup) ([]*lancepb.DataFragment, error) {
	old := g.GetOldFragments()
	at := slices.IndexFunc(fragments, func(f *lancepb.DataFragment) bool { return f.GetId() == old[0].GetId() })
	if at < 0 || at+len(old) > len(fragments) {
		return nil, lake.Errorf(lake.Conflict, "compaction: fragment %d is gone", old[0].GetId())
	}
	for i, f := range old {
		if !proto.Equal(f, fragments[at+i]) {
			return nil, lake.Errorf(lake.Conflict, "compaction: fragment %d has changed", f.GetId())
		}
	}
	return slices.Concat(fragments[:at], g.GetNewFragments(), fragments[at+len(old):]), nil
}

// Compact rewrites groups of fragments and returns the version after d.
func (d *Dataset) Compact(ctx context.Context, st Creator, groups [][]int, c Commit) (*Manifest, error) {
	r, err := d.Rewrite(ctx, st, groups)
	if err != nil {
		return nil, err
	}
	return d.manifest.ApplyRewrite(r, c)
}

// mayCompact refuses a table whose rows cannot get other addresses, or other files.
func (m *Manifest) mayCompact() error {
	return errors.Join(m.refuseIndexes("compaction"), m.takesData())
}

// checkGroups refuses groups that are not runs of neighbours, each once.
func (d *Dataset) checkGroups(groups [][]int) error {
	if len(groups) == 0 {
		return invalid("nothing to compact")
	}
	if err := d.manifest.mayCompact(); err != nil { // before anything is written
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
	defer func() { _ = s.Close() }()
	rows := &scanReader{ctx: ctx, s: s}
	defer rows.Release()
	return d.write.WriteFragment(ctx, st, d.manifest.Fields(), rows)
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
