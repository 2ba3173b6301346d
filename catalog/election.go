// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

// ElectionOptions tune an [Election].
type ElectionOptions struct {
	// Holder identifies this process; empty means a fresh UUIDv7. Two live
	// processes must not share one.
	Holder string
	// Address is where other processes reach this one when it leads; may be
	// empty.
	Address string
	// TTL is how long a lease lasts without renewal. 0 means 10 s.
	TTL time.Duration
	// Renew is how often the leader renews. 0 means half the TTL.
	Renew time.Duration
	// Poll is how often a follower looks. 0 means a tenth of the TTL.
	Poll time.Duration
	// Margin is how long before its deadline a leader that could not renew
	// stops accepting writes, so that few of them meet a takeover. 0 means a
	// fifth of the TTL.
	Margin time.Duration
	// MaxClockSkew is how far the clocks of two processes may be apart. A
	// follower waits it out beyond a deadline. A larger real skew can change
	// who leads, never what is correct. 0 means 5 s.
	MaxClockSkew time.Duration
	// Exclusive says that no other live process can use the store, as a
	// process lock on an embedded one proves. An earlier holder is dead, so
	// its lease is taken over at once; nobody can take over from this process,
	// so a late renewal does not stop its writes.
	Exclusive bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger receives changes of leadership and failures. nil means
	// slog.Default.
	Logger *slog.Logger
	// Observe, if not nil, is told of every step that did something. It must
	// return at once.
	Observe func(ElectionEvent)
}

// ElectionEvent is what a step of an [Election] did.
type ElectionEvent string

// The events.
const (
	// CampaignWon: this process leads from now on.
	CampaignWon ElectionEvent = "won"
	// CampaignLost: another process was first, or the leader renewed after all.
	CampaignLost ElectionEvent = "lost"
	// LeaseRenewed: the leader moved its deadline.
	LeaseRenewed ElectionEvent = "renewed"
	// LeaseLost: another process took over.
	LeaseLost ElectionEvent = "deposed"
	// LeaseResigned: the leader gave up its lease.
	LeaseResigned ElectionEvent = "resigned"
	// StepFailed: the store did not answer, or not clearly; tried again.
	StepFailed ElectionEvent = "failed"
)

func (o ElectionOptions) withDefaults() ElectionOptions {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&o.TTL, 10*time.Second)
	set(&o.Renew, o.TTL/2)
	set(&o.Poll, o.TTL/10)
	set(&o.Margin, o.TTL/5)
	set(&o.MaxClockSkew, 5*time.Second)
	if o.Holder == "" {
		o.Holder = lake.NewID().String()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Observe == nil {
		o.Observe = func(ElectionEvent) {}
	}
	return o
}

func (o ElectionOptions) check() error {
	if o.Renew <= 0 || o.Poll <= 0 || o.Margin < 0 || o.MaxClockSkew < 0 || o.Renew+o.Margin >= o.TTL {
		return lake.Errorf(lake.Invalid, "election: ttl %s, renew %s, poll %s, margin %s, clock skew %s: want positive times and renew + margin < ttl",
			o.TTL, o.Renew, o.Poll, o.Margin, o.MaxClockSkew)
	}
	return nil
}

// Election decides which process is the authority.
//
// Two things are stored. The fence {holder, epoch}, in equal stripes, changes
// only on a takeover; every authoritative write keeps one stripe. The deadline
// record carries the renewals:
//
//   - renew: {one stripe kept, deadline → new};
//   - take over: {all stripes exact → epoch+1, deadline exact and expired →
//     new}.
//
// So a renewal and a takeover exclude each other through the deadline record,
// and a takeover and an older leader's write through the stripe, without any
// trust in clocks. The clocks only keep takeovers rare.
//
// An Election is safe for concurrent use. Run it once.
type Election struct {
	settler
	opts ElectionOptions

	mu    sync.Mutex
	state leadership
}

// leadership is what this process believes.
type leadership struct {
	// fence is ours while we lead, else the zero fence.
	fence Fence
	// until is when we stop accepting writes; its monotonic clock counts.
	until time.Time
	// lease is the deadline record last seen, raw its bytes, and since when
	// this process has seen exactly them.
	lease leaseRecord
	raw   []byte
	since time.Time
}

