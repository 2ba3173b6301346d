// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"github.com/lakeplane/lake/services/query/engine/duck"
	"github.com/lakeplane/lake/services/query/engine/pool"
	"github.com/lakeplane/lake/services/query/engine/slot"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// RunSlotIfAsked is the first thing that a program does in which a replica may
// run, a test included: the replica starts the program once more for each
// engine slot. In a slot it does not return; elsewhere it does nothing.
//
// It has to be called from main, or TestMain, and not while packages are
// initialized: until that has ended, Go holds back calls from threads that are
// not its own, and the engine's threads would wait for rows for ever.
func RunSlotIfAsked() {
	slot.RunIfAsked(func(s slotwire.Setup) (slot.Engine, error) { return duck.OpenSlot(s) })
}

// sqlEngine is an engine of either kind.
type sqlEngine = slot.Engine

// openEngine chooses between processes and the replica itself.
func (q *Query) openEngine() func(pool.Options) (sqlEngine, error) {
	if err := pool.Supported(); err != nil && !q.config.InProcess {
		q.tel.Log.Warn("statements run in the replica itself: one that crashes the engine ends it", "reason", err)
		q.config.InProcess = true
	}
	if q.config.InProcess {
		return openInProcess
	}
	return func(o pool.Options) (sqlEngine, error) {
		o.Log = q.tel.Log
		if q.tel.Metrics != nil {
			o.Metrics = q.tel.Metrics
		}
		return sure(pool.New(o))
	}
}

func openInProcess(o pool.Options) (sqlEngine, error) {
	return sure(duck.New(duck.Options{Slots: o.Slots, Threads: o.Threads, Memory: o.Memory, SpillDir: o.SpillDir, SpillBytes: o.SpillBytes}))
}

// sure keeps a nil pointer from becoming an engine that is not nil.
func sure[E sqlEngine](e E, err error) (sqlEngine, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}
