// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

import (
	"time"

	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
)

const (
	// crowdWait bounds how long a version waits for appends to join it.
	crowdWait = 5 * time.Millisecond
	// crowdNear is how soon an append must be answered for its writer to be
	// waited for: over a far object store nobody is back in time.
	crowdNear = 4 * crowdWait
	// crowdDoubt bounds for how many versions in a row nobody is waited for.
	crowdDoubt = 63
	// crowdsKept bounds the tables whose writers are remembered.
	crowdsKept = 4096
)

// crowd is what is known of the writers of one table, to tell whether more
// appends are about to join the version that could begin.
//
// A version costs about the same for one append as for sixteen. Writers that
// wait for their answers before they append again come back together, yet the
// first of them would begin a version alone, and the others would find it under
// way: they fall apart into groups that wait for each other. So a version waits
// for as many as were there lately, for no longer than the last version took, and
// [crowdWait] at most. Who is alone waits for nobody. Where the wait was in vain,
// since the writers went elsewhere, that is not tried again for some versions,
// and for twice as many each time.
//
// It is guarded by its committers' lock.
type crowd struct {
	here         int // submitted and not answered
	most, before int // the largest here since the last version began, and before
	took         time.Duration
	skip, doubt  int // versions that do not wait, now and after the next disappointment

	enough int // how long a queue somebody waits for, or 0
	full   chan struct{}
}

// arrive notes an append that makes the queue so long.
func (w *crowd) arrive(queued int) {
	w.here++
	w.most = max(w.most, w.here)
	if w.enough > 0 && queued >= w.enough {
		w.enough = 0
		close(w.full)
	}
}

// leave notes an answer, so long after the append's version began.
func (w *crowd) leave(took time.Duration) {
	w.here--
	w.took = took
}

// begin says how long a version that could begin with the queue waits, if at
// all, and for what.
func (w *crowd) begin(queued int) (full <-chan struct{}, most time.Duration) {
	want := max(w.most, w.before)
	w.before, w.most = w.most, w.here
	if w.took > crowdNear {
		want -= w.here - queued
	}
	want = min(want, catalog.MaxGroup)
	switch {
	case queued >= want:
		return nil, 0
	case w.skip > 0:
		w.skip--
		return nil, 0
	}
	w.enough, w.full = want, make(chan struct{})
	return w.full, min(w.took, crowdWait)
}

// end notes whether as many came as were waited for.
func (w *crowd) end() {
	if w.enough == 0 {
		w.doubt /= 2
		return
	}
	w.enough = 0
	w.doubt = min(2*w.doubt+1, crowdDoubt)
	w.skip = w.doubt
}

// crowd returns what is known of a table's writers. The caller holds the lock.
func (c *committers) crowd(table lake.TableName) *crowd {
	if w := c.crowds[table]; w != nil {
		return w
	}
	if c.crowds == nil || len(c.crowds) >= crowdsKept {
		c.forgetCrowds()
	}
	w := new(crowd)
	c.crowds[table] = w
	return w
}

// forgetCrowds keeps those in use. For the others it costs one small version.
func (c *committers) forgetCrowds() {
	kept := map[lake.TableName]*crowd{}
	for table, w := range c.crowds {
		if w.here > 0 {
			kept[table] = w
		}
	}
	c.crowds = kept
}

// gather waits for appends that are about to join the table's next version.
func (c *committers) gather(table lake.TableName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	queued := len(c.queues[table])
	if queued == 0 {
		return
	}
	w := c.crowd(table)
	full, most := w.begin(queued)
	if full == nil {
		return
	}
	c.mu.Unlock()
	start := time.Now()
	timer := time.NewTimer(most)
	select {
	case <-full:
	case <-timer.C:
	}
	timer.Stop()
	c.server.metrics.since("gather", start)
	c.mu.Lock()
	w.end()
}
