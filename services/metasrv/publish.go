// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"context"
	"sync"
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
)

const (
	publishAttempts   = 5
	firstPublishPause = 50 * time.Millisecond
	// publishDoubt is far below the time for which a drop waits before it
	// believes that a location is empty.
	publishDoubt = 5 * time.Second
	// publishedSize bounds the locations whose published version is
	// remembered.
	publishedSize = 16_384
)

// publishedVersions remembers which versions are known to be published, so
// that the base of the next one is not published again. The zero value is
// ready.
type publishedVersions struct {
	mu   sync.Mutex
	last map[lake.Location]lake.Version
}

func (v *publishedVersions) has(s lake.Snapshot) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last[s.Location] >= s.Version
}

func (v *publishedVersions) add(s lake.Snapshot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last == nil || len(v.last) >= publishedSize {
		v.last = map[lake.Location]lake.Version{} // forgetting costs one more publication
	}
	v.last[s.Location] = max(v.last[s.Location], s.Version)
}

// publish makes a committed version openable by its number. It must succeed
// before the version is acknowledged; when it does not, the outcome for the
// client is unknown, and a retry of its operation publishes again.
//
// seen is when this process knew, at the latest, that the table is there; zero
// where it has that from a record only.
func (s *Server) publish(ctx context.Context, table catalog.Table, seen time.Time) error {
	snap := table.Snapshot
	if s.published.has(snap) {
		return nil
	}
	defer s.metrics.since("publish", time.Now())
	var err error
	for attempt := range publishAttempts {
		if attempt > 0 && !pause(ctx, firstPublishPause<<(attempt-1)) {
			break
		}
		if err = s.stillThere(ctx, table, seen); err != nil {
			break
		}
		if err = s.opts.Engine.Publish(ctx, snap); err == nil {
			s.published.add(snap)
			s.finisher.pay(table)
			return nil
		}
		if hopeless(err) {
			break
		}
	}
	if !hopeless(err) {
		s.finisher.owe(table)
	}
	return lake.Errorf(lake.Undetermined, "version %d is committed and could not be published: %w", snap.Version, err)
}

// stillThere refuses to publish a version of a table that is no more: its
// objects may be gone, verified and forgotten, and nobody would own one that
// came back. A drop waits for what was just committed, so only a table that was
// seen longer ago is looked up: the process was stopped in between, perhaps.
// Times in records do not count here, since other clocks made them.
func (s *Server) stillThere(ctx context.Context, table catalog.Table, seen time.Time) error {
	if age := time.Since(seen); 0 <= age && age < publishDoubt {
		return nil
	}
	_, err := s.catalog.GetIncarnation(ctx, table.Name, table.Snapshot.Incarnation)
	if lake.Is(err, lake.NotFound) {
		return lake.Errorf(lake.Precondition, "the table was dropped")
	}
	return err
}

// hopeless reports whether a publication fails for good: its objects are gone,
// or are not what was committed.
func hopeless(err error) bool {
	return lake.Is(err, lake.Corrupt) || lake.Is(err, lake.Precondition) || lake.Is(err, lake.NotFound)
}

// wall is the time by the wall clock, which goes on while a machine sleeps.
func wall() time.Time { return time.Now().Round(0) }
