// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build robustness && unix

package robustness

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

const (
	histories     = 60 // on all backends together
	atOnce        = 4  // histories beside each other, each with tables of its own
	callers       = 6
	stepsEach     = 14
	tablesOfOne   = 2
	appendsShared = 6 // operations of a table that any caller may send again
)

// TestHistoriesAreLinearizable records what concurrent clients are told by two
// members on shared records, while members are killed and paused and their
// stores lose requests and answers, and looks for an order of the calls that a
// single-threaded authority would have answered in the same way. A call whose
// outcome is unknown may have happened at any later time, or never.
func TestHistoriesAreLinearizable(t *testing.T) {
	start := *seed
	if start == 0 {
		start = rand.Uint64()
	}
	for b, share := range map[backend]int{onPostgres: 2, onDynamoDB: 1} {
		t.Run(string(b), func(t *testing.T) { testHistories(t, b, start, histories*share/3) })
	}
}

func testHistories(t *testing.T, b backend, start uint64, histories int) {
	c := newCluster(t, b, func(cfg *memberConfig) { cfg.Faults, cfg.ObjectFaults, cfg.FaultSeed = 0.04, 0.01, start })
	c.startAll()
	chaos, calm := context.WithCancel(t.Context())
	var trouble, all sync.WaitGroup
	trouble.Go(func() { c.trouble(chaos, rand.New(rand.NewPCG(start, 1000))) })
	recorded := make([][]porcupine.Operation, histories)
	next := make(chan int, histories)
	for i := range histories {
		next <- i
	}
	close(next)
	for range atOnce {
		all.Go(func() {
			for i := range next {
				recorded[i] = newHistory(c, start, i).record()
			}
		})
	}
	all.Wait()
	calm()
	trouble.Wait()
	checkHistories(t, start, recorded)
}

func checkHistories(t *testing.T, start uint64, recorded [][]porcupine.Operation) {
	t.Helper()
	var seen tally
	for i, history := range recorded {
		for _, op := range history {
			seen.add(fmt.Sprint(op.Input.(request).verb, " ", op.Output.(reply).outcome), 1)
		}
		result := porcupine.CheckOperationsTimeout(tableModel.ToModel(), history, time.Minute)
		if result != porcupine.Ok {
			explain(t, history)
		}
		require.Equal(t, porcupine.Ok, result, "history %d of -seed %d", i, start)
	}
	t.Logf("%d histories: %s", len(recorded), &seen)
	for _, must := range []string{"append ok", "append unknown", "create ok", "drop ok", "get ok"} {
		require.NotZero(t, seen.counts[must], must)
	}
}

func explain(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	for _, op := range history {
		t.Logf("client %d [%d, %d] %s", op.ClientId, op.Call, op.Return, tableModel.DescribeOperation(op.Input, op.Output))
	}
}

// trouble kills and pauses members until ctx ends, one at a time, and leaves
// all of them running.
func (c *cluster) trouble(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil {
		sleep(ctx, time.Duration(500+rng.IntN(1500))*time.Millisecond)
		members := c.running()
		if len(members) == 0 || ctx.Err() != nil {
			continue
		}
		p := members[0]
		if rng.IntN(2) == 0 {
			p.kill()
			c.start(p.name)
			continue
		}
		_ = p.cmd.Process.Signal(syscall.SIGSTOP)
		sleep(ctx, time.Duration(rng.Int64N(int64(2*c.config.Lease.TTL))))
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
	}
}

// history is what the callers of a few tables did and were told.
type history struct {
	*cluster
	seed   uint64
	number int
	begin  time.Time
	shared map[string][]*operation // of each table

	mu           sync.Mutex
	operations   []porcupine.Operation
	incarnations map[string]string // of each table, as last heard of
}

func newHistory(c *cluster, seed uint64, number int) *history {
	h := &history{cluster: c, seed: seed, number: number, begin: time.Now(), shared: map[string][]*operation{}, incarnations: map[string]string{}}
	for i := range tablesOfOne {
		name := fmt.Sprintf("h%d-%d", number, i)
		for range appendsShared {
			h.shared[name] = append(h.shared[name], newOperation(c.t, lake.TableName{Namespace: "r", Name: name}, 2))
		}
	}
	return h
}

// record lets the callers work and returns their history.
func (h *history) record() []porcupine.Operation {
	var all sync.WaitGroup
	for client := range callers {
		rng := rand.New(rand.NewPCG(h.seed, uint64(h.number*callers+client)))
		all.Go(func() {
			for range stepsEach {
				h.step(client, rng)
			}
		})
	}
	all.Wait()
	return h.closed()
}

