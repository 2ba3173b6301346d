// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastoretest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
)

// Histories says how [RunHistories] exercises a store. Zero fields take their
// defaults.
type Histories struct {
	// Seeds is the number of histories. Default: 50.
	Seeds int
	// Clients are concurrent callers of one history. Default: 6. More than 12
	// make the search for an order too long.
	Clients int
	// Steps are the calls of each client. Default: 12.
	Steps int
	// Attempts bounds how often a commit of unknown outcome is repeated with
	// its token. Default: 3.
	Attempts int
	// Parallel is how many histories run at once, each on records of its own.
	// Most of their time is spent waiting for a disk or a server. Default: 5.
	Parallel int
}

// RunHistories records what concurrent clients see of a few records, by reads of
// one and, where the store can, of all at one moment, by creates, updates,
// guarded updates and deletes, and requires that every
// history is linearizable: there is an order of the calls, each within its own
// time, that a single-threaded store would answer in the same way. Commits
// whose outcome stays unknown may have happened at any later time, or never.
//
// A factory that wraps its store in faults gives the histories their teeth.
func RunHistories(t *testing.T, open Factory, h Histories) {
	orDefault(&h.Seeds, 50)
	orDefault(&h.Clients, 6)
	orDefault(&h.Steps, 12)
	orDefault(&h.Attempts, 3)
	orDefault(&h.Parallel, 5)
	s := open(t)
	histories := make([][]porcupine.Operation, h.Seeds)
	var next atomic.Int64
	var all sync.WaitGroup
	for range h.Parallel {
		all.Go(func() {
			for seed := int(next.Add(1)) - 1; seed < h.Seeds; seed = int(next.Add(1)) - 1 {
				rec := &recorder{t: t, store: s, h: h, seed: uint64(seed), start: time.Now()}
				histories[seed] = rec.run()
			}
		})
	}
	all.Wait()
	checkHistories(t, histories)
}

// checkHistories requires that each is linearizable, and that together they
// have what makes a check worth its name.
func checkHistories(t *testing.T, histories [][]porcupine.Operation) {
	t.Helper()
	tally := map[string]int{}
	for seed, history := range histories {
		for _, op := range history {
			tally[op.Output.(answer).outcome]++
		}
		result := porcupine.CheckOperationsTimeout(recordsModel, history, time.Minute)
		if result != porcupine.Ok {
			explain(t, history)
		}
		require.Equal(t, porcupine.Ok, result, "seed %d: not linearizable", seed)
	}
	t.Logf("%d histories: %v", len(histories), tally)
	require.NotZero(t, tally["applied"])
	require.NotZero(t, tally["conflict"])
}

func orDefault(field *int, value int) {
	if *field == 0 {
		*field = value
	}
}

func explain(t *testing.T, history []porcupine.Operation) {
	t.Helper()
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	for _, op := range history {
		t.Logf("client %d [%d, %d] %s", op.ClientId, op.Call, op.Return, recordsModel.DescribeOperation(op.Input, op.Output))
	}
}

// historyKeys is how many records a history has. Few records make conflicts.
const historyKeys = 3

// world is the state of the model: the value of each record, empty for absent.
type world [historyKeys]string

// call is one step of a client: a read of one record or of all, or a commit.
type call struct {
	read int // index of the record, readAll, or -1
	ops  []step
}

// readAll is the read of every record as of one moment.
const readAll = historyKeys

// step is an operation of a commit. An empty expect is "absent", an empty
// value with Put cannot be.
type step struct {
	key    int
	expect string
	effect metastore.Effect
	value  string
}

// answer is what the client was told.
type answer struct {
	outcome string // read, read all, applied, conflict or unknown
	value   string // read: the value, empty for absent
	all     world  // read all: the values
	key     int    // conflict: the record that is named
}

