// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package retention says which versions of a table stay. The authority uses it
// to tell what a clean-up would take, and a worker to clean up.
package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Defaults of a [Policy].
const (
	DefaultVersions = 10
	// DefaultFor is LongestTicket and Slack.
	DefaultFor       = LongestTicket + Slack
	DefaultOrphanAge = 6 * time.Hour
)

// LongestTicket is the longest that a query's ticket may live, by any setting: what
// it is pinned to may be replaced the moment after it was issued.
const LongestTicket = time.Hour

// Slack is what lies between the time at which a version was replaced and the one
// that is told of it: the next manifest may be written a minute before it is
// committed, a replica may issue a ticket on a version that it looked up a moment
// ago, and clocks differ.
const Slack = 5 * time.Minute

// StagedFor is how long after it was begun staged data may still be committed by
// the authority. Objects that a version being made refers to are therefore never
// older, and every orphan age is well above it.
const StagedFor = 15 * time.Minute

// Policy says which versions and objects stay. A version goes only when no part
// of the policy keeps it; age alone takes none.
type Policy struct {
	// Versions is how many of the newest stay, the current one included. 0 means
	// [DefaultVersions].
	Versions int
	// For is how long a version stays after another one became current, for the
	// queries that are pinned to it. It must be the life of a ticket and [Slack], at
	// least. 0 means [DefaultFor], which is enough for every ticket.
	For time.Duration
	// OrphanAge is how old an object is that no version needs before it goes. It
	// must be longer than any write takes, [StagedFor] and the skew of clocks
	// included. 0 means [DefaultOrphanAge].
	OrphanAge time.Duration
}

// WithDefaults fills what is zero.
func (p Policy) WithDefaults() Policy {
	if p.Versions == 0 {
		p.Versions = DefaultVersions
	}
	if p.For == 0 {
		p.For = DefaultFor
	}
	if p.OrphanAge == 0 {
		p.OrphanAge = DefaultOrphanAge
	}
	return p
}

// Validate reports every mistake.
func (p Policy) Validate() error {
	p = p.WithDefaults()
	var errs []error
	if p.Versions < 1 {
		errs = append(errs, lake.Errorf(lake.Invalid, "retention: %d versions: at least the current one stays", p.Versions))
	}
	if p.For < 0 || p.OrphanAge < 0 {
		errs = append(errs, lake.Errorf(lake.Invalid, "retention: times (%s, %s) must not be negative", p.For, p.OrphanAge))
	}
	return errors.Join(errs...)
}

// Floor returns the version up to which versions are given up, tagged ones
// aside. written are the manifests that are there and when they were written: a
// version stopped being current when the one after it was written. Where that one
// is not known, the next later one stands in, which keeps more.
func (p Policy) Floor(t catalog.Table, written map[lake.Version]time.Time, now time.Time) lake.Version {
	p = p.WithDefaults()
	head, floor := t.Snapshot.Version, t.Reclaimed.Floor
	keep := lake.Version(p.Versions)
	var superseded time.Time // of v, below
	for v := head; v > floor && v > 0; v-- {
		if v+keep <= head && !superseded.IsZero() && superseded.Before(now.Add(-p.For)) {
			return v
		}
		if at, ok := written[v]; ok {
			superseded = at
		}
	}
	return floor
}

// Row is a version's record.
type Row struct {
	Snapshot lake.Snapshot
	Record   metastore.Record
}

// Rows reads one page of the version records under a prefix, which is an
// engine's HistoryPrefix.
func Rows(ctx context.Context, store metastore.Store, prefix, cursor string, limit int) (rows []Row, next string, err error) {
	page, err := store.Scan(ctx, prefix, cursor, limit)
	if err != nil {
		return nil, "", lake.Wrap("scan version records", err)
	}
	for _, r := range page.Records {
		var e engine.Entry
		if err := json.Unmarshal(r.Value, &e); err != nil || e.Snapshot.Version == 0 {
			return nil, "", lake.Errorf(lake.Corrupt, "record %q is none of a version: %w", r.Key, err)
		}
		rows = append(rows, Row{e.Snapshot, r})
	}
	return rows, page.Next, nil
}