// closed marks the incarnations that no create was answered with.
func (h *history) closed() []porcupine.Operation {
	answered := map[string]bool{}
	for _, op := range h.operations {
		if out := op.Output.(reply); op.Input.(request).verb == createVerb && out.outcome == "ok" {
			answered[out.incarnation] = true
		}
	}
	for i, op := range h.operations {
		out := op.Output.(reply)
		inc := out.incarnation
		if op.Input.(request).verb == dropVerb {
			inc = op.Input.(request).incarnation
		}
		out.foreign = inc != "" && !answered[inc]
		h.operations[i].Output = out
	}
	return h.operations
}

// step makes one call and enters it.
func (h *history) step(client int, rng *rand.Rand) {
	in := request{table: fmt.Sprintf("h%d-%d", h.number, rng.IntN(tablesOfOne))}
	var o *operation
	switch n := rng.IntN(20); {
	case n < 10:
		in.verb, o = appendVerb, h.operation(in.table, rng)
		in.operation = o.command.Operation.String()
	case n < 15:
		in.verb = getVerb
	case n < 18:
		in.verb = createVerb
	default:
		in.verb, in.incarnation = dropVerb, h.heard(in.table)
		if in.incarnation == "" {
			return
		}
	}
	call := time.Since(h.begin)
	out := h.call(in, o)
	h.enter(client, call, in, out)
}

// operation is a new append, or one that others send as well.
func (h *history) operation(table string, rng *rand.Rand) *operation {
	if rng.IntN(2) == 0 {
		return h.shared[table][rng.IntN(appendsShared)]
	}
	return newOperation(h.t, lake.TableName{Namespace: "r", Name: table}, 1)
}

func (h *history) heard(table string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.incarnations[table]
}

// enter adds a call to the history. A read without an answer says nothing.
func (h *history) enter(client int, call time.Duration, in request, out reply) {
	if in.verb == getVerb && out.outcome == "unknown" {
		return
	}
	returned := int64(time.Since(h.begin))
	if out.outcome == "unknown" {
		returned = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: int64(call), Return: returned})
	if out.incarnation != "" {
		h.incarnations[in.table] = out.incarnation
	}
}

// callWindow bounds how long a caller tries.
const callWindow = 3 * time.Second

// call tries members until one of them gives a definite answer. A create is not
// idempotent, so one that may have been applied is not tried again.
func (h *history) call(in request, o *operation) reply {
	ctx, cancel := context.WithTimeout(h.t.Context(), callWindow)
	defer cancel()
	ambiguous := false
	for ctx.Err() == nil {
		for _, p := range h.running() {
			out, err := h.attempt(ctx, p, in, o)
			switch {
			case err == nil:
				return out
			case notLeading(err), lake.Is(err, lake.Exhausted), lake.Is(err, lake.Conflict):
				continue
			case mayHaveApplied(err):
				ambiguous = true
			case !ambiguous:
				return refusal(err)
			default:
				return reply{outcome: "unknown"}
			}
			if in.verb == createVerb {
				return reply{outcome: "unknown"}
			}
		}
		sleep(ctx, 5*time.Millisecond)
	}
	if ambiguous {
		return reply{outcome: "unknown"}
	}
	return reply{outcome: "failed"}
}

// notLeading reports a refusal that comes before anything is done.
func notLeading(err error) bool {
	return lake.Is(err, lake.Unavailable) && (strings.Contains(err.Error(), "not the leader") || strings.Contains(err.Error(), "renew its lease in time"))
}

// refusal puts a definite refusal into the model's words.
func refusal(err error) reply {
	switch lake.KindOf(err) {
	case lake.AlreadyExists:
		return reply{outcome: "exists"}
	case lake.NotFound:
		return reply{outcome: "absent"}
	case lake.Precondition:
		return reply{outcome: "refused"}
	}
	return reply{outcome: "unexpected: " + err.Error()}
}

// attempt makes the call once.
func (h *history) attempt(ctx context.Context, p *process, in request, o *operation) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	name := lake.TableName{Namespace: "r", Name: in.table}
	switch in.verb {
	case appendVerb:
		r, err := p.put(ctx, o)
		return reply{outcome: "ok", incarnation: r.GetIncarnation(), version: r.GetVersion()}, err
	case createVerb:
		inc, err := createTable(ctx, p, name)
		return reply{outcome: "ok", incarnation: inc, version: 1}, err
	case dropVerb:
		inc, err := lake.ParseID(in.incarnation)
		if err != nil {
			return reply{}, err
		}
		return reply{outcome: "ok"}, dropTable(ctx, p, name, inc)
	}
	t, err := p.catalog.GetTable(ctx, &lakepb.GetTableRequest{Name: wireName(name)})
	s := t.GetSnapshot()
	return reply{outcome: "ok", incarnation: s.GetIncarnation(), version: s.GetVersion()}, grpcerr.FromStatus(err)
}
