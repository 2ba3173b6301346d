// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package lease lets exactly one attempt of an activity act for a procedure.
//
// # Why
//
// Temporal does not fence. After a heartbeat timeout it starts a second attempt
// while the first may still run; a paused process wakes up and goes on; after a
// terminate and a sweep two runs may overlap. So the right to act is kept where
// the effects are, in the metastore.
//
// # How
//
// The procedure's record is the lease. [Claim] replaces it by one with the next
// epoch. Every effect of the attempt is then a commit that replaces exactly the
// record it last wrote ([Lease.Commit]), with the cursor and the counters that
// belong to the effect. An older attempt expects bytes that are no longer there
// and fails with lake.Fenced, at its next write, whatever its clock says.
//
// The deadline in the record does not protect anything; it keeps two healthy
// runs from taking the record away from each other. A later attempt of the same
// run takes over at once, since Temporal has given up on the earlier one;
// another run waits for the deadline. The holder stops on its own when its
// deadline, less a margin, has passed ([Lease.Bound]), so that in the normal
// case nobody is cut off half-way.
//
// Effects outside the metastore cannot be fenced. They must be idempotent and
// confined to what no one else can be using: a drop deletes only under the
// location of a dead incarnation.
package lease

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// Records is what a lease needs of the catalog.
type Records interface {
	Procedure(ctx context.Context, kind, id string) (catalog.Procedure, error)
	CommitProcedure(ctx context.Context, old, next catalog.Procedure, ops ...metastore.Op) (catalog.Procedure, error)
}

