// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
)

const (
	indexesDir  = "_indices/"
	branchesDir = "_refs/branches/"
	treeDir     = "tree/"
)

// cleanable are the flags of a version of which every object it needs can be
// named here. Base paths are not among them: a dataset with them shares objects
// with others.
const cleanable = readable &^ FlagBasePaths

// Needed are the names of all objects that the kept versions of a dataset need.
// It is what a cleanup holds a listing against. The zero value is not ready; make
// one with [NewNeeded]. It is not safe for concurrent use.
type Needed struct {
	names   map[string]bool
	indexes map[string]bool // by the name of their folder
	newest  uint64
}

// NewNeeded returns the needs of no version.
func NewNeeded() *Needed {
	return &Needed{names: map[string]bool{}, indexes: map[string]bool{}}
}

// Keep adds what a version needs. A version with a feature flag that is not
// known, or with objects that cannot be named, is lake.Unsupported, and nothing
// may be deleted then: what cannot be named cannot be kept.
func (n *Needed) Keep(m *Manifest) error {
	if err := m.checkCleanable(); err != nil {
		return err
	}
	references, err := m.References()
	if err != nil {
		return err
	}
	indexes, err := m.indexFolders()
	if err != nil {
		return err
	}
	for _, r := range references {
		n.names[r.Name] = true
		if sidecar, ok := r.Sidecar(); ok {
			n.names[sidecar] = true
		}
	}
	for _, folder := range indexes {
		n.indexes[folder] = true
	}
	n.names[ManifestName(m.Version())] = true
	n.names[oldManifestName(m.Version())] = true
	n.newest = max(n.newest, m.Version())
	return nil
}

// KeepName adds an object that stays for another reason, such as the staged
// manifest of a version that is committed and not published yet.
func (n *Needed) KeepName(name string) { n.names[name] = true }

// Len is how many objects and indexes are needed.
func (n *Needed) Len() int { return len(n.names) + len(n.indexes) }

// checkCleanable refuses a version that may need objects this package cannot
// name.
func (m *Manifest) checkCleanable() error {
	if err := checkFlags("reader", m.pb.GetReaderFeatureFlags(), cleanable); err != nil {
		return err
	}
	if err := checkFlags("writer", m.pb.GetWriterFeatureFlags(), cleanable); err != nil {
		return err
	}
	for _, f := range m.Fragments() {
		if f.GetExternalRowIds() != nil || f.GetExternalCreatedAtVersions() != nil || f.GetExternalLastUpdatedAtVersions() != nil {
			return unsupported("fragment %d keeps row ids or versions in another file, which this release does not know", f.GetId())
		}
	}
	return nil
}

// indexFolders returns the names below _indices of the version's indexes.
func (m *Manifest) indexFolders() ([]string, error) {
	if len(m.indexes) == 0 {
		return nil, nil
	}
	var section lancepb.IndexSection
	if err := proto.Unmarshal(m.indexes, &section); err != nil {
		return nil, corrupt("index section: %w", err)
	}
	var out []string
	for _, index := range section.GetIndices() {
		id, err := uuid.FromBytes(index.GetUuid().GetUuid())
		if err != nil {
			return nil, corrupt("index %q: its id has %d bytes, want 16", index.GetName(), len(index.GetUuid().GetUuid()))
		}
		out = append(out, id.String())
	}
	return out, nil
}

// Auxiliary reports whether the name is of an object that belongs to a dataset as
// a whole, or helps to read it: a tag or branch, an index, the hint at the newest
// version.
func Auxiliary(name string) bool {
	return strings.HasPrefix(name, "_refs/") || strings.HasPrefix(name, indexesDir) || name == versionsDir+"latest_version_hint.json"
}

