// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
)

const (
	// finishEvery is how soon a version that could not be published is tried
	// again, and a pass over all tables that failed begins anew.
	finishEvery = 2 * time.Second
	// finishParallel bounds the publications of a pass: it runs beside appends.
	finishParallel = 4
	finishPage     = 256
)

// finisher publishes versions that are committed and were not acknowledged: a
// crash between the two, or a failing object store, left them. Only the current
// version of a table can be one, since nothing is built on an unpublished base.
// So a new leader looks at every table once, and from then on at those whose
// publication fails.
type finisher struct {
	server *Server
	took   chan struct{} // the leadership was taken

	mu   sync.Mutex
	owed map[lake.Location]catalog.Table
}

func newFinisher(s *Server) *finisher {
	return &finisher{server: s, took: make(chan struct{}, 1), owed: map[lake.Location]catalog.Table{}}
}

// takenOver makes the finisher look at every table.
func (f *finisher) takenOver() {
	select {
	case f.took <- struct{}{}:
	default:
	}
}

// owe notes a version that could not be published.
func (f *finisher) owe(t catalog.Table) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owed[t.Snapshot.Location].Snapshot.Version < t.Snapshot.Version {
		f.owed[t.Snapshot.Location] = t
	}
}

// pay notes that a version was published, or is of no use any more.
func (f *finisher) pay(t catalog.Table) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if owed, ok := f.owed[t.Snapshot.Location]; ok && owed.Snapshot.Version <= t.Snapshot.Version {
		delete(f.owed, t.Snapshot.Location)
	}
}

// debts returns the versions still to be published.
func (f *finisher) debts() []catalog.Table {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.owed))
}

// run finishes what is to be finished until ctx ends.
func (f *finisher) run(ctx context.Context) {
	tick := time.NewTicker(finishEvery)
	defer tick.Stop()
	all := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.took:
			all = true
		case <-tick.C:
		}
		if all && f.server.Leading() {
			all = f.all(ctx) != nil
		}
		f.publish(ctx, f.standing(ctx, f.debts()))
	}
}

// standing returns the tables that are still there, as they are now. The
// objects of a dropped one must not come back.
func (f *finisher) standing(ctx context.Context, owed []catalog.Table) (left []catalog.Table) {
	for _, t := range owed {
		now, err := f.server.catalog.GetIncarnation(ctx, t.Name, t.Snapshot.Incarnation)
		switch {
		case err == nil:
			left = append(left, now)
		case lake.Is(err, lake.NotFound):
			f.pay(t)
		}
	}
	return left
}

// all looks at the current version of every table.
func (f *finisher) all(ctx context.Context) error {
	for cursor, more := "", true; more; more = cursor != "" {
		var page []catalog.Table
		var err error
		if page, cursor, err = f.server.catalog.List(ctx, "", cursor, finishPage); err != nil {
			if ctx.Err() == nil {
				f.server.opts.Logger.Warn("metasrv: the pass over unpublished versions stopped; it begins anew", "error", err)
			}
			return err
		}
		f.publish(ctx, page)
	}
	return ctx.Err()
}

// publish publishes versions; those that fail are owed.
func (f *finisher) publish(ctx context.Context, tables []catalog.Table) {
	var group errgroup.Group
	group.SetLimit(finishParallel)
	for _, t := range tables {
		group.Go(func() error {
			_ = f.server.publish(ctx, t, time.Time{}) // noted as owed, and counted
			return nil
		})
	}
	_ = group.Wait()
}
