// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/lakeplane/lake/lake"
)

// SweepOptions says what a sweep may take. There are no defaults: an option
// that is left out takes nothing.
type SweepOptions struct {
	// Keep are all versions that must stay readable: the current one, those
	// within retention, those that are pinned or tagged. A manifest whose
	// version is not among them goes only if it is older than the newest.
	Keep []*Manifest
	// KeepNames are objects that stay for other reasons, such as the staged
	// manifest of a version that is committed and not published yet.
	KeepNames []string
	// Before is the age limit. Whatever was written later stays, since it may
	// belong to a version that is being made. It must lie further back than the
	// longest write takes, clocks included.
	Before time.Time
}

// Sweep yields, in byte order of their names, the objects that no kept version
// needs: manifests of other versions, staged manifests, data files with their
// sidecars, deletion files and transactions. It deletes nothing, so running it
// is always safe; the caller deletes, in any order, under whatever lease makes
// Keep complete. Objects outside the folders of the format are never yielded.
// Indexes and branches are left alone.
func Sweep(ctx context.Context, st Storage, o SweepOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if len(o.Keep) == 0 {
			yield(Info{}, invalid("sweep: no version to keep; a whole dataset is deleted by its prefix"))
			return
		}
		needed, err := neededBy(o.Keep)
		if err != nil {
			yield(Info{}, err)
			return
		}
		for _, name := range o.KeepNames {
			needed[name] = true
		}
		newest := slices.MaxFunc(o.Keep, func(a, b *Manifest) int { return cmp.Compare(a.Version(), b.Version()) }).Version()
		for _, dir := range []string{deletionsDir, statsDir, transactionsDir, versionsDir, dataDir} {
			for info, err := range listAll(ctx, st, dir) {
				if err != nil {
					yield(Info{}, lake.Wrap("sweep", err))
					return
				}
				if !info.Modified.Before(o.Before) || needed[info.Name] || !expendable(info.Name, newest) {
					continue
				}
				if !yield(info, nil) {
					return
				}
			}
		}
	}
}

const transactionsDir = "_transactions/"

// neededBy names every object that the versions refer to.
func neededBy(keep []*Manifest) (map[string]bool, error) {
	needed := make(map[string]bool)
	for _, m := range keep {
		needed[ManifestName(m.Version())] = true
		needed[oldManifestName(m.Version())] = true
		references, err := m.References()
		if err != nil {
			return nil, err
		}
		for _, r := range references {
			needed[r.Name] = true
			if sidecar, ok := r.Sidecar(); ok {
				needed[sidecar] = true
			}
		}
	}
	return needed, nil
}

// expendable reports whether the name has a form that this package or another
// writer of the format gives to objects of versions, so that a stranger's
// object is left alone. A manifest newer than every kept version is one whose
// making the caller has not heard of.
func expendable(name string, newest uint64) bool {
	switch {
	case strings.HasPrefix(name, dataDir):
		return strings.HasSuffix(name, ".lance")
	case strings.HasPrefix(name, statsDir):
		return strings.HasSuffix(name, statsExt)
	case strings.HasPrefix(name, deletionsDir):
		return strings.HasSuffix(name, ".arrow") || strings.HasSuffix(name, ".bin")
	case strings.HasPrefix(name, transactionsDir):
		return strings.HasSuffix(name, ".txn")
	}
	final, _, staged := strings.Cut(name, manifestExt+"-")
	if staged {
		name = final + manifestExt
	}
	version, ok := ParseManifestName(name)
	return ok && (staged || version < newest)
}

// listAll yields all objects below a folder.
func listAll(ctx context.Context, st Storage, dir string) iter.Seq2[Info, error] {
	return listAfter(ctx, st, dir, "")
}
