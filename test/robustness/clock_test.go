// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
)

// wrongClocks are five minutes ahead and behind, where the members are told
// that their clocks are a tenth of a second apart. Behind it is a little less:
// the ids of operations are times as well, and one from more than five
// minutes in the future is refused, as it should be.
var wrongClocks = []time.Duration{5 * time.Minute, -5*time.Minute + 10*time.Second, 0}

// TestClocksThatAreWrong kills the leader again and again while the members'
// clocks are ten minutes apart. Who leads may be decided by it, and what is
// in the tables not: a successor whose clock is behind does not wait for a
// deadline in its future, and one whose clock is ahead fences the one before.
func TestClocksThatAreWrong(t *testing.T) {
	t.Parallel()
	c := newCluster(t, onPostgres)
	c.clocks = wrongClocks
	c.startAll()
	tables := []lake.TableName{c.create("t0"), c.create("t1")}
	stop := c.watch(tables...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writers sync.WaitGroup
	for range 3 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				o := newOperation(t, tables[i%2], 1+i%3)
				c.ledger.open(o)
				for _, p := range c.running() {
					if result, err := p.put(context.WithoutCancel(ctx), o); err == nil {
						c.ledger.ack(o, result)
						break
					}
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 6 { // every clock has led by then
		leader := c.leader()
		before := leader.commits(advanceCommit + " ok")
		leader.await(t, "commits", func(r *reported) bool { return !r.leads || r.commits[advanceCommit+" ok"] > before+3 })
		if rng.IntN(3) == 0 {
			leader.pause(t)
			time.Sleep(2 * c.config.Lease.TTL)
			leader.resume(t)
			continue
		}
		began := time.Now()
		leader.kill()
		c.leader()
		require.Less(t, time.Since(began), 10*time.Second, "a clock that is behind waits for no deadline")
		c.revive()
	}
	cancel()
	writers.Wait()
	stop()
	c.audit(tables)
}