var recordsModel = porcupine.Model{
	Init: func() any { return world{} },
	Step: func(state, input, output any) (bool, any) {
		return state.(world).step(input.(call), output.(answer))
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v → %+v", input, output) },
}

func (w world) step(c call, a answer) (bool, world) {
	switch a.outcome {
	case "read":
		return w[c.read] == a.value, w
	case "read all":
		return w == a.all, w
	case "conflict":
		i := slices.IndexFunc(c.ops, func(s step) bool { return s.key == a.key })
		return i >= 0 && w[a.key] != c.ops[i].expect, w
	case "applied":
		return w.holds(c), w.after(c)
	}
	// Unknown: its time never ends, so one that did not happen stands behind
	// everything that was observed.
	if w.holds(c) {
		return true, w.after(c)
	}
	return true, w
}

func (w world) holds(c call) bool {
	return !slices.ContainsFunc(c.ops, func(s step) bool { return w[s.key] != s.expect })
}

func (w world) after(c call) world {
	for _, s := range c.ops {
		switch s.effect {
		case metastore.Put:
			w[s.key] = s.value
		case metastore.Delete:
			w[s.key] = ""
		}
	}
	return w
}

// recorder makes one history.
type recorder struct {
	t     *testing.T
	store metastore.Store
	h     Histories
	seed  uint64
	start time.Time

	mu      sync.Mutex
	history []porcupine.Operation
}

func (r *recorder) run() []porcupine.Operation {
	var all sync.WaitGroup
	for c := range r.h.Clients {
		all.Go(func() {
			client := client{recorder: r, id: c, rng: rand.New(rand.NewPCG(r.seed, uint64(c)))}
			for i := range r.h.Steps {
				client.act(i)
			}
		})
	}
	all.Wait()
	return r.history
}

func (r *recorder) key(i int) string { return fmt.Sprintf("h/%d/%d", r.seed, i) }

// client remembers what it saw last, which is what it expects.
type client struct {
	*recorder
	id   int
	rng  *rand.Rand
	seen world
}

func (c *client) act(i int) {
	key := c.rng.IntN(historyKeys)
	value := fmt.Sprintf("%d.%d", c.id, i)
	replace := step{key, c.seen[key], metastore.Put, value}
	guard := (key + 1) % historyKeys
	switch c.rng.IntN(7) {
	case 0, 1:
		c.do(call{read: key}, "")
	case 6:
		if _, ok := c.store.(metastore.Snapshotter); ok {
			key = readAll
		}
		c.do(call{read: key}, "")
	case 2, 3:
		c.do(call{-1, []step{replace}}, value)
	case 4:
		c.do(call{-1, []step{replace, {guard, c.seen[guard], metastore.Keep, ""}}}, value)
	case 5:
		if c.seen[key] == "" {
			c.do(call{read: key}, "")
			return
		}
		c.do(call{-1, []step{{key, c.seen[key], metastore.Delete, ""}}}, value)
	}
}

// do makes a call, with its repetitions, and records it as one.
func (c *client) do(in call, token string) {
	begin := time.Since(c.start).Nanoseconds()
	out, record := c.read(in)
	if in.read < 0 {
		out, record = c.commit(in, fmt.Sprintf("%d-%s", c.seed, token))
	}
	if !record {
		return // certainly without effect
	}
	end := time.Since(c.start).Nanoseconds()
	if out.outcome == "unknown" {
		end = math.MaxInt64
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, porcupine.Operation{ClientId: c.id, Input: in, Call: begin, Output: out, Return: end})
}

func (c *client) read(in call) (answer, bool) {
	switch in.read {
	case -1:
		return answer{}, false
	case readAll:
		return c.readAll()
	}
	rec, err := c.store.Get(context.Background(), c.key(in.read))
	if err != nil && !errors.Is(err, metastore.ErrNotFound) {
		if !errors.Is(err, metastore.ErrRetryable) {
			c.t.Errorf("get: %v", err)
		}
		return answer{}, false
	}
	c.seen[in.read] = string(rec.Value)
	return answer{outcome: "read", value: string(rec.Value)}, true
}

func (c *client) readAll() (answer, bool) {
	keys := make([]string, historyKeys)
	for i := range keys {
		keys[i] = c.key(i)
	}
	found, err := c.store.(metastore.Snapshotter).GetAll(context.Background(), keys)
	if err != nil {
		if !errors.Is(err, metastore.ErrRetryable) {
			c.t.Errorf("get all: %v", err)
		}
		return answer{}, false
	}
	for i, key := range keys {
		c.seen[i] = string(found[key].Value)
	}
	return answer{outcome: "read all", all: c.seen}, true
}

func (c *client) commit(in call, token string) (answer, bool) {
	txn := c.txn(in, token)
	unknown := false
	for range c.h.Attempts {
		err := c.store.Commit(context.Background(), txn)
		var conflict *metastore.ConflictError
		switch {
		case err == nil:
			c.seen = c.seen.after(in)
			return answer{outcome: "applied"}, true
		case errors.As(err, &conflict) && !unknown:
			return c.conflict(in, conflict), true
		case errors.As(err, &conflict):
			// The attempt that is repeated may be under way still, and this
			// one lost to it or to somebody else.
			return answer{outcome: "unknown"}, true
		case errors.Is(err, metastore.ErrUnknownOutcome):
			unknown = true
		case !errors.Is(err, metastore.ErrRetryable):
			c.t.Errorf("commit: %v", err)
			return answer{outcome: "unknown"}, true
		}
	}
	return answer{outcome: "unknown"}, unknown
}

func (c *client) conflict(in call, conflict *metastore.ConflictError) answer {
	for _, s := range in.ops {
		if c.key(s.key) == conflict.Key {
			if conflict.Known {
				c.seen[s.key] = string(conflict.Current)
			}
			return answer{outcome: "conflict", key: s.key}
		}
	}
	c.t.Errorf("conflict names %q, which is not in the transaction", conflict.Key)
	return answer{outcome: "unknown"}
}

func (c *client) txn(in call, token string) metastore.Txn {
	txn := metastore.Txn{Token: token}
	for _, s := range in.ops {
		op := metastore.Op{Key: c.key(s.key), Effect: s.effect}
		if s.expect != "" {
			op.Expect = []byte(s.expect)
		}
		if s.effect == metastore.Put {
			op.Value = []byte(s.value)
		}
		txn.Ops = append(txn.Ops, op)
	}
	return txn
}