// CheckCleanable refuses, with lake.Unsupported, a dataset with histories beside
// the main one. Branches and detached versions need objects of it, and this
// package does not read them.
func CheckCleanable(ctx context.Context, st Storage) error {
	for _, dir := range []string{branchesDir, treeDir} {
		infos, _, err := st.List(ctx, dir, "", 1)
		if err != nil {
			return lake.Wrap("look for branches", err)
		}
		if len(infos) > 0 {
			return unsupported("the dataset has branches (%s), which need objects of its versions and are not read by this release", infos[0].Name)
		}
	}
	// Detached versions begin with "d", which comes after every digit.
	infos, _, err := st.List(ctx, versionsDir, versionsDir+"c\U0010ffff", 1)
	if err != nil {
		return lake.Wrap("look for detached versions", err)
	}
	if len(infos) > 0 && strings.HasPrefix(infos[0].Name, versionsDir+"d") && strings.HasSuffix(infos[0].Name, manifestExt) {
		return unsupported("the dataset has a detached version (%s), which needs objects and is not read by this release", infos[0].Name)
	}
	return nil
}

// Limits say which objects that no kept version needs may go. Without them
// nothing does.
type Limits struct {
	// Before is the age limit: what was written later may belong to a version
	// that is being made.
	Before time.Time
	// Floor: a manifest, staged or final, of this version or an older one is not
	// being made any more, however young it is.
	Floor uint64
	// After is where an earlier pass stopped: the name it saw last.
	After string
}

// cleanupDirs are the folders of a cleanup in its order. Manifests come first, so
// that no reader finds one whose objects are gone.
var cleanupDirs = []string{versionsDir, deletionsDir, transactionsDir, indexesDir, dataDir, statsDir}

// Unneeded yields the objects that no kept version needs and that the limits
// let go, manifests first. It deletes nothing. Objects outside the folders of
// the format, and those whose names it does not give, are never yielded.
func (n *Needed) Unneeded(ctx context.Context, st Storage, l Limits) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if n.newest == 0 {
			yield(Info{}, invalid("clean up: no version to keep; a whole dataset is deleted by its prefix"))
			return
		}
		dirs, after := remaining(l.After)
		for _, dir := range dirs {
			for info, err := range listAfter(ctx, st, dir, after) {
				if err != nil {
					yield(Info{}, lake.Wrap("clean up", err))
					return
				}
				if n.expendable(info, l) && !yield(info, nil) {
					return
				}
			}
			after = ""
		}
	}
}

// remaining returns the folders still to be listed and where in the first.
func remaining(after string) ([]string, string) {
	for i, dir := range cleanupDirs {
		if strings.HasPrefix(after, dir) {
			return cleanupDirs[i:], after
		}
	}
	return cleanupDirs, ""
}

func (n *Needed) expendable(info Info, l Limits) bool {
	if n.names[info.Name] {
		return false
	}
	if rest, ok := strings.CutPrefix(info.Name, indexesDir); ok {
		folder, _, nested := strings.Cut(rest, "/")
		_, err := uuid.Parse(folder)
		return nested && err == nil && !n.indexes[folder] && info.Modified.Before(l.Before)
	}
	if v, ok := ManifestVersion(info.Name); ok && v <= l.Floor && v < n.newest {
		return true
	}
	return expendable(info.Name, n.newest) && info.Modified.Before(l.Before)
}

// ManifestVersion returns the version of a manifest's name, final or staged.
func ManifestVersion(name string) (version uint64, ok bool) {
	if final, _, staged := strings.Cut(name, manifestExt+"-"); staged {
		name = final + manifestExt
	}
	return ParseManifestName(name)
}

// ManifestInfos yields the manifests of a dataset, staged ones too, in byte
// order of their names: in the naming scheme V2 the newest version first.
func ManifestInfos(ctx context.Context, st Storage) iter.Seq2[Info, error] {
	return listAll(ctx, st, versionsDir)
}

// listAfter is listAll from a name on.
func listAfter(ctx context.Context, st Storage, dir, after string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for {
			infos, more, err := st.List(ctx, dir, after, 1000)
			if err != nil {
				yield(Info{}, err)
				return
			}
			for _, info := range infos {
				if !yield(info, nil) {
					return
				}
			}
			if !more || len(infos) == 0 {
				return
			}
			after = infos[len(infos)-1].Name
		}
	}
}
