// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build robustness && unix

package robustness

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// loops is how many random crash loops run; LAKE_ROBUSTNESS_LOOPS sets it as
// well. seed repeats the decisions of a run that failed; what the processes
// make of them differs.
var (
	loops = flag.Int("loops", loopsFromEnv(), "random crash loops")
	seed  = flag.Uint64("seed", 0, "seed of the random loops; 0 takes a fresh one")
)

func loopsFromEnv() int {
	if n, err := strconv.Atoi(os.Getenv("LAKE_ROBUSTNESS_LOOPS")); err == nil {
		return n
	}
	return 200
}

const (
	lanes = 6 // clusters that run beside each other
	era   = 8 // loops that use the same tables
)

// points are where members are harmed.
var points = []point{
	received, dataWritten, dataStaged, manifestStaged, committed, finalNamed, published, answering,
	renewing, renewed, tookOver, begun, created, dropped,
}

// TestRandomCrashes lets writers append, half of the time in sessions that they
// share, while members are killed, paused and started at random, and audits
// everything after every loop.
func TestRandomCrashes(t *testing.T) {
	start := *seed
	if start == 0 {
		start = rand.Uint64()
	}
	var total tally
	t.Run("lanes", func(t *testing.T) {
		for i := range lanes {
			t.Run(fmt.Sprintf("%d-%s", i, backends[i%len(backends)]), func(t *testing.T) {
				t.Parallel()
				l := lane{
					cluster: newCluster(t, backends[i%len(backends)]), rng: rand.New(rand.NewPCG(start, uint64(i))),
					name: fmt.Sprintf("-seed %d, lane %d", start, i),
				}
				l.inSessions = func() bool { return rand.IntN(2) == 0 }
				l.tally, l.compacts = &total, l.backend.shared()
				if i%lanes == lanes-1 {
					l.clocks = wrongClocks
				}
				l.run((*loops + lanes - 1 - i) / lanes)
			})
		}
	})
	t.Log(total.String())
	require.Positive(t, total.counts["acknowledged"])
	require.Positive(t, total.counts["acknowledged in a session"])
}

// lane runs loops one after the other on one cluster.
type lane struct {
	*cluster
	rng    *rand.Rand
	name   string
	tables []lake.TableName
	// did is what was done to the members in this loop, for the log of a
	// failure.
	did []string
}

func (l *lane) run(n int) {
	l.t.Helper()
	loop := 0
	l.t.Cleanup(func() {
		if l.t.Failed() {
			l.t.Logf("%s, loop %d: %v", l.name, loop, l.did)
		}
	})
	for ; loop < n; loop++ {
		l.did = nil
		if loop%era == 0 {
			l.newTables(loop)
		}
		l.loop()
		l.tally.add("loops", 1)
	}
	l.finish()
}

// newTables begins with one to three empty tables and members that meet other
// faults of their stores than before.
func (l *lane) newTables(loop int) {
	l.t.Helper()
	l.finish()
	for _, p := range l.running() {
		p.kill()
	}
	l.config.Faults = []float64{0, 0.02, 0.1}[l.rng.IntN(3)]
	l.config.ObjectFaults = []float64{0, 0.02}[l.rng.IntN(2)]
	l.config.Hold = []int64{-1, 0, 400}[l.rng.IntN(3)]
	l.config.FaultSeed = l.rng.Uint64()
	l.revive()
	for _, table := range l.tables {
		l.ledger.forget(table)
	}
	l.tables = nil
	for i := range 1 + l.rng.IntN(3) {
		l.tables = append(l.tables, l.create(fmt.Sprintf("t%d-%d", loop, i)))
	}
}

// loop is one round of load, faults, recovery and audit.
func (l *lane) loop() {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	stop := l.watch(l.tables...)
	var writers sync.WaitGroup
	failed := make(chan error, 16)
	for range 3 + l.rng.IntN(4) {
		rng := rand.New(rand.NewPCG(l.rng.Uint64(), 0))
		writers.Go(func() {
			if err := l.write(ctx, rng); err != nil {
				failed <- err
			}
		})
	}
	churn := rand.New(rand.NewPCG(l.rng.Uint64(), 1))
	writers.Go(func() {
		if err := l.churn(ctx, churn); err != nil {
			failed <- err
		}
	})
	if l.compacts {
		rng := rand.New(rand.NewPCG(l.rng.Uint64(), 2))
		writers.Go(func() {
			if err := l.compact(ctx, rng); err != nil {
				failed <- err
			}
		})
	}
	for range 1 + l.rng.IntN(3) {
		l.wait(300)
		l.harm()
	}
	l.revive()
	l.wait(200)
	cancel()
	writers.Wait()
	stop()
	close(failed)
	for err := range failed {
		require.NoError(l.t, err)
	}
	l.replayAll(l.tables)
}

func (l *lane) wait(most int) { time.Sleep(time.Duration(l.rng.IntN(most)) * time.Millisecond) }

// write makes appends one after the other until ctx ends. Some clients give up
// after one short try, and leave an append behind that nobody knows the
// outcome of.
func (l *lane) write(ctx context.Context, rng *rand.Rand) error {
	for ctx.Err() == nil {
		o := newOperation(l.t, l.tables[rng.IntN(len(l.tables))], 1+rng.IntN(20))
		limit := patience
		if rng.IntN(4) == 0 {
			limit = time.Duration(rng.IntN(30)) * time.Millisecond
		}
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		result, err := l.append(one, o)
		cancel()
		switch {
		case err == nil && rng.IntN(3) == 0:
			err = l.readBack(ctx, o.command.Table, result)
		case err != nil && limit < patience && !final(err):
			err = nil
		}
		if err != nil {
			return fmt.Errorf("append %s to %s, of %d rows: %w", o.command.Operation, o.command.Table, o.rows, err)
		}
	}
	return nil
}

