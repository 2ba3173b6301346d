// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/retention"
)

// The actions of tags in the audit of a table's maintenance, which keeps what is
// tagged.
const (
	actionTag   catalog.Action = "tag"
	actionUntag catalog.Action = "untag"
)

// TagTable implements lakepb.CatalogServer. Any member of the group answers: tags
// are objects of the table, which nobody but the clean-up decides by.
func (s *Server) TagTable(ctx context.Context, req *lakepb.TagTableRequest) (*lakepb.TableTag, error) {
	return onTable(ctx, s, "tag", req, s.tag)
}

func (s *Server) tag(ctx context.Context, name lake.TableName, req *lakepb.TagTableRequest) (*lakepb.TableTag, error) {
	tagger, err := s.tagger()
	if err == nil {
		err = checkTagReason(req.GetReason())
	}
	if err != nil {
		return nil, err
	}
	table, snap, err := s.versionOf(ctx, name, lake.Version(req.GetVersion()))
	if err != nil {
		return nil, err
	}
	kept, err := s.tagNames(ctx, table.Snapshot.Location)
	if err != nil {
		return nil, err
	}
	if err := tagger.Tag(ctx, snap, req.GetTag()); err != nil {
		return nil, err
	}
	// A clean-up commits the floor and reads the tags then. So a version above the
	// floor after its tag was made is safe, and one below it only if it had a tag.
	now, err := s.catalog.GetIncarnation(ctx, name, table.Snapshot.Incarnation)
	if err != nil {
		return nil, err
	}
	if snap.Version <= now.Reclaimed.Floor && len(kept[snap.Version]) == 0 {
		if _, err := tagger.Untag(ctx, snap.Location, req.GetTag()); err != nil {
			return nil, err
		}
		return nil, lake.Errorf(lake.Precondition, "version %d was given up: versions above %d can be tagged", snap.Version, now.Reclaimed.Floor)
	}
	return &lakepb.TableTag{Tag: req.GetTag(), Version: uint64(snap.Version)}, s.noteTag(ctx, table, actionTag, snap.Version, req.GetTag(), req.GetReason())
}

// versionOf finds a version of a table, the current one for 0.
func (s *Server) versionOf(ctx context.Context, name lake.TableName, v lake.Version) (catalog.Table, lake.Snapshot, error) {
	table, err := s.catalog.Get(ctx, name)
	if err != nil || v == 0 || v == table.Snapshot.Version {
		return table, table.Snapshot, err
	}
	if v > table.Snapshot.Version {
		return table, lake.Snapshot{}, lake.Errorf(lake.NotFound, "there is no version %d: the current one is %d", v, table.Snapshot.Version)
	}
	snap, found, err := retention.Find(ctx, s.opts.Store, s.opts.Engine.HistoryPrefix(table.Snapshot.Location), v)
	if err == nil && !found {
		err = lake.Errorf(lake.Precondition, "version %d was given up: versions above %d can be tagged", v, table.Reclaimed.Floor)
	}
	return table, snap, err
}

// UntagTable implements lakepb.CatalogServer. Any member of the group answers.
func (s *Server) UntagTable(ctx context.Context, req *lakepb.UntagTableRequest) (*lakepb.TableTag, error) {
	return onTable(ctx, s, "untag", req, s.untag)
}

func (s *Server) untag(ctx context.Context, name lake.TableName, req *lakepb.UntagTableRequest) (*lakepb.TableTag, error) {
	tagger, err := s.tagger()
	if err == nil {
		err = checkTagReason(req.GetReason())
	}
	if err != nil {
		return nil, err
	}
	table, err := s.catalog.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	v, err := tagger.Untag(ctx, table.Snapshot.Location, req.GetTag())
	if err != nil {
		return nil, err
	}
	return &lakepb.TableTag{Tag: req.GetTag(), Version: uint64(v)}, s.noteTag(ctx, table, actionUntag, v, req.GetTag(), req.GetReason())
}

// ListTableTags implements lakepb.CatalogServer. Any member of the group answers.
func (s *Server) ListTableTags(ctx context.Context, req *lakepb.ListTableTagsRequest) (*lakepb.ListTableTagsResponse, error) {
	name, err := granted(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	table, err := s.catalog.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	tags, err := s.tagNames(ctx, table.Snapshot.Location)
	if err != nil {
		return nil, lake.Wrap("list tags of table "+name.String(), err)
	}
	resp := &lakepb.ListTableTagsResponse{}
	for v, names := range tags {
		for _, n := range names {
			resp.Tags = append(resp.Tags, &lakepb.TableTag{Tag: n, Version: uint64(v)})
		}
	}
	slices.SortFunc(resp.Tags, func(a, b *lakepb.TableTag) int { return cmp.Compare(a.GetTag(), b.GetTag()) })
	return resp, nil
}

func (s *Server) tagger() (engine.Tagger, error) {
	tagger, ok := s.opts.Engine.(engine.Tagger)
	if !ok {
		return nil, lake.Errorf(lake.Unsupported, "the storage engine %q has no tags", s.opts.Engine.Name())
	}
	return tagger, nil
}

func (s *Server) tagNames(ctx context.Context, loc lake.Location) (map[lake.Version][]string, error) {
	history, ok := s.opts.Engine.(engine.Historian)
	if !ok {
		return nil, lake.Errorf(lake.Unsupported, "the storage engine %q has no tags", s.opts.Engine.Name())
	}
	return history.Tags(ctx, loc)
}

// maxTagReason leaves room for the version and the tag in a line of the audit.
const maxTagReason = catalog.MaxReasonBytes - 256

func checkTagReason(reason string) error {
	if len(reason) > maxTagReason {
		return lake.Errorf(lake.Invalid, "reason of %d bytes: at most %d", len(reason), maxTagReason)
	}
	return nil
}

// noteTag writes who changed a tag into the audit.
func (s *Server) noteTag(ctx context.Context, t catalog.Table, action catalog.Action, v lake.Version, tag, reason string) error {
	p, err := caller(ctx)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("version %d as %s", v, tag)
	if reason != "" {
		text += ": " + reason
	}
	return s.catalog.Note(ctx, catalog.MaintenanceKind, catalog.MaintenanceID(t.Name, t.Snapshot.Incarnation), catalog.Entry{
		Action: action, By: p.Name, Via: p.Via, Reason: text,
	})
}
