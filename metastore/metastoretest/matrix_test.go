// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package metastoretest_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/faultproxy"
	"github.com/lakeplane/lake/metastore/faultstore"
)

var update = flag.Bool("update", false, "write the golden files of the fault matrix anew")

// TestFaultMatrix makes every operation on every backend with every fault, and
// compares what the caller is told and what is there afterwards with the table
// in testdata. After each cell, whatever the table says: the records of the
// operation are all there or all not, a caller who was told of success has it,
// and one who was told of anything certain has nothing.
//
// The operations are those of package catalog, whose settling loop is what
// uses a store in anger, and the bare calls of a store.
//
// Columns: the operation; the fault; how many attempts in a row it strikes
// (for a rival, which strikes once, the attempts before are refused); what the
// caller is told; whether the operation applied.
func TestFaultMatrix(t *testing.T) {
	for name, open := range matrixBackends {
		t.Run(name, func(t *testing.T) {
			golden := filepath.Join("testdata", "faults-"+name+".txt")
			got := strings.Join(runMatrix(t, open), "\n") + "\n"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644)) //nolint:gosec // read by everybody
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"), "run with -update if the change is meant")
		})
	}
}

// matrixWorkers run cells at a time, each on a store of its own: most of the
// time is spent in pauses between attempts.
const matrixWorkers = 6

// always is a number of strikes that outlasts every loop.
const always = 1000

// faults are the faults of the matrix in terms of the contract.
var faults = []string{"BeforeSend", "AckLost", "Undetermined", "Conflict", "Throttle", "Race", "Delay"}

// plan is a cell of the matrix that has not run yet.
type plan struct {
	op      operation
	fault   string
	strikes int
}

func (p plan) String() string {
	strikes := fmt.Sprint(p.strikes)
	if p.strikes == always {
		strikes = "always"
	}
	return fmt.Sprintf("%-10s %-13s %-7s", p.op.name, p.fault, strikes)
}

// plans are the cells. A fault that never ends is tried where a loop of the
// catalog writes, where it reads, and on the bare calls.
func plans() (all []plan) {
	for _, op := range operations {
		for _, fault := range faults {
			for _, strikes := range []int{1, 2, always} {
				endless := fault == "Conflict" || fault == "Race" || fault == "Delay" || !op.endless
				if strikes == always && endless {
					continue
				}
				all = append(all, plan{op, fault, strikes})
			}
		}
	}
	return all
}

func runMatrix(t *testing.T, open func(t *testing.T) *site) []string {
	all := plans()
	lines := make([]string, len(all))
	sites := make([]*site, matrixWorkers)
	for w := range sites {
		sites[w] = open(t)
		sites[w].lead(t)
	}
	var workers sync.WaitGroup
	for w, s := range sites {
		workers.Go(func() {
			for i := w; i < len(all); i += matrixWorkers {
				told, applied, err := s.run(t, all[i], i)
				if err != nil {
					t.Errorf("%v: %v", all[i], err)
				}
				lines[i] = fmt.Sprintf("%v %-20s %s", all[i], told, applied)
			}
		})
	}
	workers.Wait()
	return lines
}

// run makes one cell.
func (s *site) run(t *testing.T, p plan, number int) (told, applied string, err error) {
	c := &cell{site: s, ctx: t.Context(), table: lake.TableName{Namespace: fmt.Sprintf("cell-%d-", number), Name: "t"}}
	op, err := p.op.prepare(c)
	if err != nil {
		return "", "", fmt.Errorf("prepare: %w", err)
	}
	c.look()
	rival := func() {
		if e := op.rival(); e != nil {
			t.Errorf("%v: rival: %v", p, e)
		}
		c.look()
	}
	s.arm(p, c.table.Namespace, rival)
	err = op.run()
	attempts := s.disarm()
	told = outcomeOf(p, err, attempts)
	applied, invariant := c.applied(op.writes)
	if invariant == nil {
		invariant = c.check(p, err, applied, op)
	}
	if _, onWire := wireHarms[p.fault]; onWire && s.wire != nil && p.fault == "Undetermined" && told == "SurfacedUnknown" {
		applied = "either" // the server may have read it before it saw the end
	}
	return told, applied, invariant
}

// outcomeOf says in a word what the caller was told.
func outcomeOf(p plan, err error, attempts int) string {
	refuses := slices.Contains([]string{"BeforeSend", "AckLost", "Undetermined", "Throttle"}, p.fault)
	switch {
	case err == nil && attempts > 1:
		return "Retried"
	case err == nil && refuses:
		return "ProvedByRead"
	case err == nil:
		return "NoEffect"
	case isConflict(err):
		return "SurfacedConflict"
	case lake.Is(err, lake.Undetermined):
		return "SurfacedUnknown"
	case errors.Is(err, metastore.ErrRetryable):
		return "SurfacedRetryable"
	}
	return "Surfaced " + err.Error()
}