// churn makes tables, appends to them and drops them until ctx ends. What was
// dropped must not be found again.
func (l *lane) churn(ctx context.Context, rng *rand.Rand) error {
	for ctx.Err() == nil {
		table := l.create(fmt.Sprintf("churn-%d", rng.Uint64()))
		o := newOperation(l.t, table, 1)
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		acked, err := l.append(one, o)
		cancel()
		l.ledger.forget(table)
		if err != nil {
			return fmt.Errorf("append to %s: %w", table, err)
		}
		inc, err := lake.ParseID(acked.GetIncarnation())
		if err != nil {
			return err
		}
		err = l.patiently(func(ctx context.Context, p *process) error { return dropTable(ctx, p, table, inc) })
		if err != nil {
			return fmt.Errorf("drop of %s: %w", table, err)
		}
		err = l.patiently(func(ctx context.Context, p *process) error {
			_, err := p.catalog.GetTable(ctx, &lakepb.GetTableRequest{Name: wireName(table)})
			return grpcerr.FromStatus(err)
		})
		if !lake.Is(err, lake.NotFound) {
			return fmt.Errorf("%s was dropped and is found: %w", table, err)
		}
		l.tally.add("tables dropped", 1)
	}
	return nil
}

// readBack asks any member for the table: it must know of a version that was
// acknowledged.
func (l *lane) readBack(ctx context.Context, table lake.TableName, acked *lakepb.AppendResult) error {
	for _, p := range l.running() {
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		answer, err := p.catalog.GetTable(ctx, &lakepb.GetTableRequest{Name: wireName(table)})
		cancel()
		if err == nil && answer.GetSnapshot().GetVersion() < acked.GetVersion() {
			return fmt.Errorf("version %d was acknowledged, and %s is at version %d", acked.GetVersion(), p.name, answer.GetSnapshot().GetVersion())
		}
	}
	return nil
}

// harm does one thing to one member, the leader as a rule, or to all.
func (l *lane) harm() {
	victim := l.victim()
	if victim == nil {
		l.revive()
		return
	}
	what := l.rng.IntN(12)
	if what >= 10 {
		l.killSuccessor(victim)
		return
	}
	at := l.reachPoint(victim)
	switch {
	case what < 2 && at == "":
		l.note("stopped in order", victim, at)
		_ = victim.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-victim.exited
	case what < 6:
		l.note("killed", victim, at)
		victim.kill()
	case what < 9:
		l.note("paused", victim, at)
		l.pauseFor(victim, at)
		return
	default:
		l.note("killed with all others", victim, at)
		for _, p := range l.running() {
			p.kill()
		}
	}
	if l.rng.IntN(3) > 0 {
		l.wait(100)
		l.revive()
	}
}

// killSuccessor kills the victim and then whoever takes over, in the moment of
// the takeover.
func (l *lane) killSuccessor(victim *process) {
	l.note("killed", victim, "")
	var next *process
	for _, p := range l.running() {
		if p != victim {
			next = p
		}
	}
	victim.kill()
	if next == nil {
		next = l.spawn("a")
	}
	next.arm(tookOver, 1)
	at := point("")
	if next.awaitFor(2*l.config.Lease.TTL, func(r *reported) bool { return r.waiting[tookOver] }) == nil {
		at = tookOver
	}
	l.note("killed", next, at)
	next.kill()
	l.revive()
}

func (l *lane) note(what string, p *process, at point) {
	if at == "" {
		at = "any place"
	}
	l.did = append(l.did, fmt.Sprintf("%s %s at %s", p.name, what, at))
	l.tally.add(what, 1)
	l.tally.add("at "+string(at), 1)
}

func (l *lane) victim() *process {
	members := l.running()
	if l.rng.IntN(4) > 0 {
		for _, p := range members {
			if ask(p, func(r *reported) bool { return r.leads }) {
				return p
			}
		}
	}
	if len(members) == 0 {
		return nil
	}
	return members[0]
}

// reachPoint waits until the member is at a random point, or does nothing and
// returns "": the place is then a random one. A point that is not reached soon
// is let be.
func (l *lane) reachPoint(p *process) point {
	if l.rng.IntN(4) == 0 {
		return ""
	}
	at := points[l.rng.IntN(len(points))]
	p.arm(at, 1+l.rng.IntN(3))
	if p.awaitFor(500*time.Millisecond, func(r *reported) bool { return r.waiting[at] }) == nil {
		return at
	}
	p.arm(at, 0)
	p.release(at) // it may have come there just now
	return ""
}

// pauseFor stops the member for a time between nothing and twice the lease.
func (l *lane) pauseFor(p *process, at point) {
	if p.cmd.Process.Signal(syscall.SIGSTOP) != nil {
		return // it has ended
	}
	time.Sleep(time.Duration(l.rng.Int64N(int64(2 * l.config.Lease.TTL))))
	if l.rng.IntN(2) == 0 && at != "" {
		p.release(at) // before it knows what time it is
		at = ""
	}
	p.resume(l.t)
	if at != "" {
		l.wait(100)
		p.release(at)
	}
}

// finish audits the tables of an era once more, after the last replays, and adds
// up what the clients know of them.
func (l *lane) finish() {
	l.t.Helper()
	l.audit(l.tables)
	for _, table := range l.tables {
		for _, e := range l.ledger.of(table) {
			if e.fate == acked {
				l.tally.add("acknowledged", 1)
			}
		}
	}
}
