// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

const (
	defaultVersions = 50
	maxVersions     = 200
	// describeAtOnce bounds the manifests of one call in memory.
	describeAtOnce = 4
)

// ListTableVersions implements lakepb.CatalogServer. Any member of the group
// answers.
func (s *Server) ListTableVersions(ctx context.Context, req *lakepb.ListTableVersionsRequest) (*lakepb.ListTableVersionsResponse, error) {
	name, err := granted(ctx, req.GetName())
	if err != nil {
		return nil, err
	}
	size := int(req.GetPageSize())
	if size < 0 || size > maxVersions {
		return nil, lake.Errorf(lake.Invalid, "page_size %d: want 1..%d, or 0 for %d", size, maxVersions, defaultVersions)
	}
	if size == 0 {
		size = defaultVersions
	}
	resp, err := s.versions(ctx, name, lake.Version(req.GetBefore()), size)
	return resp, lake.Wrap("list versions of table "+name.String(), err)
}

func (s *Server) versions(ctx context.Context, name lake.TableName, before lake.Version, size int) (*lakepb.ListTableVersionsResponse, error) {
	history, ok := s.opts.Engine.(engine.Historian)
	if !ok {
		return nil, lake.Errorf(lake.Unsupported, "the storage engine %q does not tell what its versions are", s.opts.Engine.Name())
	}
	table, err := s.catalog.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	tags, err := history.Tags(ctx, table.Snapshot.Location)
	if err != nil {
		return nil, err
	}
	asked, next := versionPage(table, tags, before, size)
	found := make([]*lakepb.TableVersion, len(asked))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(describeAtOnce)
	for i, v := range asked {
		group.Go(func() (err error) {
			if found[i], err = s.tableVersion(ctx, history, table.Snapshot, v); found[i] != nil {
				found[i].Tags = tags[v]
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(v *lakepb.TableVersion) bool { return v == nil })
	return &lakepb.ListTableVersionsResponse{Versions: found, NextBefore: uint64(next)}, nil
}

// versionPage returns the versions that may be there, the newest first: all that
// were not given up, and of those that were, the tagged ones.
func versionPage(table catalog.Table, tags map[lake.Version][]string, before lake.Version, size int) (page []lake.Version, next lake.Version) {
	head, floor := table.Snapshot.Version, table.Reclaimed.Floor
	from := head
	if before > 0 && before <= head {
		from = before - 1
	}
	for v := from; v > floor && len(page) < size; v-- {
		page = append(page, v)
	}
	var kept []lake.Version
	for v := range tags {
		if v <= floor && v <= from {
			kept = append(kept, v)
		}
	}
	slices.SortFunc(kept, func(a, b lake.Version) int { return cmp.Compare(b, a) })
	page = append(page, kept[:min(len(kept), size-len(page))]...)
	if n := len(page); n == size && page[n-1] > 1 {
		next = page[n-1]
	}
	return page, next
}

// tableVersion describes one version, or returns nil when it is not there any
// more.
func (s *Server) tableVersion(ctx context.Context, history engine.Historian, current lake.Snapshot, v lake.Version) (*lakepb.TableVersion, error) {
	record, err := s.opts.Store.Get(ctx, fmt.Sprintf("%s%020d", s.opts.Engine.HistoryPrefix(current.Location), uint64(v)))
	if errors.Is(err, metastore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entry engine.Entry
	if err := json.Unmarshal(record.Value, &entry); err != nil {
		return nil, lake.Errorf(lake.Corrupt, "record %q: %w", record.Key, err)
	}
	d, err := history.Describe(ctx, entry.Snapshot)
	if errors.Is(err, engine.ErrUnavailable) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &lakepb.TableVersion{
		Version: uint64(v), MadeAt: timestamp(d.Made), Change: d.Change, Operations: uint64(len(entry.Operations)),
		Rows: d.Rows, Parts: uint64(d.Pieces), Bytes: d.Bytes,
	}, nil
}
