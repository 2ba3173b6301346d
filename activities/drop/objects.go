// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package drop

import (
	"context"
	"iter"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/lakeplane/lake/activities/lease"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/workflows"
)

// DeleteObjects deletes a set of pages of the objects under the location.
//
// Running it twice is safe: it starts at the record's cursor, and deleting what
// is gone already succeeds. The cursor and the counts move in one fenced commit
// after each page, so a crash repeats at most one page; what it had deleted of
// that page is not counted. What a first quick activity does not finish is counted
// by the next ones, so that people see how far it is.
func (a *Activities) DeleteObjects(ctx context.Context, in workflows.DropStep) (workflows.DropProgress, error) {
	return a.run(ctx, in, func(ctx context.Context, h *held, out *workflows.DropProgress) error {
		if passed(h.Record(), workflows.PhaseObjects) {
			out.Done = true
			return h.Release(ctx, nil)
		}
		var err error
		out.Done, err = a.deleteObjects(ctx, h, in, h.Release)
		return err
	})
}

// closing is how a part of a drop ends: with [lease.Lease.Commit] where another part
// follows in the same activity, with Release where none does.
type closing func(ctx context.Context, change func(*catalog.Procedure), ops ...metastore.Op) error

// deleteObjects deletes objects until none is left, which it reports, or until the
// activity should return.
func (a *Activities) deleteObjects(ctx context.Context, h *held, in workflows.DropStep, end closing) (done bool, err error) {
	if err := h.begun(); err != nil {
		return false, err
	}
	budget, page := a.budget(in)
	meter, speed := budget.Start(ctx), pace{}
	if err := a.measure(ctx, h, in.Quick); err != nil {
		return false, err
	}
	for infos, err := range a.pages(ctx, h, page) {
		if err != nil {
			return false, lake.Wrap("list objects", err)
		}
		spent, err := a.deletePieces(ctx, h, &speed, meter, infos)
		if err != nil {
			return false, err
		}
		if spent {
			return false, end(ctx, nil)
		}
	}
	return true, end(ctx, func(p *catalog.Procedure) {
		p.Phase, p.Cursor = string(workflows.PhaseHistory), ""
		p.Progress = a.historyProgress(h)
	}, h.guard())
}

// begun refuses to delete before the point of no return, whatever the workflow
// believes.
func (h *held) begun() error {
	if !passed(h.Record(), workflows.PhaseWaiting) {
		return lake.Errorf(lake.Precondition, "the drop of %s is in phase %q: the point of no return was not recorded", h.tombstone.ProcedureID(), h.Record().Phase)
	}
	return nil
}

// pages yields what is left under the location, as much at a time as one commit
// of the cursor covers: several pages of a listing.
func (a *Activities) pages(ctx context.Context, h *held, size int) iter.Seq2[[]objstore.Info, error] {
	return func(yield func([]objstore.Info, error) bool) {
		var page []objstore.Info
		for infos, err := range objstore.Pages(ctx, a.objects, h.prefix(), h.Record().Cursor, min(size, objstore.MaxPage)) {
			if err != nil {
				yield(nil, err)
				return
			}
			if page = append(page, infos...); len(page) >= size {
				if !yield(page, nil) {
					return
				}
				page = nil
			}
		}
		if len(page) > 0 {
			yield(page, nil)
		}
	}
}

// deletePieces deletes one page, in pieces of a few seconds each where an
// operator bounds the rate, and reports whether the activity should return. An
// order that came meanwhile is met at the next piece.
func (a *Activities) deletePieces(ctx context.Context, h *held, speed *pace, meter *lease.Meter, infos []objstore.Info) (spent bool, err error) {
	for len(infos) > 0 {
		if meter.Spent() || h.Held() {
			return true, nil
		}
		n := piece(h.Record().Rate, len(infos))
		began := time.Now()
		if err := a.deletePage(ctx, h, speed, infos[:n]); err != nil {
			return false, err
		}
		activity.RecordHeartbeat(ctx, h.Record().Cursor)
		if err := lease.Slow(ctx, h.Record().Rate, n, time.Since(began)); err != nil {
			return false, err
		}
		meter.Add(n)
		infos = infos[n:]
	}
	return false, nil
}

// pieceTime is how long a piece of a page takes under a bounded rate, and so how
// soon a changed one is in force. It is well inside the heartbeat's timeout.
const pieceTime = 2 * time.Second

// piece is how many of n objects are deleted before the rate is looked at again.
func piece(rate float64, n int) int {
	if rate <= 0 {
		return n
	}
	return min(n, max(1, int(rate*pieceTime.Seconds())))
}

// deletePage deletes one page and records it.
func (a *Activities) deletePage(ctx context.Context, h *held, speed *pace, infos []objstore.Info) error {
	keys := make([]string, len(infos))
	var bytes int64
	for i, info := range infos {
		if err := inside(h, info.Key); err != nil {
			return err
		}
		keys[i] = info.Key
		bytes += info.Size
	}
	if err := a.deleteAll(ctx, h, speed, keys); err != nil {
		return err
	}
	return h.Commit(ctx, func(p *catalog.Procedure) {
		p.Cursor = keys[len(keys)-1]
		if p.Progress.Of != workflows.CountObjects {
			p.Progress = catalog.Progress{Of: workflows.CountObjects}
		}
		count(p, workflows.CountObjects, int64(len(keys)))
		count(p, workflows.CountBytes, bytes)
	}, h.guard())
}

// deleteAll deletes the objects, a share at a time, while the lease lasts. It
// takes the held drop because only its holder may delete.
func (a *Activities) deleteAll(ctx context.Context, h *held, speed *pace, keys []string) error {
	for len(keys) > 0 {
		if err := h.Renew(ctx); err != nil {
			return err
		}
		n := min(speed.share(), len(keys))
		began := time.Now()
		if err := a.deleteShare(ctx, h, keys[:n]); err != nil {
			return err
		}
		speed.took(time.Since(began))
		activity.RecordHeartbeat(ctx, h.Record().Cursor)
		keys = keys[n:]
	}
	return nil
}

// deleteShare deletes objects between two looks at the lease.
func (a *Activities) deleteShare(ctx context.Context, h *held, keys []string) error {
	bound, cancel := h.Bound(ctx)
	defer cancel()
	_, err := a.batches.DeleteAll(bound, keys)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return lake.Wrap("delete objects", err)
}

// pace sets how many objects are deleted between two heartbeats: many where it
// goes fast, since each batch has a price of its own, and few where it goes
// slowly, so that the attempt is not taken for dead. The zero value is good.
type pace struct{ doublings int }

const (
	leastShare   = 128
	mostDoubling = 7 // 16384 objects: more than a page
	// A share that is fast may be one whose sync took all the time, so it grows until
	// it is well inside the heartbeat's timeout.
	fastShare = time.Second
	slowShare = 3 * time.Second
)

func (p *pace) share() int { return leastShare << p.doublings }

// took tells how long the last share was deleted for.
func (p *pace) took(d time.Duration) {
	switch {
	case d < fastShare:
		p.doublings = min(p.doublings+1, mostDoubling)
	case d > slowShare:
		p.doublings = max(p.doublings-1, 0)
	}
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
