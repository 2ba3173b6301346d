// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

// acquire waits for a place and takes an idle slot, or starts one.
func (e *Engine) acquire(ctx context.Context, of uint64) (p *process, err error) {
	start := time.Now()
	select {
	case e.permits <- struct{}{}:
	case <-ctx.Done():
		return nil, stopped(ctx)
	case <-e.life.Done():
		return nil, errClosed
	}
	defer func() {
		if err != nil {
			<-e.permits
		}
		e.metrics.waited.Observe(time.Since(start).Seconds())
	}()
	if e.life.Err() != nil {
		return nil, errClosed
	}
	for {
		p, soon := e.pop(of)
		switch {
		case p != nil:
			return p, nil
		case soon == nil:
			return e.birth(ctx)
		}
		select {
		case <-soon:
		case <-ctx.Done():
			return nil, stopped(ctx)
		}
	}
}

// pop takes a slot that has the same tables before it, or else the one whose
// tables were not asked for for longest; for a statement without tables the one
// used last, whose memory is warm. Where none is idle it returns what to wait for,
// if a slot is starting already.
func (e *Engine) pop(of uint64) (_ *process, soon <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.idle) > 0 {
		at := len(e.idle) - 1
		if of != 0 {
			at = max(0, slices.IndexFunc(e.idle, func(p *process) bool { return p.seated == of }))
		}
		p := e.idle[at]
		e.idle = slices.Delete(e.idle, at, at+1)
		if p.alive() {
			e.warmLocked()
			return p, nil
		}
	}
	if e.births > 0 {
		return nil, e.born
	}
	return nil, nil
}

// birth starts a slot. A caller that leaves does not stop it: the slot will be
// of use to the next.
func (e *Engine) birth(ctx context.Context) (*process, error) {
	type child struct {
		p   *process
		err error
	}
	born := make(chan child)
	e.work.Go(func() {
		p, err := e.start()
		select {
		case born <- child{p, err}:
		case <-ctx.Done():
			if err == nil {
				e.rest(p)
			}
		}
	})
	select {
	case c := <-born:
		return c.p, c.err
	case <-ctx.Done():
		return nil, stopped(ctx)
	}
}

// release gives a slot and its place back. A slot that is dead, or has done its
// work, is replaced.
func (e *Engine) release(p *process) {
	switch {
	case !p.alive():
	case p.statements >= e.opts.Statements:
		p.kill(retire("age", nil))
	case p.statements%checkEvery == 0 && p.grown() > e.opts.Resident/2:
		p.kill(retire("bloat", nil))
	}
	e.rest(p)
	<-e.permits
}

// rest makes a slot idle.
func (e *Engine) rest(p *process) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.life.Err() != nil {
		p.kill(nil)
		return
	}
	if p.alive() && len(e.all) > e.opts.Slots {
		p.kill(nil) // two were started for one place
	}
	if p.alive() {
		e.idle = append(e.idle, p)
	}
	e.warmLocked()
}

// checkEvery is after how many statements an idle slot's memory is looked at:
// an engine may keep what it needs no longer.
const checkEvery = 16

// warm starts slots in the background until enough are idle.
func (e *Engine) warm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.warmLocked()
}

// retryStart is how long the background waits after a start that failed.
const retryStart = time.Second

func (e *Engine) warmLocked() {
	if e.life.Err() != nil || time.Since(e.failed) < retryStart {
		return
	}
	e.idle = slices.DeleteFunc(e.idle, func(p *process) bool { return !p.alive() })
	for len(e.idle)+e.births < e.opts.Warm && len(e.all)+e.births < e.opts.Slots {
		e.births++
		e.work.Go(func() {
			p, err := e.start()
			if err == nil {
				e.rest(p)
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			e.births--
			close(e.born)
			e.born = make(chan struct{})
			// A failure is logged; a statement that needs the slot tries at once
			// and reports it.
		})
	}
}

// forget is called when a process has ended.
func (e *Engine) forget(p *process) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.all, p)
	e.warmLocked()
}

// census counts the slots by what they do.
func (e *Engine) census() (idle, busy, starting int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for p := range e.all {
		if p.ready.Load() {
			busy++
		} else {
			starting++
		}
	}
	idle = min(len(e.idle), busy)
	return idle, busy - idle, starting
}

// indexOf finds a table. Tables that cannot be compared are never the same.
func indexOf(tables []engine.Table, t engine.Table) int {
	if !reflect.TypeOf(t).Comparable() {
		return -1
	}
	return slices.IndexFunc(tables, func(o engine.Table) bool {
		return reflect.TypeOf(o) == reflect.TypeOf(t) && o == t
	})
}

// stopped is the error of a statement whose context ended.
func stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return lake.Wrap("query stopped", cause)
	}
	return cause
}
