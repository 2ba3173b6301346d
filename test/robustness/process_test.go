// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/lakeplane/lake/api/lakepb"
)

// patience bounds every wait for something that must happen soon.
const patience = 30 * time.Second

// process is one life of a member, as its parent sees it. It is safe for
// concurrent use.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer // read after the end only
	exited chan struct{}

	conn    *grpc.ClientConn
	catalog lakepb.CatalogClient
	flight  flight.FlightServiceClient
	// sessions are those of writers that share them.
	sessions sessions
	paused   atomic.Bool

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every line
	state   reported
}

// reported is what a member has said.
type reported struct {
	addr    string
	leads   bool
	since   time.Time // when leads last changed
	counts  map[point]int
	armed   map[point]int
	waiting map[point]bool
	commits map[string]int // "advance ok" and the like
	echoes  int
	// namespace is where it serves other Lance clients, if it does.
	namespace string
}

// spawn starts a member without waiting for it.
func spawn(t testing.TB, cfg memberConfig) *process {
	t.Helper()
	return spawnAs(t, memberEnv, cfg)
}

// spawnAs starts a process of the kind that the variable of the environment says.
func spawnAs(t testing.TB, kind string, cfg memberConfig) *process {
	t.Helper()
	config, err := json.Marshal(cfg)
	require.NoError(t, err)
	p := &process{
		name: cfg.Name, exited: make(chan struct{}), changed: make(chan struct{}),
		state: reported{counts: map[point]int{}, armed: map[point]int{}, waiting: map[point]bool{}, commits: map[string]int{}},
	}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), kind+"="+string(config))
	p.cmd.Stderr = io.MultiWriter(&p.stderr, logOutput())
	p.stdin, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	go p.listen(stdout)
	t.Cleanup(func() {
		p.kill()
		for _, bad := range []string{"panic:", "fatal error:", "DATA RACE"} {
			if strings.Contains(p.stderr.String(), bad) {
				t.Errorf("%s broke:\n%s", p.name, p.stderr.String())
			}
		}
	})
	return p
}

// listen follows what the member says until it ends.
func (p *process) listen(stdout io.Reader) {
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		p.mu.Lock()
		p.state.hear(strings.Fields(lines.Text()))
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
	}
	_ = p.cmd.Wait() // killed, as a rule
	close(p.exited)
}

func (r *reported) hear(words []string) {
	if len(words) < 2 {
		return // cut off by a kill
	}
	switch words[0] {
	case "listening":
		r.addr = words[1]
	case "namespace":
		r.namespace = words[1]
	case "leading":
		r.leads, r.since = words[1] == "true", time.Now()
	case "commit":
		r.commits[strings.Join(words[1:], " ")]++
	case "echo":
		r.echoes++
	case "armed":
		r.armed[point(words[1])]++
	case "reached", "waiting":
		if n, err := strconv.Atoi(words[len(words)-1]); err == nil {
			r.counts[point(words[1])] = n
		}
		if words[0] == "waiting" {
			r.waiting[point(words[1])] = true
		}
	}
}

// await waits until the member has said what makes cond true.
func (p *process) await(t testing.TB, what string, cond func(*reported) bool) {
	t.Helper()
	if err := p.awaitFor(patience, cond); err != nil {
		require.FailNow(t, "waiting until "+p.name+" "+what, err)
	}
}

func (p *process) awaitFor(d time.Duration, cond func(*reported) bool) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		p.mu.Lock()
		ok, changed := cond(&p.state), p.changed
		p.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return fmt.Errorf("it did not within %s", d)
		case <-p.exited:
			return fmt.Errorf("it ended: %s", p.stderr.String())
		}
	}
}

// ask reads what the member has said so far.
func ask[T any](p *process, f func(*reported) T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	return f(&p.state)
}

// ready waits until the member listens and connects to it.
func (p *process) ready(t testing.TB) *process {
	t.Helper()
	p.await(t, "listens", func(r *reported) bool { return r.addr != "" })
	addr := ask(p, func(r *reported) string { return r.addr })
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	p.conn, p.catalog, p.flight = conn, lakepb.NewCatalogClient(conn), flight.NewFlightServiceClient(conn)
	return p
}

// leading waits until the member takes writes.
func (p *process) leading(t testing.TB) *process {
	t.Helper()
	p.await(t, "leads", func(r *reported) bool { return r.leads })
	return p
}

// caughtUp returns when everything is heard that the member said before: what it
// says and what it answers to clients come by different ways. One that is paused
// or dead says nothing more.
func (p *process) caughtUp() {
	if p.paused.Load() {
		return
	}
	before := ask(p, func(r *reported) int { return r.echoes })
	p.tell("echo")
	_ = p.awaitFor(patience, func(r *reported) bool { return r.echoes > before })
}

// commits counts the commits that ended so.
func (p *process) commits(what string) int {
	p.caughtUp()
	return ask(p, func(r *reported) int { return r.commits[what] })
}

// conflicts counts the commits of a kind that were refused.
func (p *process) conflicts(kind string) int {
	p.caughtUp()
	return ask(p, func(r *reported) int { return r.conflicts(kind) })
}

func (r *reported) conflicts(kind string) (n int) {
	for what, count := range r.commits {
		if strings.HasPrefix(what, kind+" conflict:") {
			n += count
		}
	}
	return n
}

func (p *process) tell(format string, args ...any) { fmt.Fprintf(p.stdin, format+"\n", args...) }

// arm makes the n-th pass of the point from now wait; 0 lets all pass. It
// returns when the member knows, or is dead.
func (p *process) arm(pt point, n int) {
	before := ask(p, func(r *reported) int { return r.armed[pt] })
	p.tell("arm %s %d", pt, n)
	_ = p.awaitFor(patience, func(r *reported) bool { return r.armed[pt] > before })
}

func (p *process) release(pt point) {
	ask(p, func(r *reported) bool { r.waiting[pt] = false; return true })
	p.tell("release %s", pt)
}

// kill is kill -9, also of a paused member. It returns when the process is
// gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// pause stops every thread of the member, as a virtual machine that is
// migrated or a laptop that is closed would.
func (p *process) pause(t testing.TB) {
	t.Helper()
	p.paused.Store(true)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
}

func (p *process) resume(t testing.TB) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGCONT))
	p.paused.Store(false)
}

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}
