// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"context"
	"errors"

	driver "github.com/cockroachdb/pebble/v2"

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
	if !s.keys.mayHold(key) {
		return metastore.Record{}, rules.NotFound(key) // and nothing that is not durable was seen
	}
	value, err := s.read(recordKey(make([]byte, 0, 128), key))
	if err != nil {
		return metastore.Record{}, err
	}
	if err := s.stripes.of(key).landed(ctx); err != nil {
		return metastore.Record{}, err
	}
	if value == nil {
		return metastore.Record{}, rules.NotFound(key)
	}
	return metastore.Record{Key: key, Value: value}, nil
}

// read returns a copy of the value under a database key, nil for none. It may
// not be durable yet.
func (s *Store) read(key []byte) ([]byte, error) { return readFrom(s.db, key) }

func readFrom(from driver.Reader, key []byte) ([]byte, error) {
	value, closer, err := from.Get(key)
	if errors.Is(err, driver.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, driverError("read", err)
	}
	value = append([]byte{}, value...)
	return value, driverError("read", closer.Close())
}

// GetAll implements [metastore.Snapshotter].
func (s *Store) GetAll(ctx context.Context, keys []string) (map[string]metastore.Record, error) {
	for _, key := range keys {
		if err := metastore.CheckKey(key); err != nil {
			return nil, err
		}
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	found, err := s.readAll(keys)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := s.stripes.of(key).landed(ctx); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (s *Store) readAll(keys []string) (map[string]metastore.Record, error) {
	snapshot := s.db.NewSnapshot()
	defer snapshot.Close()
	found := make(map[string]metastore.Record, len(keys))
	for _, key := range keys {
		value, err := readFrom(snapshot, recordKey(nil, key))
		if err != nil {
			return nil, err
		}
		if value != nil {
			found[key] = metastore.Record{Key: key, Value: value}
		}
	}
	return found, nil
}

// Scan implements [metastore.Store]. The whole scan is in key order.
func (s *Store) Scan(ctx context.Context, prefix, cursor string, limit int) (metastore.Page, error) {
	after, err := rules.BeginScan(prefix, cursor, limit)
	if err != nil {
		return metastore.Page{}, err
	}
	if err := s.enter(ctx); err != nil {
		return metastore.Page{}, err
	}
	defer s.leave()
	page, err := s.page(ctx, prefix, after, limit)
	if err != nil {
		return metastore.Page{}, err
	}
	// The page also tells which keys are absent, so it waits for all of them.
	return page, s.stripes.landed(ctx)
}

func (s *Store) page(ctx context.Context, prefix, after string, limit int) (page metastore.Page, err error) {
	iter, err := s.db.NewIterWithContext(ctx, bounds(prefix, after))
	if err != nil {
		return metastore.Page{}, driverError("scan", err)
	}
	defer func() {
		if closeErr := iter.Close(); err == nil {
			err = driverError("scan", closeErr)
		}
	}()
	size := 0
	for valid := iter.First(); valid; valid = iter.Next() {
		value, err := iter.ValueAndErr()
		if err != nil {
			return metastore.Page{}, driverError("scan", err)
		}
		size += len(iter.Key()) + len(value)
		n := len(page.Records)
		if n == limit || n > 0 && size > rules.MaxPageBytes {
			page.Next = rules.EncodeCursor(prefix, page.Records[n-1].Key)
			return page, nil
		}
		if n%256 == 255 && ctx.Err() != nil {
			return metastore.Page{}, rules.Cancelled(ctx.Err())
		}
		page.Records = append(page.Records, metastore.Record{Key: string(iter.Key()[1:]), Value: append([]byte{}, value...)})
	}
	return page, driverError("scan", iter.Error())
}

// bounds limits an iterator to the records after a key and under a prefix.
func bounds(prefix, after string) *driver.IterOptions {
	opts := &driver.IterOptions{LowerBound: recordKey(nil, prefix)}
	if after != "" {
		opts.LowerBound = append(recordKey(nil, after), 0) // the next key of all
	}
	end, _ := rules.PrefixEnd(string(recordKey(nil, prefix))) // the family byte always has one
	opts.UpperBound = []byte(end)
	return opts
}
