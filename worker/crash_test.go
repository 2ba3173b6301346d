// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/workflows"
)

// thorough is set by the build tag "robustness": the crash tests then run on
// every metastore, longer, and with real processes.
var thorough bool

// stores are the metastores the crash tests run on: the durable one, and with
// the tag the other as well.
func stores() map[string]storeFunc {
	if thorough {
		return map[string]storeFunc{"memory": memoryStore, "pebble": pebbleStore}
	}
	return map[string]storeFunc{"pebble": pebbleStore}
}

// kills is how often a crash test kills the Temporal server.
func kills() int {
	if thorough {
		return 4
	}
	return 1
}

func pebbleStore(t *testing.T) store {
	s, err := pebble.Open(t.TempDir(), pebble.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Report 21: a drop completes whoever dies.
func TestWorkersComeAndGo(t *testing.T) {
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			d := deploy(t, open(t), startTemporal(t, ""))
			d.objects.delay = 2 * time.Millisecond
			step := d.dropped(t, "t", 1000)
			d.start(t, step)
			for i := range 3 {
				stop := d.work(t, d.options())
				d.middle(t, int64(100*(i+1)))
				stop()
				require.NotZero(t, d.ObjectsLeft(t, step), "the test is too slow to have a middle")
			}
			d.work(t, d.options())
			d.wait(t, 60*time.Second, step)
			d.RequireGone(t, step)
			require.EqualValues(t, 1000, d.Procedure(t, step).Counters[workflows.CountObjects], "an orderly stop repeats nothing")
		})
	}
}

func TestTheServerDiesAndComesBack(t *testing.T) {
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			d := deploy(t, open(t), startTemporal(t, t.TempDir()+"/temporal.db"))
			d.objects.delay = 3 * time.Millisecond
			step := d.dropped(t, "t", 1000)
			second := d.dropped(t, "second", 300)
			d.work(t, d.options())
			d.start(t, step)
			d.start(t, second)
			for i := range kills() {
				d.middle(t, int64(200*(i+1)))
				killTemporal(d.temporal)
				require.Eventually(t, func() bool { return d.temporal.Restarts() == i+1 }, 30*time.Second, 10*time.Millisecond)
			}
			d.wait(t, 90*time.Second, step, second)
			d.RequireGone(t, step)
			d.RequireGone(t, second)
		})
	}
}
