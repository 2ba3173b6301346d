// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// Get implements [metastore.Store].
func (s *Store) Get(ctx context.Context, key string) (metastore.Record, error) {
	if err := metastore.CheckKey(key); err != nil {
		return metastore.Record{}, err
	}
	if err := s.enter(ctx); err != nil {
		return metastore.Record{}, err
	}
	defer s.leave()
	req := &lakepb.MetastoreGetRequest{Cluster: s.cluster.String(), Key: key}
	var resp *lakepb.MetastoreGetResponse
	err := s.read(ctx, func(ctx context.Context, p *probe) (err error) {
		resp, err = s.client.Get(ctx, req, p.options()...)
		return err
	})
	switch {
	case err != nil:
		return metastore.Record{}, err
	case resp.GetRecord() == nil:
		return metastore.Record{}, rules.NotFound(key)
	case resp.GetRecord().GetKey() != key:
		return metastore.Record{}, lake.Errorf(lake.Corrupt, "the server answered key %q with key %.100q", key, resp.GetRecord().GetKey())
	}
	return record(resp.GetRecord())
}

// record checks a record of the server's. Its key is known to be good.
func record(m *lakepb.MetastoreRecord) (metastore.Record, error) {
	if n := len(m.GetValue()); n > metastore.MaxValueBytes {
		return metastore.Record{}, lake.Errorf(lake.Corrupt, "the server answered key %q with a value of %d bytes, at most %d", m.GetKey(), n, metastore.MaxValueBytes)
	}
	return metastore.Record{Key: m.GetKey(), Value: present(m.GetValue())}, nil
}

// present turns nil into empty: the wire does not tell them apart.
func present(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}

// maxKeysBytes bounds the keys of one GetAll, so that the request fits.
const maxKeysBytes = 4 << 20

// GetAll implements [metastore.Snapshotter]. It is refused with
// metastore.ErrInvalid when the records are too large for one answer together,
// which is about 7 MiB, and with lake.Unsupported when the server's store lacks
// the ability.
func (s *Store) GetAll(ctx context.Context, keys []string) (map[string]metastore.Record, error) {
	asked, size := make(map[string]bool, len(keys)), 0
	for _, key := range keys {
		if err := metastore.CheckKey(key); err != nil {
			return nil, err
		}
		asked[key] = true
		if size += len(key); size > maxKeysBytes {
			return nil, fmt.Errorf("%w: keys of more than %d bytes: ask for fewer", metastore.ErrTooLarge, maxKeysBytes)
		}
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	if !s.getAll {
		return nil, lake.Errorf(lake.Unsupported, "the store of cluster %s has no reads of several records", s.cluster)
	}
	req := &lakepb.MetastoreGetAllRequest{Cluster: s.cluster.String(), Keys: keys}
	var resp *lakepb.MetastoreGetAllResponse
	err := s.read(ctx, func(ctx context.Context, p *probe) (err error) {
		resp, err = s.client.GetAll(ctx, req, p.options()...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return recordsAsked(asked, resp.GetRecords())
}

func recordsAsked(asked map[string]bool, records []*lakepb.MetastoreRecord) (map[string]metastore.Record, error) {
	found := make(map[string]metastore.Record, len(records))
	for _, m := range records {
		if _, twice := found[m.GetKey()]; twice || !asked[m.GetKey()] {
			return nil, lake.Errorf(lake.Corrupt, "the server answered with key %.100q, which is there twice or was not asked for", m.GetKey())
		}
		rec, err := record(m)
		if err != nil {
			return nil, err
		}
		found[rec.Key] = rec
	}
	return found, nil
}

// maxCursorBytes is more than any backend's cursor has: one key, and where the
// scan stands.
const maxCursorBytes = 8 << 10

// Scan implements [metastore.Store]. A page is cut where its answer would get
// too large, so it may have fewer records than the limit and a cursor.
func (s *Store) Scan(ctx context.Context, prefix, cursor string, limit int) (metastore.Page, error) {
	if err := metastore.CheckScan(prefix, limit); err != nil {
		return metastore.Page{}, err
	}
	if len(cursor) > maxCursorBytes || !utf8.ValidString(cursor) {
		return metastore.Page{}, fmt.Errorf("%w: malformed cursor: want the Next of the page before", metastore.ErrInvalid)
	}
	if err := s.enter(ctx); err != nil {
		return metastore.Page{}, err
	}
	defer s.leave()
	req := &lakepb.MetastoreScanRequest{Cluster: s.cluster.String(), Prefix: prefix, Cursor: cursor, Limit: int32(limit)} //nolint:gosec // checked above
	var resp *lakepb.MetastoreScanResponse
	err := s.read(ctx, func(ctx context.Context, p *probe) (err error) {
		resp, err = s.client.Scan(ctx, req, p.options()...)
		return err
	})
	if err != nil {
		return metastore.Page{}, err
	}
	return page(req, resp)
}