// Leader describes the leader that was last seen.
type Leader struct {
	Holder  string
	Address string
	Epoch   uint64
	// Deadline is by the leader's clock.
	Deadline time.Time
}

type leaseRecord struct {
	header
	Holder   string    `json:"holder"`
	Address  string    `json:"address,omitempty"`
	Epoch    uint64    `json:"epoch"`
	Deadline time.Time `json:"deadline"`
	// Resigned says that the holder stopped writing and anyone may take over.
	Resigned bool `json:"resigned,omitempty"`
}

// NewElection returns an election over store. It does no I/O.
func NewElection(store metastore.Store, opts ElectionOptions) (*Election, error) {
	opts = opts.withDefaults()
	if err := opts.check(); err != nil {
		return nil, err
	}
	return &Election{settler: settler{store}, opts: opts}, nil
}

// Fence returns the fence to write under, or lake.Unavailable when this
// process does not lead or could not renew in time.
func (e *Election) Fence() (Fence, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.state.fence.raw == nil:
		return Fence{}, lake.Errorf(lake.Unavailable, "not the leader; %s", e.state.lease.describe())
	case !e.opts.Exclusive && !e.opts.Now().Before(e.state.until):
		return Fence{}, lake.Errorf(lake.Unavailable, "the leader could not renew its lease in time")
	}
	return e.state.fence, nil
}

func (r leaseRecord) describe() string {
	if r.Holder == "" || r.Resigned {
		return "no leader is known: an election is in progress"
	}
	return "the leader last seen is " + r.Holder + " " + r.Address
}

// Holder identifies this process in the election.
func (e *Election) Holder() string { return e.opts.Holder }

// Leader returns the leader with a live lease as this process last saw it.
// ok is false when none is known.
func (e *Election) Leader() (leader Leader, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.state.lease
	ok = l.Holder != "" && !l.Resigned && e.opts.Now().Before(l.Deadline.Add(e.opts.MaxClockSkew))
	return Leader{Holder: l.Holder, Address: l.Address, Epoch: l.Epoch, Deadline: l.Deadline}, ok
}

// Run campaigns, renews and, when ctx ends, resigns. It returns when ctx has
// ended; failures of the store are logged and tried again. Stop accepting
// writes before ctx ends: resigning lets another process take over at once.
func (e *Election) Run(ctx context.Context) {
	for {
		wait := e.step(ctx)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			e.resign(context.WithoutCancel(ctx))
			return
		case <-timer.C:
		}
	}
}

// step makes one move and says how long to wait before the next.
func (e *Election) step(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, e.opts.TTL)
	defer cancel()
	var err error
	if e.leading() {
		if err = e.renew(ctx); err == nil && e.leading() {
			return e.opts.Renew
		}
	} else {
		err = e.campaign(ctx)
		if e.leading() {
			return e.opts.Renew
		}
	}
	if err != nil && ctx.Err() == nil {
		e.opts.Observe(StepFailed)
		e.opts.Logger.Warn("election: step failed, will retry", "error", err)
	}
	// The spread keeps followers from campaigning in step.
	return e.opts.Poll/2 + rand.N(e.opts.Poll)
}

func (e *Election) leading() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state.fence.raw != nil
}

func (e *Election) snapshot() leadership {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

func (e *Election) set(s leadership) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.state = s
}

// lease makes the next deadline record for a fence, and the time until which
// it lets us accept writes, both counted from before the commit is sent.
func (e *Election) lease(f Fence) (record leaseRecord, raw []byte, until time.Time) {
	now := e.opts.Now()
	record = leaseRecord{
		header: newHeader(), Holder: f.holder, Address: e.opts.Address, Epoch: f.epoch,
		Deadline: stamp(now.Add(e.opts.TTL)),
	}
	return record, encode(record), now.Add(e.opts.TTL - e.opts.Margin)
}

// renew moves the deadline. When the stripe it keeps is not ours any more the
// leadership is over.
func (e *Election) renew(ctx context.Context) error {
	moved, err := e.tryRenew(ctx)
	if moved {
		// At once: the lost answer has cost a wait between steps already, and
		// another may outlast the lease.
		_, err = e.tryRenew(ctx)
	}
	return err
}

