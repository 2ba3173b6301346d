// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// watchEvery is how often the slots are looked at. Memory that grows at a
// gigabyte a second is noticed 50 MiB late.
const watchEvery = 50 * time.Millisecond

// watch looks after the slots until the pool closes.
func (e *Engine) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-e.life.Done():
			return
		case <-tick.C:
		}
		for _, p := range e.living() {
			p.watchSilence()
			p.watchMemory()
		}
		e.warm()
	}
}

func (e *Engine) living() []*process {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := make([]*process, 0, len(e.all))
	for p := range e.all {
		if p.ready.Load() && p.alive() {
			list = append(list, p)
		}
	}
	return list
}

// watchSilence asks a silent slot for a sign of life, and gives it up in the
// end. Asking happens beside: the way to a stopped slot may be full.
func (p *process) watchSilence() {
	silent := time.Since(time.Unix(0, p.heard.Load()))
	most := p.engine.opts.Silence
	switch {
	case silent > most:
		p.kill(retire("silent", lake.Errorf(lake.Unavailable, "the engine process running the query gave no sign of life for %s and was ended: run it again", most)))
	case silent > most/slotwire.Alive && p.pinging.CompareAndSwap(false, true):
		go func() {
			_ = p.conn.Send(slotwire.KindPing, 0, nil)
			p.pinging.Store(false)
		}()
	}
}

// watchMemory ends a slot that took more than it may while it runs a statement.
func (p *process) watchMemory() {
	if p.current.Load() == nil {
		return
	}
	most := p.engine.opts.Resident
	if grown := p.grown(); grown > most {
		p.kill(retire("memory", lake.Errorf(lake.Exhausted, "the query needs more memory than it is allowed: its engine process took %d MiB of %d MiB", grown>>20, most>>20)))
	}
}

// grown is how much more memory the slot has than when it was new, in bytes.
func (p *process) grown() int64 { return p.memory() - p.calm }
