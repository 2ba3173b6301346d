// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"context"
	"sync/atomic"

	driver "github.com/cockroachdb/pebble/v2"
)

// keyset knows keys that certainly have no record, so that a create, or a read
// that asks whether something is new, need not look. It is filled in the
// background when a store opens; until then, and in a database with more than
// maxKeysetKeys, every key may have one.
type keyset struct {
	filter *filter
	ready  atomic.Bool
}

// maxKeysetKeys bounds the reading of a large database, whose filter would be
// wrong too often to pay.
const maxKeysetKeys = 4 << 20

// mayHold reports false when there is no record under the key: a commit adds the
// key before its record is visible. It stays so while the caller holds the
// key's stripe; without, it was so at some moment during the call.
func (k *keyset) mayHold(key string) bool {
	return !k.ready.Load() || k.filter.has(key)
}

// add notes a key before its record is visible. The caller holds the key's
// stripe exclusively.
func (k *keyset) add(key string) { k.filter.add(key) }

// fill adds the keys of a snapshot, which was taken before the first add. It
// stops without effect when ctx ends or there are too many.
func (k *keyset) fill(ctx context.Context, snapshot *driver.Snapshot) error {
	iter, err := snapshot.NewIterWithContext(ctx, bounds("", ""))
	if err != nil {
		return driverError("read keys", err)
	}
	n := 0
	valid := iter.First()
	for ; valid && n < maxKeysetKeys; valid = iter.Next() {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return iter.Close()
		}
		k.filter.add(string(iter.Key()[1:]))
	}
	err = iter.Error()
	if closeErr := iter.Close(); err == nil {
		err = closeErr
	}
	k.ready.Store(err == nil && !valid)
	return driverError("read keys", err)
}
