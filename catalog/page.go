// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// scanPage reads one page under prefix and decodes its records. The cursor is
// the store's own; it comes from outside, and the store refuses a foreign one.
//
// Records that do not decode are left out: the error, lake.Corrupt, names the
// first of them and comes beside the rest of the page and the next cursor, so that
// damage to one need not keep others waiting.
func scanPage[T any](ctx context.Context, store metastore.Store, prefix, cursor string, limit int, decode func(metastore.Record) (T, error)) ([]T, string, error) {
	if limit < 1 || limit > lake.MaxPageSize {
		return nil, "", lake.Errorf(lake.Invalid, "page size %d: want 1..%d", limit, lake.MaxPageSize)
	}
	page, err := store.Scan(ctx, prefix, cursor, limit)
	if err != nil {
		return nil, "", lake.Wrap("list "+prefix, err)
	}
	out := make([]T, 0, len(page.Records))
	var damage error
	for _, r := range page.Records {
		item, err := decode(r)
		if err == nil {
			out = append(out, item)
		} else if damage == nil {
			damage = err
		}
	}
	return out, page.Next, damage
}
