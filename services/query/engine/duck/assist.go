// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

// #include "run.h"
import "C"

import (
	"sync"
	"time"
)

// assistAfter is how long a statement runs on its own thread alone. Waking
// others, and waiting for them, costs a small statement more than they can do
// for it.
const assistAfter = 8 * time.Millisecond

// assist lends the slot's other threads to the running statement, if it lasts.
// DuckDB has none of its own in a slot: it would wake them for each piece of work
// of each statement. The returned function takes them back, and must be called
// when the statement's cursor has been closed: closing it waits for what they do.
func (s *slot) assist() (stop func()) {
	if s.opts.Threads < 2 {
		return func() {}
	}
	a := &assistants{db: s.db, threads: s.opts.Threads - 1}
	a.timer = time.AfterFunc(assistAfter, a.start)
	return a.stop
}

// assistants are threads that work for one statement.
type assistants struct {
	db      *database
	threads int
	timer   *time.Timer

	mu      sync.Mutex
	stopped bool
	state   C.duckdb_task_state // nil before they started
	work    sync.WaitGroup
}

func (a *assistants) start() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return
	}
	a.state = C.duckdb_create_task_state(a.db.c)
	for range a.threads {
		a.work.Go(func() { C.lake_assist(a.state) })
	}
}

func (a *assistants) stop() {
	a.timer.Stop()
	a.mu.Lock()
	a.stopped = true
	state := a.state
	a.mu.Unlock()
	if state == nil {
		return
	}
	C.duckdb_finish_execution(state)
	a.work.Wait()
	C.duckdb_destroy_task_state(state)
}
