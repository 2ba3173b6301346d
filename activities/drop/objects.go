// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package drop

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/lakeplane/lake/activities/lease"
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
// that page is not counted. What takes longer than a moment is counted, so that
// people see how far it is.
//
// With the last object it goes on to what [Activities.ClearHistory] and
// [Activities.Finish] do, as far as nobody must be waited for.
func (a *Activities) DeleteObjects(ctx context.Context, in workflows.DropStep) (workflows.DropProgress, error) {
	return a.run(ctx, in, func(ctx context.Context, h *held, out *workflows.DropProgress) error {
		err := a.goOn(ctx, h, in, out)
		out.Done = passed(h.Record(), workflows.PhaseObjects)
		return err
	})
}

// deleteObjects deletes objects until none is left, which it reports, or until the
// activity should return.
func (a *Activities) deleteObjects(ctx context.Context, h *held, in workflows.DropStep) (done bool, err error) {
	if err := h.begun(); err != nil {
		return false, err
	}
	budget, size := a.budget(in)
	r := &removal{held: h, meter: budget.Start(ctx)}
	if !in.Quick {
		r.measureAt = time.Now().Add(a.patience())
	}
	pages, stop := a.listAhead(ctx, h, size)
	defer stop()
	for page := range pages {
		if page.err != nil {
			return false, lake.Wrap("list objects", page.err)
		}
		spent, err := a.deletePieces(ctx, r, page)
		if err != nil || page.last && !spent {
			return err == nil, err
		}
		if spent {
			return false, a.breakOff(ctx, r)
		}
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return true, h.Commit(ctx, func(p *catalog.Procedure) { a.toHistory(h, p) }, h.guard()) // there were none
}

// removal is the deletion of objects by one activity.
type removal struct {
	*held
	meter *lease.Meter
	speed pace
	// measureAt is when what is left is counted, if that is not known then; zero
	// when it is not, or was.
	measureAt time.Time
}

// breakOff counts what is left after an activity that did not get through, unless
// somebody waits for it to return.
func (a *Activities) breakOff(ctx context.Context, r *removal) error {
	if r.measureAt.IsZero() || r.Held() {
		return nil
	}
	return a.measure(ctx, r.held)
}

// toHistory moves a record on to the next phase.
func (a *Activities) toHistory(h *held, p *catalog.Procedure) {
	p.Phase, p.Cursor = string(workflows.PhaseHistory), ""
	p.Progress = a.historyProgress(h)
}

// begun refuses to delete before the point of no return, whatever the workflow
// believes.
func (h *held) begun() error {
	if !passed(h.Record(), workflows.PhaseWaiting) {
		return lake.Errorf(lake.Precondition, "the drop of %s is in phase %q: the point of no return was not recorded", h.tombstone.ProcedureID(), h.Record().Phase)
	}
	return nil
}

// listing is a page of what is left, as much as one commit of the cursor covers. The
// last one says so.
type listing struct {
	infos []objstore.Info
	last  bool
	err   error
}

// listAhead lists what is left under the location beside the deletes of what it found
// before: they wait for the disk, and a listing for the processor. The channel is
// closed after the last page or an error. stop ends the listing and waits for that.
func (a *Activities) listAhead(ctx context.Context, h *held, size int) (pages <-chan listing, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	found := make(chan listing)
	prefix, after := h.prefix(), h.Record().Cursor // the record moves meanwhile
	go func() {
		defer close(found)
		send := func(l listing) bool {
			select {
			case found <- l:
				return true
			case <-ctx.Done():
				return false
			}
		}
		var page []objstore.Info
		for infos, err := range objstore.Pages(ctx, a.objects, prefix, after, min(size, objstore.MaxPage)) {
			if err != nil {
				send(listing{err: err})
				return
			}
			if len(page) >= size { // and there is more
				if !send(listing{infos: page}) {
					return
				}
				page = nil
			}
			page = append(page, infos...)
		}
		if len(page) > 0 {
			send(listing{infos: page, last: true})
		}
	}()
	return found, func() {
		cancel()
		for range found {
		}
	}
}

// deletePieces deletes one page, in pieces of a few seconds each where an
// operator bounds the rate, and reports whether the activity should return before the
// page's end. An order that came meanwhile is met at the next piece. With the last piece
// of the last page the phase moves on.
func (a *Activities) deletePieces(ctx context.Context, r *removal, page listing) (spent bool, err error) {
	for infos := page.infos; len(infos) > 0; {
		if r.meter.Spent() || r.Held() {
			return true, nil
		}
		n := piece(r.Record().Rate, len(infos))
		began := time.Now()
		over := page.last && n == len(infos)
		if err := a.deletePage(ctx, r, infos[:n], over); err != nil || over {
			return false, err
		}
		activity.RecordHeartbeat(ctx, r.Record().Cursor)
		if err := lease.Slow(ctx, r.Record().Rate, n, time.Since(began)); err != nil {
			return false, err
		}
		if r.meter.Add(n); !r.measureAt.IsZero() && time.Now().After(r.measureAt) {
			r.measureAt = time.Time{}
			if err := a.measure(ctx, r.held); err != nil {
				return false, err
			}
		}
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

// deletePage deletes one page and records it, and after the last one the next phase.
func (a *Activities) deletePage(ctx context.Context, r *removal, infos []objstore.Info, last bool) error {
	keys := make([]string, len(infos))
	var bytes int64
	for i, info := range infos {
		if err := inside(r.held, info.Key); err != nil {
			return err
		}
		keys[i] = info.Key
		bytes += info.Size
	}
	if err := a.deleteAll(ctx, r, keys); err != nil {
		return err
	}
	return r.Commit(ctx, func(p *catalog.Procedure) {
		p.Cursor = keys[len(keys)-1]
		if p.Progress.Of != workflows.CountObjects {
			p.Progress = catalog.Progress{Of: workflows.CountObjects}
		}
		count(p, workflows.CountObjects, int64(len(keys)))
		count(p, workflows.CountBytes, bytes)
		if last {
			a.toHistory(r.held, p)
		}
	}, r.guard())
}

// deleteAll deletes the objects, a share at a time, while the lease lasts. It
// takes the held drop because only its holder may delete.
func (a *Activities) deleteAll(ctx context.Context, r *removal, keys []string) error {
	for len(keys) > 0 {
		if err := r.Renew(ctx); err != nil {
			return err
		}
		n := min(r.speed.share(), len(keys))
		began := time.Now()
		if err := a.deleteShare(ctx, r.held, keys[:n]); err != nil {
			return err
		}
		r.speed.took(time.Since(began))
		activity.RecordHeartbeat(ctx, r.Record().Cursor)
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
	leastShare   = 512
	mostDoubling = 5 // 16384 objects: more than a page
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