// Options tune the times of a lease. The zero value is good.
type Options struct {
	// TTL is how long a claim or a commit keeps the record for the attempt, and
	// so how long another run waits after a crash. 0 means [DefaultTTL].
	TTL time.Duration
	// Margin is how long before the deadline the holder stops on its own. It
	// covers the clocks' skew between workers and the length of one write. 0
	// means [DefaultMargin].
	Margin time.Duration
	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

// Default times: a page takes seconds, so a minute is renewed many times, and a
// dead worker delays a procedure by at most that.
const (
	DefaultTTL    = time.Minute
	DefaultMargin = 10 * time.Second
)

// WithDefaults fills what is zero.
func (o Options) WithDefaults() Options {
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	if o.Margin == 0 {
		o.Margin = min(DefaultMargin, o.TTL/4)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Validate reports every mistake.
func (o Options) Validate() error {
	o = o.WithDefaults()
	var errs []error
	if o.TTL < 0 || o.Margin < 0 {
		errs = append(errs, lake.Errorf(lake.Invalid, "lease: TTL %s and margin %s must not be negative", o.TTL, o.Margin))
	}
	if o.Margin*2 > o.TTL {
		errs = append(errs, lake.Errorf(lake.Invalid, "lease: margin %s is more than half of the TTL %s", o.Margin, o.TTL))
	}
	return errors.Join(errs...)
}

// Attempt identifies who claims.
type Attempt struct {
	// Run is the Temporal run the attempt belongs to.
	Run string
	// Name says which attempt of which activity on which worker, for people.
	Name string
}

func (a Attempt) holder() string { return a.Run + " " + a.Name }

// sameRun reports whether a record's holder is of the attempt's run.
func (a Attempt) sameRun(holder string) bool {
	return len(holder) > len(a.Run) && holder[:len(a.Run)+1] == a.Run+" "
}

// EndedError says that the procedure is over: there is nothing to claim.
type EndedError struct{ Record catalog.Procedure }

// Error names the procedure and how it ended.
func (e *EndedError) Error() string {
	return "procedure " + e.Record.WorkflowID() + " has ended: " + string(e.Record.State)
}

// Unwrap gives the error its kind, lake.Precondition.
func (e *EndedError) Unwrap() error { return errEnded }

var errEnded error = &lake.Error{Kind: lake.Precondition, Message: "procedure has ended"}

// HeldError says that an operator holds the procedure: nothing may be claimed
// until it is resumed.
type HeldError struct{ Record catalog.Procedure }

// Error names the procedure.
func (e *HeldError) Error() string {
	return "procedure " + e.Record.WorkflowID() + " is paused by an operator"
}

// Unwrap gives the error its kind, lake.Precondition.
func (e *HeldError) Unwrap() error { return errHeld }

var errHeld error = &lake.Error{Kind: lake.Precondition, Message: "procedure is paused"}

// Lease is the right of one attempt to act for one procedure. It is not safe
// for concurrent use. Only [Claim] makes one, so a function that takes a *Lease
// cannot be called by someone who holds none.
type Lease struct {
	records Records
	opts    Options
	record  catalog.Procedure
	until   time.Time // local end of the lease, on the monotonic clock
	lost    error     // why no write may follow, once that is known
}

// Claim takes the record over for the attempt. It fails with an *EndedError
// when the procedure is over, with a *HeldError while an operator holds it, with
// lake.NotFound when it was never intended,
// and with lake.Conflict while another run holds the record or when it lost a
// race for it; trying again later is right then.
func Claim(ctx context.Context, records Records, kind, id string, by Attempt, opts Options) (*Lease, error) {
	opts = opts.WithDefaults()
	old, err := records.Procedure(ctx, kind, id)
	if err != nil {
		return nil, err
	}
	now := opts.Now()
	if old.State.Terminal() {
		return nil, &EndedError{Record: old}
	}
	if old.Paused && !old.Cancelling {
		return nil, &HeldError{Record: old}
	}
	if now.Before(old.Deadline) && !by.sameRun(old.Holder) {
		return nil, lake.Errorf(lake.Conflict, "procedure %s is held by %q until %s", old.WorkflowID(), old.Holder, old.Deadline.Format(time.RFC3339))
	}
	next := old
	next.Epoch++
	next.Holder, next.Deadline, next.State = by.holder(), now.Add(opts.TTL), catalog.ProcedureRunning
	stored, err := records.CommitProcedure(ctx, old, next)
	if lake.Is(err, lake.Fenced) {
		return nil, &lake.Error{Kind: lake.Conflict, Op: "claim " + old.WorkflowID(), Message: "another attempt was faster", Err: err}
	}
	if err != nil {
		return nil, err
	}
	return &Lease{records: records, opts: opts, record: stored, until: now.Add(opts.TTL)}, nil
}

// Record is the procedure as this attempt last wrote it.
func (l *Lease) Record() catalog.Procedure { return l.record }

// Check returns why the attempt may no longer act, or nil. A lease that ran out
// is lake.Unavailable: the next attempt claims it anew.
func (l *Lease) Check() error {
	if l.lost != nil {
		return l.lost
	}
	if stop := l.until.Add(-l.opts.Margin); !l.opts.Now().Before(stop) {
		return lake.Errorf(lake.Unavailable, "the lease on %s ran out", l.record.WorkflowID())
	}
	return nil
}

// Bound returns a context that ends when the lease, less the margin, does. Work
// on what cannot be fenced runs under it.
func (l *Lease) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	left := l.until.Add(-l.opts.Margin).Sub(l.opts.Now())
	return context.WithTimeoutCause(ctx, left, lake.Errorf(lake.Unavailable, "the lease on %s ran out", l.record.WorkflowID()))
}

// Commit makes an effect: change edits the record, ops are the rest of the
// effect, and all of it is one commit, which also extends the lease. nil change
// leaves the record's contents as they are.
//
// An operator's order that came meanwhile is taken in: the record is read again
// and the commit made on it, since an order is no claim. [Lease.Held] then tells
// whether to go on.
//
// lake.Fenced means that another attempt took over, or that the procedure was
// cancelled, and nothing was done.
// lake.Conflict means that one of ops did not hold and nothing was done. After
// lake.Undetermined the lease is of no use: the next attempt reads what is.
func (l *Lease) Commit(ctx context.Context, change func(*catalog.Procedure), ops ...metastore.Op) error {
	if err := l.Check(); err != nil {
		return err
	}
	now := l.opts.Now()
	stored, err := l.commit(ctx, now, change, ops)
	for range maxOrders {
		if !lake.Is(err, lake.Fenced) || !l.ordered(ctx) {
			break
		}
		stored, err = l.commit(ctx, now, change, ops)
	}
	return l.keep(stored, now, err)
}

// keep goes on with what was stored, or not at all.
func (l *Lease) keep(stored catalog.Procedure, now time.Time, err error) error {
	if err != nil {
		if kind := lake.KindOf(err); kind == lake.Fenced || kind == lake.Undetermined {
			l.lost = err
		}
		return err
	}
	l.record, l.until = stored, now.Add(l.opts.TTL)
	return nil
}

// Decide is a Commit that takes no order in: for effects that cannot be taken
// back, which must not follow a pause or a cancellation that was acknowledged.
// An order fails it with lake.Fenced, and the next attempt meets the order.
func (l *Lease) Decide(ctx context.Context, change func(*catalog.Procedure), ops ...metastore.Op) error {
	if err := l.Check(); err != nil {
		return err
	}
	now := l.opts.Now()
	stored, err := l.commit(ctx, now, change, ops)
	if err := l.keep(stored, now, err); err != nil {
		return err
	}
	if stored.State.Terminal() || stored.Deadline.IsZero() {
		l.lost = lake.Errorf(lake.Fenced, "the lease on %s was released", l.record.WorkflowID())
	}
	return nil
}

// maxOrders bounds how many orders one commit takes in.
const maxOrders = 4

// commit makes one try on the record as it was last seen.
func (l *Lease) commit(ctx context.Context, now time.Time, change func(*catalog.Procedure), ops []metastore.Op) (catalog.Procedure, error) {
	next := l.record
	next.Counters = maps.Clone(next.Counters)
	next.Deadline = now.Add(l.opts.TTL)
	if change != nil {
		change(&next)
	}
	next.Progress = catalog.Measured(l.record, next, now)
	return l.records.CommitProcedure(ctx, l.record, next, ops...)
}

// ordered reads the record again and takes it over when only an operator has
// changed it: claims move the epoch, orders do not, and an order that ends the
// procedure ends this attempt, too.
func (l *Lease) ordered(ctx context.Context) bool {
	now, err := l.records.Procedure(ctx, l.record.Kind, l.record.ID)
	if err != nil || !onlyOrdered(l.record, now) {
		return false
	}
	l.record = now
	return true
}

// onlyOrdered reports whether nothing but the orders differs.
func onlyOrdered(a, b catalog.Procedure) bool {
	return a.Epoch == b.Epoch && a.Holder == b.Holder && a.State == b.State && a.Phase == b.Phase &&
		a.Cursor == b.Cursor && a.LastError == b.LastError && a.Deadline.Equal(b.Deadline) && maps.Equal(a.Counters, b.Counters)
}

// Held reports whether an operator wants the attempt to return, as of the last
// commit.
func (l *Lease) Held() bool { return l.record.Paused || l.record.Cancelling }

// Renew extends the lease when less than half of it is left.
func (l *Lease) Renew(ctx context.Context) error {
	if l.until.Sub(l.opts.Now()) > l.opts.TTL/2 {
		return l.Check()
	}
	return l.Commit(ctx, nil)
}

// Release is the last Commit: it also gives the record free, so that whoever
// comes next need not wait.
func (l *Lease) Release(ctx context.Context, change func(*catalog.Procedure), ops ...metastore.Op) error {
	err := l.Commit(ctx, func(p *catalog.Procedure) {
		if change != nil {
			change(p)
		}
		p.Deadline = time.Time{}
	}, ops...)
	if err == nil {
		l.lost = lake.Errorf(lake.Fenced, "the lease on %s was released", l.record.WorkflowID())
	}
	return err
}

// Note writes a failure's text, if there is one, into the record and gives the
// record free, as well as it can: an operator then sees the error without
// Temporal. It does nothing when the lease is lost.
func (l *Lease) Note(ctx context.Context, text string) {
	if l.Check() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	_ = l.Release(ctx, func(p *catalog.Procedure) {
		if text != "" {
			p.LastError = text
		}
	})
}

// noteTimeout bounds Note: the attempt has failed already and should say so.
const noteTimeout = 2 * time.Second
