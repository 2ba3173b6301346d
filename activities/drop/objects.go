// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package drop

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/workflows"
)

// DeleteObjects deletes a set of pages of the objects under the location.
//
// Running it twice is safe: it starts at the record's cursor, and deleting what
// is gone already succeeds. The cursor and the counts move in one fenced commit
// after each page, so a crash repeats at most one page; what it had deleted of
// that page is not counted.
func (a *Activities) DeleteObjects(ctx context.Context, in workflows.DropStep) (workflows.DropProgress, error) {
	return a.run(ctx, in, func(ctx context.Context, h *held, out *workflows.DropProgress) error {
		if passed(h.Record(), workflows.PhaseObjects) {
			out.Done = true
			return h.Release(ctx, nil)
		}
		if err := h.begun(); err != nil {
			return err
		}
		for meter := a.opts.Budget.Start(ctx); ; {
			n, more, err := a.deletePage(ctx, h)
			if err != nil {
				return err
			}
			activity.RecordHeartbeat(ctx, h.Record().Cursor)
			if meter.Add(n); !more {
				out.Done = true
				return h.Release(ctx, func(p *catalog.Procedure) {
					p.Phase, p.Cursor = string(workflows.PhaseHistory), ""
				}, h.guard())
			}
			if meter.Spent() {
				return h.Release(ctx, nil)
			}
		}
	})
}

// begun refuses to delete before the point of no return, whatever the workflow
// believes.
func (h *held) begun() error {
	if !passed(h.Record(), workflows.PhaseWaiting) {
		return lake.Errorf(lake.Precondition, "the drop of %s is in phase %q: the point of no return was not recorded", h.tombstone.ProcedureID(), h.Record().Phase)
	}
	return nil
}

// deletePage deletes one listed page after the record's cursor and records it.
func (a *Activities) deletePage(ctx context.Context, h *held) (n int, more bool, err error) {
	infos, more, err := a.objects.List(ctx, h.prefix(), h.Record().Cursor, a.opts.ListPage)
	if err != nil || len(infos) == 0 {
		return 0, more, lake.Wrap("list objects", err)
	}
	if err := a.deleteAll(ctx, h, infos); err != nil {
		return 0, false, err
	}
	var bytes int64
	for _, info := range infos {
		bytes += info.Size
	}
	err = h.Commit(ctx, func(p *catalog.Procedure) {
		p.Cursor = infos[len(infos)-1].Key
		count(p, workflows.CountObjects, int64(len(infos)))
		count(p, workflows.CountBytes, bytes)
	}, h.guard())
	return len(infos), more, err
}

// deleteAll deletes the objects, some at a time, while the lease lasts. It takes
// the held drop because only its holder may delete.
func (a *Activities) deleteAll(ctx context.Context, h *held, infos []objstore.Info) error {
	const share = 128 // objects between two looks at the lease
	for len(infos) > 0 {
		if err := h.Renew(ctx); err != nil {
			return err
		}
		n := min(share, len(infos))
		if err := a.deleteShare(ctx, h, infos[:n]); err != nil {
			return err
		}
		activity.RecordHeartbeat(ctx, h.Record().Cursor)
		infos = infos[n:]
	}
	return nil
}

func (a *Activities) deleteShare(ctx context.Context, h *held, infos []objstore.Info) error {
	lease, cancel := h.Bound(ctx)
	defer cancel()
	group, bounded := errgroup.WithContext(lease)
	group.SetLimit(a.opts.Parallel)
	for _, info := range infos {
		if err := inside(h, info.Key); err != nil {
			cancel()
			return errors.Join(err, group.Wait())
		}
		if bounded.Err() != nil {
			break // the lease or the attempt ended, or a delete failed
		}
		group.Go(func() error { return a.objects.Delete(bounded, info.Key) })
	}
	err := group.Wait()
	if err == nil {
		err = lease.Err()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return lake.Wrap("delete objects", err)
}

// inside is the last line against a store that lists a neighbour's objects.
func inside(h *held, key string) error {
	if prefix := h.prefix(); len(key) <= len(prefix) || key[:len(prefix)] != prefix {
		return lake.Errorf(lake.Corrupt, "the listing of %q holds %q, which is outside", prefix, key)
	}
	return nil
}

func count(p *catalog.Procedure, name string, n int64) {
	if p.Counters == nil {
		p.Counters = map[string]int64{}
	}
	p.Counters[name] += n
}
