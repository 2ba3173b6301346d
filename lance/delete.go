// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

// Delete returns the version after d without the given rows, which are counted
// from 0 over the live rows of d, in any order. It stores a deletion file for
// each fragment that keeps some of its rows; fragments that keep none leave the
// manifest. predicate describes the rows to people and to other writers.
func (d *Dataset) Delete(ctx context.Context, st Creator, rows []uint64, predicate string, c Commit) (*Manifest, error) {
	gone, err := d.groupByFragment(rows)
	if err != nil {
		return nil, err
	}
	next, err := d.manifest.derive()
	if err != nil {
		return nil, err
	}
	change := &lancepb.Transaction_Delete{Predicate: predicate}
	next.pb.Fragments = make([]*lancepb.DataFragment, 0, len(d.fragments))
	for i, f := range d.fragments {
		kept := f.pb
		if len(gone[i]) > 0 {
			if kept, err = d.deleteFrom(ctx, st, f, gone[i]); err != nil {
				return nil, lake.Wrap("delete rows", err)
			}
			if kept == nil {
				change.DeletedFragmentIds = append(change.DeletedFragmentIds, f.pb.GetId())
				continue
			}
			change.UpdatedFragments = append(change.UpdatedFragments, kept)
		}
		next.pb.Fragments = append(next.pb.Fragments, kept)
	}
	keepMaxFragmentID(d.manifest, next)
	tx := &lancepb.Transaction{Operation: &lancepb.Transaction_Delete_{Delete: change}}
	return finish(next, tx, c, d.manifest.Version()), nil
}

// keepMaxFragmentID records the highest id even when its fragment goes, so
// that it is never used again.
func keepMaxFragmentID(old, next *Manifest) {
	if id := old.nextFragmentID(); id > 0 {
		next.pb.MaxFragmentId = proto.Uint32(uint32(id - 1))
	}
}

// groupByFragment returns, by index of the fragment, the live offsets of the
// rows, ascending and without repetitions.
func (d *Dataset) groupByFragment(rows []uint64) (map[int][]uint64, error) {
	sorted := slices.Compact(slices.Sorted(slices.Values(rows)))
	out := make(map[int][]uint64)
	for _, r := range sorted {
		if r >= d.rows {
			return nil, invalid("row %d is not in 0..%d", r, d.rows)
		}
		i := d.fragmentOf(r)
		out[i] = append(out[i], r-d.fragments[i].first)
	}
	return out, nil
}

// deleteFrom stores the deletions of a fragment, old ones included, and
// returns its new entry, or nil when no row is left.
func (d *Dataset) deleteFrom(ctx context.Context, st Creator, f *fragment, offsets []uint64) (*lancepb.DataFragment, error) {
	old, err := f.deletions(ctx, d.view.st)
	if err != nil {
		return nil, err
	}
	physical(offsets, old)
	deleted := roaring.New()
	if old != nil {
		deleted = old.Clone()
	}
	for _, o := range offsets {
		deleted.Add(uint32(o))
	}
	if deleted.GetCardinality() == f.rows {
		return nil, nil
	}
	raw, kind, err := deletionFile(deleted)
	if err != nil {
		return nil, err
	}
	entry := &lancepb.DeletionFile{
		FileType: kind, ReadVersion: d.manifest.Version(), Id: randomID(), NumDeletedRows: deleted.GetCardinality(),
	}
	name, err := deletionName(f.pb.GetId(), entry)
	if err != nil {
		return nil, err
	}
	if err := st.Put(ctx, name, raw); err != nil {
		return nil, err
	}
	kept := proto.CloneOf(f.pb)
	kept.PhysicalRows, kept.DeletionFile = f.rows, entry
	return kept, nil
}

func randomID() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}