// Kept counts what stays.
type Kept struct {
	// Versions stay; Tagged are those of them that only a tag keeps.
	Versions, Tagged int
	// Reclaimed are versions with a record that do not stay.
	Reclaimed int
}

// rowsPage is how many records, and manifests, are looked at before the next
// look at the context.
const rowsPage = 256

// Keep notes in c every version of the table that stays with the given floor:
// those above it, and tagged ones.
func Keep(ctx context.Context, store metastore.Store, prefix string, c engine.Cleaning, t catalog.Table, floor lake.Version, tagged []lake.Version) (kept Kept, err error) {
	unseen := slices.Clone(tagged)
	for cursor := ""; ; {
		rows, next, err := Rows(ctx, store, prefix, cursor, rowsPage)
		if err != nil {
			return kept, err
		}
		var stay []lake.Snapshot
		for _, r := range rows {
			v := r.Snapshot.Version
			_, pinned := slices.BinarySearch(tagged, v)
			unseen = slices.DeleteFunc(unseen, func(u lake.Version) bool { return u == v })
			if v > floor {
				stay = append(stay, r.Snapshot)
				continue
			}
			// A tag that came after the manifest went keeps nothing.
			err := engine.ErrUnavailable
			if pinned {
				err = c.Keep(ctx, r.Snapshot)
			}
			switch {
			case err == nil:
				kept.Versions, kept.Tagged = kept.Versions+1, kept.Tagged+1
			case errors.Is(err, engine.ErrUnavailable) && (!pinned || v <= t.Reclaimed.Floor):
				kept.Reclaimed++
			default:
				return kept, err
			}
		}
		if err := c.Keep(ctx, stay...); err != nil {
			return kept, err
		}
		kept.Versions += len(stay)
		if cursor = next; cursor == "" {
			break
		}
	}
	for _, v := range unseen {
		found, err := c.KeepUnrecorded(ctx, v)
		if err != nil {
			return kept, err
		}
		if found {
			kept.Versions, kept.Tagged = kept.Versions+1, kept.Tagged+1
		}
	}
	// The record of the current version is part of what made it current.
	if err := c.Keep(ctx, t.Snapshot); err != nil {
		return kept, err
	}
	return kept, nil
}

// Plan is what a clean-up would do.
type Plan struct {
	Floor lake.Version
	Kept
	// Objects would be deleted.
	Objects int
	Bytes   int64
}

// Dry tells what a clean-up of the table by the policy would do now. It changes
// nothing; errors are those of [engine.Cleaner] and [engine.Cleaning].
func Dry(ctx context.Context, store metastore.Store, cleaner engine.Cleaner, prefix string, t catalog.Table, p Policy, now time.Time) (out Plan, err error) {
	p = p.WithDefaults()
	c, err := cleaner.Clean(ctx, t.Snapshot)
	if err != nil {
		return out, err
	}
	tagged, err := c.Tagged(ctx)
	if err != nil {
		return out, err
	}
	out.Floor = p.Floor(t, c.Written(), now)
	if out.Kept, err = Keep(ctx, store, prefix, c, t, out.Floor, tagged); err != nil {
		return out, err
	}
	for g, err := range c.Unneeded(ctx, engine.CleanLimits{Before: now.Add(-p.OrphanAge), Floor: out.Floor}) {
		if err != nil {
			return out, err
		}
		out.Objects++
		out.Bytes += g.Size
	}
	return out, nil
}

// Find returns the record of one version; ok is false when there is none.
func Find(ctx context.Context, store metastore.Store, prefix string, v lake.Version) (snap lake.Snapshot, ok bool, err error) {
	found, err := store.Get(ctx, fmt.Sprintf("%s%020d", prefix, uint64(v)))
	if errors.Is(err, metastore.ErrNotFound) {
		return lake.Snapshot{}, false, nil
	}
	if err != nil {
		return lake.Snapshot{}, false, lake.Wrap(fmt.Sprintf("read the record of version %d", v), err)
	}
	var e engine.Entry
	if err := json.Unmarshal(found.Value, &e); err != nil || e.Snapshot.Version != v {
		return lake.Snapshot{}, false, lake.Errorf(lake.Corrupt, "record %q is none of version %d: %w", found.Key, v, err)
	}
	return e.Snapshot, true, nil
}
