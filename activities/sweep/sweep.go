// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package sweep holds the activity that starts procedures whose intent has no
// workflow.
package sweep

import (
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/lakeplane/lake/activities/failure"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/workflows"
)

// Intents lists what must happen.
type Intents interface {
	Tombstones(ctx context.Context, cursor string, limit int) (page []catalog.Tombstone, next string, err error)
}

// Workflows starts and finds what makes it happen; [workflows.Client] does.
type Workflows interface {
	Start(ctx context.Context, kind, id string) error
	Open(ctx context.Context, kind workflows.Kind) (map[string]bool, error)
	Recheck(ctx context.Context, ref workflows.Ref) error
}

// Options tune the activity. The zero value is good.
type Options struct {
	// Page is how many intents one read asks for. 0 means 500.
	Page int
	// Pages is how many reads one activity makes. 0 means 20.
	Pages int
	// StartEvery is the least time between two starts, so that the sweep after
	// an outage leaves Temporal room for the rest. 0 means 50 ms.
	StartEvery time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Log hears of failures; nil means none.
	Log *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Page == 0 {
		o.Page = 500
	}
	if o.Pages == 0 {
		o.Pages = 20
	}
	if o.StartEvery == 0 {
		o.StartEvery = 50 * time.Millisecond
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Activities is the sweep. It is safe for concurrent use.
type Activities struct {
	intents   Intents
	workflows Workflows
	opts      Options
}

// New returns the activity.
func New(intents Intents, w Workflows, opts Options) *Activities {
	return &Activities{intents: intents, workflows: w, opts: opts.withDefaults()}
}

// Sweep goes over a set of pages of the intents. It writes nothing itself, and
// starting a workflow that is open does nothing, so running it twice, or beside
// another sweep, is safe.
func (a *Activities) Sweep(ctx context.Context, step workflows.SweepStep) (workflows.SweepResult, error) {
	s := &sweep{Activities: a, seen: map[string]bool{}}
	err := s.run(ctx, step.Cursor)
	return s.result, failure.Of(ctx, a.opts.Log, err)
}

type sweep struct {
	*Activities
	open   map[string]bool // by workflow id, as of the beginning
	seen   map[string]bool
	result workflows.SweepResult
}

func (s *sweep) run(ctx context.Context, cursor string) (err error) {
	if s.open, err = s.workflows.Open(ctx, workflows.DropTableKind); err != nil {
		return err
	}
	whole := cursor == ""
	for range s.opts.Pages {
		page, next, err := s.intents.Tombstones(ctx, cursor, s.opts.Page)
		if err != nil {
			return err
		}
		for _, tombstone := range page {
			if err := s.visit(ctx, tombstone); err != nil {
				return err
			}
		}
		activity.RecordHeartbeat(ctx, next)
		if cursor = next; cursor == "" {
			break
		}
	}
	s.result.Cursor = cursor
	if whole && cursor == "" {
		s.wakeOrphans(ctx)
	}
	return nil
}

// visit starts the workflow of one intent unless it is open.
func (s *sweep) visit(ctx context.Context, t catalog.Tombstone) error {
	ref := workflows.Ref{Kind: workflows.DropTableKind, ID: t.ProcedureID()}
	s.result.Intents++
	s.seen[ref.String()] = true
	if age := s.opts.Now().Sub(t.PurgeAfter); age > 0 {
		s.result.OldestSeconds = max(s.result.OldestSeconds, int64(age.Seconds()))
	}
	if s.open[ref.String()] {
		s.result.Live++
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.opts.StartEvery):
	}
	activity.RecordHeartbeat(ctx, s.result.Started)
	if err := s.workflows.Start(ctx, string(ref.Kind), ref.ID); err != nil {
		// One bad intent must not keep the others waiting.
		s.opts.Log.WarnContext(ctx, "procedure not started", "procedure", ref.String(), "error", err)
		s.result.Failed++
		s.result.LastError = failure.Text(err)
		return nil
	}
	s.result.Started++
	return nil
}

// wakeOrphans tells workflows whose intent is gone to look again: an undrop
// tells them too, but as well as it can.
func (s *sweep) wakeOrphans(ctx context.Context) {
	for id := range s.open {
		if s.seen[id] {
			continue
		}
		s.result.Orphans++
		ref, err := workflows.ParseRef(id)
		if err == nil {
			err = s.workflows.Recheck(ctx, ref)
		}
		if err != nil { // most have ended since they were listed
			s.opts.Log.DebugContext(ctx, "orphan not told", "workflow", id, "error", err)
		}
	}
}
