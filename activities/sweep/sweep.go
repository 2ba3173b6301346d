// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package sweep holds the activity that starts procedures whose intent has no
// workflow, and cleans up after tables that were begun and never made.
package sweep

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/lakeplane/lake/activities/failure"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/workflows"
)

// Intents lists what must happen.
type Intents interface {
	Tombstones(ctx context.Context, cursor string, limit int) (page []catalog.Tombstone, next string, err error)
	Procedures(ctx context.Context, kind, cursor string, limit int) (page []catalog.Procedure, next string, err error)
	Procedure(ctx context.Context, kind, id string) (catalog.Procedure, error)
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
	// Declarations are cleaned up after, in Objects; nil means that none are.
	Declarations Declarations
	Objects      objstore.Store
	// Linger is how long after it was given up a declaration is kept, to delete
	// what late writers bring. 0 means [DefaultLinger].
	Linger time.Duration
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
	if o.Linger == 0 {
		o.Linger = DefaultLinger
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

// Sweep goes over a set of pages of the intents, and first cleans up after tables
// that were begun and never made. Of procedures it writes nothing itself, and
// starting a workflow that is open does nothing, so running it twice, or beside
// another sweep, is safe.
func (a *Activities) Sweep(ctx context.Context, step workflows.SweepStep) (workflows.SweepResult, error) {
	s := &sweep{Activities: a, seen: map[string]bool{}, beat: func(at any) { activity.RecordHeartbeat(ctx, at) }}
	if step.Cursor == "" && a.opts.Declarations != nil {
		// What cannot be cleaned up must not keep the procedures waiting.
		if err := s.declared(ctx); err != nil {
			s.fail(ctx, "not cleaned up", "tables that were not made", err)
		}
	}
	err := s.run(ctx, step.Cursor)
	return s.result, failure.Of(ctx, a.opts.Log, err)
}

// All goes over all intents outside of a workflow, such as after the workflow
// engine's database was lost. begin is called for each intent without an open
// workflow, before it is started; false leaves it alone.
func (a *Activities) All(ctx context.Context, begin func(workflows.Ref) bool) (workflows.SweepResult, error) {
	var total workflows.SweepResult
	for {
		s := &sweep{Activities: a, seen: map[string]bool{}, beat: func(any) {}, begin: begin}
		err := s.run(ctx, total.Cursor)
		if total.Add(s.result); err != nil || total.Cursor == "" {
			return total, err
		}
	}
}

type sweep struct {
	*Activities
	beat   func(at any)             // tells whoever waits that the sweep goes on
	begin  func(workflows.Ref) bool // nil starts everything
	open   map[string]bool          // of one kind, by workflow id, as of the kind's beginning
	seen   map[string]bool
	result workflows.SweepResult
}

// intent is one thing that must happen.
type intent struct {
	ref workflows.Ref
	due time.Time // since when it may happen
	// record is the procedure's, where it is the intent.
	record *catalog.Procedure
}

// run goes on where the cursor says: in one kind, and then in those after it.
func (s *sweep) run(ctx context.Context, cursor string) error {
	at, cursor := splitCursor(cursor)
	for pages := 0; at < len(workflows.Kinds); at, cursor = at+1, "" {
		if pages == s.opts.Pages {
			break
		}
		kind := workflows.Kinds[at]
		open, err := s.workflows.Open(ctx, kind)
		if err != nil {
			return err
		}
		s.open, s.seen = open, map[string]bool{}
		if s.result.Backlog == nil {
			s.result.Backlog = map[workflows.Kind]workflows.Backlog{}
		}
		s.result.Backlog[kind] = workflows.Backlog{} // an empty one is told, too
		whole := cursor == ""
		for ; pages < s.opts.Pages; pages++ {
			if cursor, err = s.page(ctx, kind, cursor); lake.Is(err, lake.Corrupt) {
				// Damage to one record keeps no other waiting.
				s.fail(ctx, "intents not read", string(kind), err)
				whole = false
			} else if err != nil {
				return err
			}
			if cursor == "" {
				break
			}
		}
		if cursor != "" { // the next page set goes on here
			s.result.Cursor = joinCursor(at, cursor)
			return nil
		}
		if whole {
			s.wakeOrphans(ctx)
		}
	}
	if at < len(workflows.Kinds) {
		s.result.Cursor = joinCursor(at, "")
	}
	return nil
}

// joinCursor and splitCursor keep a place in the kinds' listings: the kind's
// name and the listing's own cursor. What names no kind is a place among drops.
func joinCursor(at int, cursor string) string { return string(workflows.Kinds[at]) + "|" + cursor }

func splitCursor(s string) (at int, cursor string) {
	kind, rest, ok := strings.Cut(s, "|")
	if at = slices.Index(workflows.Kinds, workflows.Kind(kind)); ok && at >= 0 {
		return at, rest
	}
	return 0, s
}

// page visits one page of the intents of a kind and returns the next cursor, also
// beside lake.Corrupt, which says that some could not be read.
func (s *sweep) page(ctx context.Context, kind workflows.Kind, cursor string) (next string, err error) {
	page, next, damage := s.read(ctx, kind, cursor)
	if damage != nil && !lake.Is(damage, lake.Corrupt) {
		return "", damage
	}
	for _, i := range page {
		if err := s.visit(ctx, i); err != nil {
			return "", err
		}
	}
	s.beat(next)
	return next, damage
}

// read returns the intents of one page: a drop's is its tombstone, that of any
// other kind is its record while it is open.
func (s *sweep) read(ctx context.Context, kind workflows.Kind, cursor string) (intents []intent, next string, err error) {
	if kind == workflows.DropTableKind {
		page, next, err := s.intents.Tombstones(ctx, cursor, s.opts.Page)
		for _, t := range page {
			intents = append(intents, intent{ref: workflows.Ref{Kind: kind, ID: t.ProcedureID()}, due: t.PurgeAfter})
		}
		return intents, next, err
	}
	page, next, err := s.intents.Procedures(ctx, string(kind), cursor, s.opts.Page)
	for _, p := range page {
		if !p.State.Terminal() {
			intents = append(intents, intent{ref: workflows.Ref{Kind: kind, ID: p.ID}, due: p.CreatedAt, record: &p})
		}
	}
	return intents, next, err
}

// visit starts the workflow of one intent unless it is open.
func (s *sweep) visit(ctx context.Context, i intent) error {
	ref := i.ref
	s.result.Intents++
	s.seen[ref.String()] = true
	open := s.open[ref.String()]
	if !open {
		stopped, err := s.stopped(ctx, ref)
		if lake.Is(err, lake.Corrupt) {
			s.fail(ctx, "procedure's record not read", ref.String(), err)
			return nil
		}
		if err != nil || stopped {
			return err
		}
	}
	if age := s.opts.Now().Sub(i.due); age > 0 {
		s.result.OldestSeconds = max(s.result.OldestSeconds, int64(age.Seconds()))
	}
	s.backlog(i)
	if open {
		s.result.Live++
		return nil
	}
	if s.begin != nil && !s.begin(ref) {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.opts.StartEvery):
	}
	s.beat(s.result.Started)
	if err := s.workflows.Start(ctx, string(ref.Kind), ref.ID); err != nil {
		s.fail(ctx, "procedure not started", ref.String(), err)
		return nil
	}
	s.result.Started++
	return nil
}

// fail notes what this sweep leaves undone: one bad thing must not keep the others
// waiting.
func (s *sweep) fail(ctx context.Context, what, of string, err error) {
	s.opts.Log.WarnContext(ctx, what, "of", of, "error", err)
	s.result.Failed++
	s.result.LastError = failure.Text(err)
}

// backlog counts an intent in with its kind.
func (s *sweep) backlog(i intent) {
	b := s.result.Backlog[i.ref.Kind]
	age := s.opts.Now().Sub(i.due)
	switch {
	case i.record != nil && i.record.Paused:
		b.Paused++
	case i.record != nil && workflows.Phase(i.record.Phase) == workflows.PhaseApproval && i.record.Approval == nil:
		b.AwaitApproval++
	case age <= 0:
		b.Waiting++
	default:
		b.Due++
		b.OldestSeconds = max(b.OldestSeconds, int64(age.Seconds()))
	}
	s.result.Backlog[i.ref.Kind] = b
}

// stopped reports whether an operator cancelled a drop: its tombstone stays, and
// nobody is to go on until it is retried.
func (s *sweep) stopped(ctx context.Context, ref workflows.Ref) (bool, error) {
	if ref.Kind != workflows.DropTableKind {
		return false, nil // the intent of any other kind is its open record
	}
	record, err := s.intents.Procedure(ctx, string(ref.Kind), ref.ID)
	if lake.Is(err, lake.NotFound) {
		return false, nil
	}
	if err == nil && record.Stopped {
		s.result.Stopped++
	}
	return record.Stopped, err
}

// wakeOrphans tells workflows whose intent is gone to look again: an undrop
// tells them too, but as well as it can.
func (s *sweep) wakeOrphans(ctx context.Context) {
	for id := range s.open {
		if s.seen[id] || id == workflows.OperationGCDryRunRef().String() { // which has none
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
