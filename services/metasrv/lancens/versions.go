// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lancens

import (
	"context"
	"slices"
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/services/access"
)

const (
	// maxVersions bounds a listing of versions; the newest are told.
	maxVersions = 10_000
	rowsPage    = 1000
)

type version struct {
	Version lake.Version `json:"version"`
	Path    string       `json:"manifest_path"`
	Size    int64        `json:"manifest_size"`
}

type versionList struct {
	Versions []version `json:"versions"` // never null: clients refuse that
}

type oneVersion struct {
	Version version `json:"version"`
}

// versionOf tells a version that is published.
func (s *Server) versionOf(snap lake.Snapshot) version {
	return version{snap.Version, s.opts.Place.pathOf(s.opts.Engine.VersionKey(snap)), snap.Manifest.Size}
}

// listVersions tells the versions there are. Nearly always a client asks for the
// newest one alone, to read it or to build on it.
func (s *Server) listVersions(ctx context.Context, p access.Principal, in *request) (any, error) {
	t, err := s.find(ctx, p, in)
	if lake.Is(err, lake.NotFound) {
		if _, ok := s.declared(ctx, p, in); ok {
			return versionList{Versions: []version{}}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	limit, err := in.limit(maxVersions)
	if err != nil {
		return nil, err
	}
	// The newest may be committed and not have its final name yet.
	if err := s.opts.Authority.Publish(ctx, t); err != nil {
		return nil, lake.Errorf(lake.Unavailable, "%w", err)
	}
	descending := in.Descending != nil && *in.Descending
	if descending && limit == 1 {
		return versionList{[]version{s.versionOf(t.Snapshot)}}, nil
	}
	out := versionList{Versions: []version{}}
	prefix := s.opts.Engine.HistoryPrefix(t.Snapshot.Location)
	for cursor := ""; ; {
		rows, next, err := retention.Rows(ctx, s.opts.Records, prefix, cursor, rowsPage)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			// Those up to the floor may be on their way out, and what came after
			// the table was read is not published yet, perhaps.
			if v := r.Snapshot.Version; v > t.Reclaimed.Floor && v <= t.Snapshot.Version {
				out.Versions = append(out.Versions, s.versionOf(r.Snapshot))
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if descending {
		slices.Reverse(out.Versions)
	}
	out.Versions = out.Versions[:min(limit, len(out.Versions))]
	return out, nil
}

// version finds one version by its number.
func (s *Server) version(ctx context.Context, t catalog.Table, number int64) (lake.Snapshot, error) {
	gone := &codedError{codeVersionNotFound, lake.Errorf(lake.NotFound, "table %s has no version %d", t.Name, number)}
	switch {
	case number < 1 || lake.Version(number) > t.Snapshot.Version:
		return lake.Snapshot{}, gone
	case lake.Version(number) == t.Snapshot.Version:
		return t.Snapshot, nil
	}
	snap, ok, err := retention.Find(ctx, s.opts.Records, s.opts.Engine.HistoryPrefix(t.Snapshot.Location), lake.Version(number))
	if err != nil {
		return lake.Snapshot{}, err
	}
	if !ok {
		return lake.Snapshot{}, gone
	}
	return snap, nil
}

func (s *Server) describeVersion(ctx context.Context, p access.Principal, in *request) (any, error) {
	t, err := s.find(ctx, p, in)
	if err != nil {
		return nil, err
	}
	number := int64(t.Snapshot.Version)
	if in.Version != nil {
		number = *in.Version
	}
	snap, err := s.version(ctx, t, number)
	if err != nil {
		return nil, err
	}
	if snap == t.Snapshot {
		if err := s.opts.Authority.Publish(ctx, t); err != nil {
			return nil, lake.Errorf(lake.Unavailable, "%w", err)
		}
	}
	return oneVersion{s.versionOf(snap)}, nil
}

// createVersion commits a version that the client has staged. The first one makes
// the table.
func (s *Server) createVersion(ctx context.Context, p access.Principal, in *request) (any, error) {
	name, err := in.granted(p)
	if err != nil {
		return nil, err
	}
	proposal, err := s.proposal(in)
	if err != nil {
		return nil, err
	}
	var moved catalog.Table
	if proposal.Version == 1 {
		inc, e := incarnationOf(name, proposal.Key)
		if e != nil {
			return nil, e
		}
		moved, err = s.opts.Authority.AdoptFirst(ctx, name, inc, proposal)
	} else {
		moved, err = s.opts.Authority.Adopt(ctx, name, proposal)
	}
	if err != nil {
		return nil, err
	}
	return oneVersion{s.versionOf(moved.Snapshot)}, nil
}

func (s *Server) proposal(in *request) (engine.Proposal, error) {
	switch {
	case s.writable() != nil:
		return engine.Proposal{}, s.writable()
	case in.Version == nil || *in.Version < 1:
		return engine.Proposal{}, lake.Errorf(lake.Invalid, "version: want the number of the version to create")
	case in.NamingScheme != "" && in.NamingScheme != "V2":
		return engine.Proposal{}, lake.Errorf(lake.Invalid, "naming_scheme %q: want V2", in.NamingScheme)
	case in.ManifestSize != nil && *in.ManifestSize < 1:
		return engine.Proposal{}, lake.Errorf(lake.Invalid, "manifest_size %d: want the size of the manifest in bytes", *in.ManifestSize)
	}
	key, err := s.opts.Place.keyOf(in.ManifestPath)
	if err != nil {
		return engine.Proposal{}, err
	}
	out := engine.Proposal{Version: lake.Version(*in.Version), Key: key, Since: time.Now().Add(-s.opts.StagedFor)}
	if in.ManifestSize != nil {
		out.Size = *in.ManifestSize
	}
	return out, nil
}