// tryRenew is one renewal. moved says that it failed because an earlier one,
// whose answer was lost, had applied, and that the next goes on from there.
func (e *Election) tryRenew(ctx context.Context) (moved bool, err error) {
	was := e.snapshot()
	record, raw, until := e.lease(was.fence)
	move := metastore.Update(deadlineKey, was.raw, raw)
	guard := was.fence.stripe(0)
	err = e.commit(ctx, move, []metastore.Op{guard, move})
	if err == nil {
		e.set(leadership{fence: was.fence, until: until, lease: record, raw: raw})
		e.opts.Observe(LeaseRenewed)
		return false, nil
	}
	if !e.holds(ctx, guard) {
		e.set(leadership{lease: was.lease})
		e.opts.Observe(LeaseLost)
		e.opts.Logger.Warn("election: another process took over", "epoch", was.fence.epoch)
		return false, nil
	}
	if found, e2 := e.read(ctx, deadlineKey); e2 == nil && found != nil && !bytes.Equal(found, was.raw) {
		was.raw = found
		e.set(was)
		return true, err
	}
	return false, err
}

// campaign takes over if the lease seen is over.
func (e *Election) campaign(ctx context.Context) error {
	raw, err := e.read(ctx, deadlineKey)
	if err != nil {
		return err
	}
	var seen leaseRecord
	if raw != nil {
		if err := decode(deadlineKey, raw, &seen); err != nil {
			return err
		}
	}
	now := leadership{lease: seen, raw: raw, since: e.opts.Now()}
	if was := e.snapshot(); was.raw != nil && bytes.Equal(was.raw, raw) {
		now.since = was.since
	}
	e.set(now)
	if raw == nil || seen.Resigned || e.opts.Exclusive || e.over(now) {
		return e.takeOver(ctx, raw)
	}
	return nil
}

// over reports whether the lease has run out, by its own deadline or, should
// its holder's clock have been far ahead, because nothing was renewed for the
// time a lease lasts by our clock.
func (e *Election) over(s leadership) bool {
	return !e.opts.Now().Before(s.lease.Deadline.Add(e.opts.MaxClockSkew)) ||
		e.opts.Now().Sub(s.since) > e.opts.TTL+e.opts.MaxClockSkew
}

func (e *Election) takeOver(ctx context.Context, seen []byte) error {
	var olds [stripes][]byte
	epoch := uint64(0)
	for i := range olds {
		raw, err := e.read(ctx, stripeKey(i))
		if err != nil {
			return err
		}
		if raw == nil {
			continue
		}
		old, err := decodeFence(stripeKey(i), raw)
		if err != nil {
			return err
		}
		olds[i], epoch = raw, max(epoch, old.epoch)
	}
	fence := newFence(e.opts.Holder, epoch+1)
	record, raw, until := e.lease(fence)
	move := replace(deadlineKey, seen, raw)
	ops := []metastore.Op{move}
	for i, old := range olds {
		ops = append(ops, replace(stripeKey(i), old, fence.raw))
	}
	err := e.commit(ctx, move, ops)
	if isConflict(err) {
		e.opts.Observe(CampaignLost) // or the leader renewed after all
		return nil
	}
	if err != nil {
		return err
	}
	e.set(leadership{fence: fence, until: until, lease: record, raw: raw})
	e.opts.Observe(CampaignWon)
	e.opts.Logger.Info("election: this process leads", "epoch", fence.epoch, "holder", fence.holder)
	return nil
}

// replace expects old, nil meaning absent, and puts value.
func replace(key string, old, value []byte) metastore.Op {
	return metastore.Op{Key: key, Expect: old, Effect: metastore.Put, Value: value}
}

// resign gives the lease up, so that the next leader need not wait for its
// deadline. Failing is harmless: the deadline passes.
func (e *Election) resign(ctx context.Context) {
	was := e.snapshot()
	e.set(leadership{})
	if was.fence.raw == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.opts.Margin+time.Second)
	defer cancel()
	record, _, _ := e.lease(was.fence)
	record.Resigned, record.Deadline = true, stamp(e.opts.Now())
	move := metastore.Update(deadlineKey, was.raw, encode(record))
	if err := e.commit(ctx, move, []metastore.Op{was.fence.stripe(0), move}); err != nil {
		e.opts.Logger.Warn("election: could not resign; the lease runs out by itself", "error", err)
		return
	}
	e.opts.Observe(LeaseResigned)
	e.opts.Logger.Info("election: resigned", "epoch", was.fence.epoch)
}
