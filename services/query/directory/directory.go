// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lakeplane/lake/lake"
)

// Outcome is how one refresh ended, for metrics.
type Outcome string

// The outcomes.
const (
	NotModified Outcome = "not_modified"
	Replaced    Outcome = "replaced"
	Failed      Outcome = "failed"
)

// Options tunes a [Directory]. The zero value of a field means its default.
type Options struct {
	// Timeout bounds one refresh; default 10 s.
	Timeout time.Duration
	// MinBackoff and MaxBackoff bound the pause after a failed refresh, which
	// doubles with each failure in a row; defaults 250 ms and 10 s. Meanwhile
	// the last good generation is served without asking.
	MinBackoff, MaxBackoff time.Duration
	// OnRefresh is told how each refresh ended. It must not block.
	OnRefresh func(Outcome, error)
}

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.MinBackoff == 0 {
		o.MinBackoff = 250 * time.Millisecond
	}
	if o.MaxBackoff == 0 {
		o.MaxBackoff = 10 * time.Second
	}
	if o.OnRefresh == nil {
		o.OnRefresh = func(Outcome, error) {}
	}
	return o
}

// Directory is the current generation and how it is kept current. It is safe
// for concurrent use.
//
// Every [Directory.Current] asks the authority whether the generation moved,
// which is one small conditional call, and the answer is always younger than
// the question: a caller that finds a refresh already running waits for the
// one after it, which all such callers share. So a table created before the
// call is seen by it, while at most one refresh is in flight whatever the
// load. Before the first generation a failure is the caller's error; later
// the last good generation is served.
type Directory struct {
	source  Source
	opts    Options
	current atomic.Pointer[Snapshot]

	life context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu            sync.Mutex
	running, next *round
	failures      int
	quietUntil    time.Time
}

// round is one refresh, possibly not started yet.
type round struct {
	done chan struct{}
	err  error
}

// New makes a directory without a generation. Close it.
func New(source Source, opts Options) *Directory {
	d := &Directory{source: source, opts: opts.withDefaults()}
	d.life, d.stop = context.WithCancel(context.Background())
	return d
}

// Close ends the refresh in flight and waits for it.
func (d *Directory) Close() {
	d.mu.Lock()
	d.stop()
	d.mu.Unlock()
	d.wg.Wait()
}

// Ready reports whether there is a generation to serve.
func (d *Directory) Ready() bool { return d.current.Load() != nil }

// Start fetches the first generation, trying again until ctx ends.
func (d *Directory) Start(ctx context.Context) error {
	for !d.Ready() {
		if _, err := d.Current(ctx); err == nil {
			return nil
		}
		d.mu.Lock()
		pause := time.Until(d.quietUntil)
		d.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.life.Done():
			return d.life.Err()
		case <-time.After(pause):
		}
	}
	return nil
}

// Current returns the generation that holds now, or the last good one while
// the authority cannot be asked.
func (d *Directory) Current(ctx context.Context) (*Snapshot, error) {
	r := d.join()
	if r == nil { // backing off
		return d.current.Load(), nil
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := d.current.Load(); s != nil {
		return s, nil
	}
	return nil, lake.Wrap("directory", r.err)
}

// join returns a refresh that starts after now, or nil during a pause.
func (d *Directory) join() *round {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.Err() != nil {
		closed := make(chan struct{})
		close(closed)
		return &round{done: closed, err: lake.Errorf(lake.Unavailable, "the replica is shutting down")}
	}
	if d.running != nil {
		if d.next == nil {
			d.next = &round{done: make(chan struct{})}
		}
		return d.next
	}
	if d.Ready() && time.Now().Before(d.quietUntil) {
		return nil
	}
	r := &round{done: make(chan struct{})}
	d.launch(r)
	return r
}

// launch starts a round; d.mu is held.
func (d *Directory) launch(r *round) {
	d.running = r
	d.wg.Go(func() { d.refresh(r) })
}

func (d *Directory) refresh(r *round) {
	ctx, cancel := context.WithTimeout(d.life, d.opts.Timeout)
	defer cancel()
	known := d.current.Load()
	s, err := read(ctx, d.source, known)
	outcome := Replaced
	switch {
	case err != nil:
		outcome = Failed
	case s == known:
		outcome = NotModified
	default:
		d.current.Store(s)
	}
	d.opts.OnRefresh(outcome, err)
	d.finish(r, err)
}

func (d *Directory) finish(r *round, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.err = err; err == nil {
		d.failures, d.quietUntil = 0, time.Time{}
	} else {
		pause := d.opts.MinBackoff << min(d.failures, 16)
		d.failures++
		d.quietUntil = time.Now().Add(min(pause, d.opts.MaxBackoff))
	}
	close(r.done)
	d.running = nil
	next := d.next
	d.next = nil
	switch {
	case next == nil:
	case err != nil: // do not ask a failing authority again at once
		next.err = err
		close(next.done)
	default:
		d.launch(next)
	}
}
