// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstore

import (
	"context"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"
)

// BatchDeleter is an optional ability of a [Store]: deleting many objects for
// less than the price of one each.
type BatchDeleter interface {
	// DeleteAll removes the objects under keys, in any order. It says how many
	// of the keys hold no object any more, durably; a missing object and a key
	// that is named twice count like others, so that a repeated attempt
	// succeeds. When a key is invalid, nothing is deleted and the error is
	// [ErrInvalid]. Any other failure is a *[DeleteError], which names the keys
	// that may still hold an object; each of those holds a whole one or none.
	DeleteAll(ctx context.Context, keys []string) (deleted int, err error)
}

// DeleteError says which objects of a batch may still be there, and why.
type DeleteError struct {
	Failed []string // at least one, in the order they were given
	Err    error    // why the first failure happened
}

// Error names the first key.
func (e *DeleteError) Error() string {
	return fmt.Sprintf("%d objects may be left, among them %q: %v", len(e.Failed), e.Failed[0], e.Err)
}

// Unwrap returns the first failure, which gives the error its kind.
func (e *DeleteError) Unwrap() error { return e.Err }

// defaultParallel is how many single deletes run at once: enough to hide the
// latency of a store, too few to be throttled for.
const defaultParallel = 16

// DeleteAll deletes objects by the rules of [BatchDeleter], also from a store
// without that ability.
func DeleteAll(ctx context.Context, s Store, keys []string) (deleted int, err error) {
	return Batches(s, defaultParallel).DeleteAll(ctx, keys)
}

// DeleteListed deletes the objects of a listing, as [DeleteAll] does.
func DeleteListed(ctx context.Context, s Store, page []Info) (deleted int, err error) {
	keys := make([]string, len(page))
	for i, object := range page {
		keys[i] = object.Key
	}
	return DeleteAll(ctx, s, keys)
}

// Batches returns the store's own [BatchDeleter], or else one that makes up to
// parallel single deletes at once and starts none after the first failure.
func Batches(s Store, parallel int) BatchDeleter {
	if b, ok := s.(BatchDeleter); ok {
		return b
	}
	return singles{store: s, parallel: max(parallel, 1)}
}

// singles makes a batch of single deletes.
type singles struct {
	store    Store
	parallel int
}

// DeleteAll implements [BatchDeleter].
func (d singles) DeleteAll(ctx context.Context, keys []string) (deleted int, err error) {
	for _, key := range keys {
		if err := CheckKey(key); err != nil {
			return 0, err
		}
	}
	gone := make([]bool, len(keys))
	group, bounded := errgroup.WithContext(ctx)
	group.SetLimit(d.parallel)
	for i, key := range keys {
		if bounded.Err() != nil {
			break
		}
		group.Go(func() error {
			err := d.store.Delete(bounded, key)
			gone[i] = err == nil
			return err
		})
	}
	if err = group.Wait(); err == nil {
		err = ctx.Err()
	}
	return Deleted(keys, func(i int) bool { return gone[i] }, err)
}

// Deleted is the answer of a [BatchDeleter] that saw off the keys for which
// gone is true; cause is why it did not see off the others. It is for backends.
func Deleted(keys []string, gone func(i int) bool, cause error) (int, error) {
	var failed []string
	for i, key := range keys {
		if !gone(i) {
			failed = append(failed, key)
		}
	}
	if len(failed) == 0 {
		return len(keys), nil
	}
	return len(keys) - len(failed), &DeleteError{Failed: failed, Err: cause}
}

// Pager is an optional ability of a [Store]: a listing of many pages that does
// not begin anew for each of them.
type Pager interface {
	// Pages yields the pages that [Store.List] would return, each called with
	// the last key of the one before, and none of them empty. It may miss
	// objects that appear after it began; what has gone by the time of its page
	// is left out. An error comes last, with no page. The loop may delete what
	// it was given.
	Pages(ctx context.Context, prefix, after string, limit int) iter.Seq2[[]Info, error]
}

// Pages lists by the rules of [Pager], also a store without that ability.
func Pages(ctx context.Context, s Store, prefix, after string, limit int) iter.Seq2[[]Info, error] {
	if p, ok := s.(Pager); ok {
		return p.Pages(ctx, prefix, after, limit)
	}
	return func(yield func([]Info, error) bool) {
		for more := true; more; {
			var infos []Info
			var err error
			if infos, more, err = s.List(ctx, prefix, after, limit); err != nil {
				yield(nil, err)
				return
			}
			if len(infos) == 0 || !yield(infos, nil) {
				return
			}
			after = infos[len(infos)-1].Key
		}
	}
}
