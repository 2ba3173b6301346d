// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Describe implements lakepb.MetastoreServer. It is the one call that names no
// cluster: a client learns from it which one it talks to.
func (s *MetastoreService) Describe(ctx context.Context, _ *lakepb.MetastoreDescribeRequest) (resp *lakepb.MetastoreDescribeResponse, err error) {
	done := s.metrics.begin("Describe")
	defer func() { done(resp, err) }()
	if err := mayUseMetastore(ctx); err != nil {
		return nil, err
	}
	id, err := s.cluster.get(ctx)
	if err != nil {
		return nil, err
	}
	_, watch := s.store.(metastore.Watcher)
	_, getAll := s.store.(metastore.Snapshotter)
	return &lakepb.MetastoreDescribeResponse{Cluster: id.String(), Watch: watch, GetAll: getAll}, nil
}

// Get implements lakepb.MetastoreServer. A missing record is an answer, not an
// error.
func (s *MetastoreService) Get(ctx context.Context, req *lakepb.MetastoreGetRequest) (*lakepb.MetastoreGetResponse, error) {
	return answer(ctx, s, "Get", req.GetCluster(), func() (*lakepb.MetastoreGetResponse, error) {
		if err := reserved(req.GetKey()); err != nil {
			return nil, err
		}
		rec, err := s.store.Get(ctx, req.GetKey())
		switch {
		case errors.Is(err, metastore.ErrNotFound):
			return &lakepb.MetastoreGetResponse{}, nil
		case err != nil:
			return nil, err
		}
		return &lakepb.MetastoreGetResponse{Record: recordMessage(rec)}, nil
	})
}

func recordMessage(rec metastore.Record) *lakepb.MetastoreRecord {
	return &lakepb.MetastoreRecord{Key: rec.Key, Value: rec.Value}
}

// GetAll implements lakepb.MetastoreServer. One moment cannot be cut into
// several answers, so one that is too large is refused.
func (s *MetastoreService) GetAll(ctx context.Context, req *lakepb.MetastoreGetAllRequest) (*lakepb.MetastoreGetAllResponse, error) {
	return answer(ctx, s, "GetAll", req.GetCluster(), func() (*lakepb.MetastoreGetAllResponse, error) {
		snapshotter, ok := s.store.(metastore.Snapshotter)
		if !ok {
			return nil, lake.Errorf(lake.Unsupported, "the store of this cluster has no reads of several records")
		}
		if slices.Contains(req.GetKeys(), clusterKey) {
			return nil, reserved(clusterKey)
		}
		found, err := snapshotter.GetAll(ctx, req.GetKeys())
		if err != nil {
			return nil, err
		}
		resp, size := &lakepb.MetastoreGetAllResponse{}, 0
		for _, rec := range found {
			if size += len(rec.Key) + len(rec.Value); size > maxAnswerBytes {
				return nil, fmt.Errorf("%w: the records are over %d bytes together: ask for fewer", metastore.ErrTooLarge, maxAnswerBytes)
			}
			resp.Records = append(resp.Records, recordMessage(rec))
		}
		return resp, nil
	})
}

// Scan implements lakepb.MetastoreServer.
func (s *MetastoreService) Scan(ctx context.Context, req *lakepb.MetastoreScanRequest) (*lakepb.MetastoreScanResponse, error) {
	return answer(ctx, s, "Scan", req.GetCluster(), func() (*lakepb.MetastoreScanResponse, error) {
		page, err := s.visible(ctx, req.GetPrefix(), req.GetCursor(), int(req.GetLimit()))
		if err != nil {
			return nil, err
		}
		resp := &lakepb.MetastoreScanResponse{Next: page.Next, Records: make([]*lakepb.MetastoreRecord, len(page.Records))}
		for i, rec := range page.Records {
			resp.Records[i] = recordMessage(rec)
		}
		return resp, nil
	})
}

// visible returns a page without the service's own record. A page that has
// nothing else is not worth an answer, so the next one takes its place.
func (s *MetastoreService) visible(ctx context.Context, prefix, cursor string, limit int) (metastore.Page, error) {
	page, err := s.page(ctx, prefix, cursor, limit)
	if err != nil {
		return metastore.Page{}, err
	}
	own := slices.IndexFunc(page.Records, func(rec metastore.Record) bool { return rec.Key == clusterKey })
	if own < 0 {
		return page, nil
	}
	if page.Records = slices.Delete(page.Records, own, own+1); len(page.Records) == 0 && page.Next != "" {
		return s.page(ctx, prefix, page.Next, limit) // the record is not there twice
	}
	return page, nil
}

// page scans again with a lower limit while the page has too many bytes. Only
// the store can make a cursor for a page that ends earlier. Each limit is lower
// than the one before, and one record always fits, so it ends; the second scan
// nearly always is the last.
func (s *MetastoreService) page(ctx context.Context, prefix, cursor string, limit int) (metastore.Page, error) {
	for {
		page, err := s.store.Scan(ctx, prefix, cursor, limit)
		if err != nil {
			return metastore.Page{}, err
		}
		fit := fitting(page.Records, s.opts.PageBytes)
		if fit == len(page.Records) {
			return page, nil
		}
		limit = fit
	}
}

// fitting returns how many of the records fit into a number of bytes, at least
// one if there is one.
func fitting(records []metastore.Record, most int) int {
	size := 0
	for i, rec := range records {
		if size += len(rec.Key) + len(rec.Value); i > 0 && size > most {
			return i
		}
	}
	return len(records)
}