// isConflict reports whether an error says that others were faster.
func isConflict(err error) bool {
	kinds := []lake.Kind{lake.Conflict, lake.AlreadyExists, lake.Precondition, lake.Fenced}
	return slices.Contains(kinds, lake.KindOf(err))
}

// check holds what must be true of every cell.
func (c *cell) check(p plan, err error, applied string, op prepared) error {
	unknown := err != nil && lake.Is(err, lake.Undetermined)
	switch {
	case op.writes == 0:
		return nil
	case err == nil && applied != "applied":
		return errors.New("told of success, and it is not there")
	case err != nil && !unknown && applied == "applied":
		return fmt.Errorf("told that it did not apply, and it is there: %w", err)
	case op.again == nil || isConflict(err) || p.fault == "Conflict":
		return nil
	}
	// Whatever was told, the same transaction settles it and applies once.
	if e := op.again(); e != nil {
		return fmt.Errorf("repeated: %w", e)
	}
	if again, e := c.applied(op.writes); e != nil || again != "applied" {
		return fmt.Errorf("repeated, and %s: %w", again, e)
	}
	return nil
}

// look remembers the records of the cell as they are.
func (c *cell) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept, c.lookErr = c.records()
}

func (c *cell) records() (map[string]string, error) {
	found := map[string]string{}
	for cursor := ""; ; {
		page, err := c.plain.Scan(c.ctx, "", cursor, metastore.MaxPage)
		if err != nil {
			return nil, err
		}
		for _, rec := range page.Records {
			if strings.Contains(rec.Key, c.table.Namespace) {
				found[rec.Key] = string(rec.Value)
			}
		}
		if cursor = page.Next; cursor == "" {
			return found, nil
		}
	}
}

// applied compares the records with those before: an operation changes all it
// writes or nothing.
func (c *cell) applied(writes int) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	after, err := c.records()
	if err = cmp.Or(err, c.lookErr); err != nil {
		return "", err
	}
	changed := 0
	for key, value := range after {
		if old, there := c.kept[key]; !there || old != value {
			changed++
		}
	}
	for key := range c.kept {
		if _, there := after[key]; !there {
			changed++
		}
	}
	switch changed {
	case 0:
		return "untouched", nil
	case writes:
		return "applied", nil
	}
	return "torn", fmt.Errorf("%d of %d records changed", changed, writes)
}

// armed is a plan of faults that is exchanged for each cell.
type armed struct {
	mu     sync.Mutex
	method faultstore.Method
	fault  func(n int) faultstore.Fault
	calls  int
}

// Next implements [faultstore.Plan].
func (a *armed) Next(call faultstore.Call) faultstore.Fault {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fault == nil || call.Method != a.method {
		return faultstore.Fault{}
	}
	a.calls++
	return a.fault(a.calls)
}

func (a *armed) set(method faultstore.Method, fault func(n int) faultstore.Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.method, a.fault, a.calls = method, fault, 0
}

// wireHarms are the faults that a backend with a server meets on its wire.
var wireHarms = map[string]faultproxy.Harm{
	"BeforeSend": faultproxy.DropRequest, "AckLost": faultproxy.DropAnswer, "Undetermined": faultproxy.Cut, "Delay": faultproxy.Delay,
}

// arm prepares the fault of a cell. What the wire can do is done there; the
// rest by a faulty store, which stands behind the server if that is ours.
func (s *site) arm(p plan, namespace string, rival func()) {
	if s.before != nil {
		s.before(p.strikes)
	}
	if harm, ok := wireHarms[p.fault]; ok && s.wire != nil {
		s.wire.Match(s.word(p.op.method, namespace))
		s.wire.Harm(faultproxy.First(p.strikes, harm))
		s.onWire = true
		return
	}
	if p.fault == "Conflict" {
		rival()
	}
	s.faults.set(p.op.method, func(n int) faultstore.Fault {
		switch {
		case n > p.strikes:
		case p.fault == "Race" && n == p.strikes:
			return faultstore.Fault{Kind: faultstore.Race, Hook: func(context, metastore.Store) { rival() }}
		case p.fault == "Conflict" && n == p.strikes:
		case p.fault == "Race", p.fault == "Conflict":
			return faultstore.Fault{Kind: faultstore.BeforeSend}
		default:
			return faultstore.Fault{Kind: kindNamed(p.fault), Wait: 2 * time.Millisecond}
		}
		return faultstore.Fault{}
	})
}

func kindNamed(name string) faultstore.Kind {
	for _, k := range faultstore.Kinds() {
		if k.String() == name {
			return k
		}
	}
	panic("no fault " + name)
}

// disarm ends the faults and returns how many attempts there were.
func (s *site) disarm() int {
	if s.onWire {
		s.onWire = false
		n := s.wire.Requests()
		s.wire.Harm(faultproxy.Always(faultproxy.Pass))
		return n
	}
	s.faults.mu.Lock()
	n := s.faults.calls
	s.faults.mu.Unlock()
	s.faults.set("", nil)
	return n
}
