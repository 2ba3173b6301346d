// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"math"
	"slices"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lance/lancepb"
)

// fragmentList is what appends need of the fragments of a version. It is handed
// from version to version, so that an append does not look at all fragments
// again, nor encode or copy them.
//
// The fragments of a version and of those appended to it lie in one array, and
// so do their encoded forms, each version with its own length. Only the first
// version derived from another continues its arrays; one that is derived from
// the same base later, after a conflict, copies them. So nothing that a version
// refers to is written again, and no lock is needed. A version keeps alive what
// was appended after it to its arrays, with the room that append makes.
type fragmentList struct {
	// encoded are the fragments as a piece of a manifest message, nearly all of a
	// large one.
	encoded []byte
	err     error // why they cannot be encoded
	// next is the lowest id that no fragment had.
	next uint64
	// deletions says that some fragment has a deletion file.
	deletions bool
	// continued is set by the version that goes on in the same arrays.
	continued atomic.Bool
}

// fragmentList returns the list of a version that is complete.
func (m *Manifest) fragmentList() *fragmentList {
	m.listOnce.Do(func() {
		if m.list != nil {
			return
		}
		l := &fragmentList{next: m.nextFragmentID(), deletions: hasDeletions(m.pb.GetFragments())}
		l.encoded, l.err = marshal(nil, &lancepb.Manifest{Fragments: m.pb.GetFragments()})
		m.list = l
	})
	return m.list
}

// addFragments makes the fragments of m those of base and copies of the added
// ones, with ids never used before. m was derived from base.
func (m *Manifest) addFragments(base *Manifest, added []*lancepb.DataFragment) error {
	list := base.fragmentList()
	next := list.next
	if next+uint64(len(added)) > math.MaxUint32 {
		return unsupported("the table has used all fragment ids")
	}
	fragments, encoded := base.pb.GetFragments(), list.encoded
	if !list.continued.CompareAndSwap(false, true) {
		fragments, encoded = slices.Clip(fragments), slices.Clip(encoded)
	}
	for _, f := range added {
		placed := shallowFragment(f)
		placed.Id = next
		next++
		fragments = append(fragments, placed)
	}
	m.pb.Fragments = fragments
	if next > 0 {
		m.pb.MaxFragmentId = proto.Uint32(uint32(next - 1))
	}
	fresh := fragments[len(fragments)-len(added):]
	m.list = &fragmentList{next: next, deletions: list.deletions || hasDeletions(fresh), err: list.err}
	if m.list.err == nil {
		m.list.encoded, m.list.err = marshal(encoded, &lancepb.Manifest{Fragments: fresh})
	}
	return nil
}

// nextFragmentID trusts the recorded maximum no more than the fragments: older
// writers left it out.
func (m *Manifest) nextFragmentID() uint64 {
	var next uint64
	if m.pb.MaxFragmentId != nil {
		next = uint64(m.pb.GetMaxFragmentId()) + 1
	}
	for _, f := range m.pb.GetFragments() {
		next = max(next, f.GetId()+1)
	}
	return next
}

// hasDeletions is for a version that need not be complete.
func (m *Manifest) hasDeletions() bool {
	if m.list != nil {
		return m.list.deletions
	}
	return hasDeletions(m.pb.GetFragments())
}

func hasDeletions(fragments []*lancepb.DataFragment) bool {
	return slices.ContainsFunc(fragments, func(f *lancepb.DataFragment) bool { return f.GetDeletionFile() != nil })
}
