// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// process is one slot, seen from the replica. One statement uses it at a time.
type process struct {
	engine *Engine
	os     *os.Process
	sock   net.Conn
	conn   *slotwire.Conn
	spill  string // its directory, or empty
	shared *segments
	arena  *slotwire.Arena // of the rows that go to it
	stderr *tail
	calm   int64 // bytes of memory when it was ready

	ready      atomic.Bool
	heard      atomic.Int64 // when it last said something, Unix nanoseconds
	pinging    atomic.Bool
	statements int    // used by who holds the slot
	seated     uint64 // what its last statement read, see affinity; 0 for nothing. Under the engine's lock, or of who holds the slot
	current    atomic.Pointer[statement]
	pumps      sync.WaitGroup // goroutines that write to the segment

	dead   chan struct{} // closed when it has ended and death is set
	mu     sync.Mutex
	fate   *fate // why it is being ended, if that was decided here
	killed bool
	death  error
}

// fate is why a slot is ended: a reason for the metrics, and the error of the
// statement that ran. A nil error is no failure of a statement's.
type fate struct {
	reason string
	err    error
}

func retire(reason string, err error) *fate { return &fate{reason, err} }

// alive reports whether the slot may be given a statement.
func (p *process) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.killed
}

// kill ends the process. The first fate given stands; nil means an orderly end.
func (p *process) kill(why *fate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return
	}
	p.killed = true
	if why == nil {
		why = retire("", nil)
	}
	p.fate = why
	_ = p.os.Kill()
	_ = p.sock.Close()
}

// receive reads what the slot says until it ends, and then cleans up after it.
// It never waits for anything but the slot.
func (p *process) receive() {
	var err error
	for err == nil {
		var f slotwire.Frame
		if f, err = p.conn.Receive(); err == nil {
			p.heard.Store(time.Now().UnixNano())
			err = p.handle(f)
		}
	}
	p.bury(err)
}

// handle acts on one frame. An error is a breach of the protocol.
func (p *process) handle(f slotwire.Frame) error {
	st := p.current.Load()
	if f.Kind == slotwire.KindPong || st == nil || st.id != f.Statement {
		return nil // late, or about nothing
	}
	st.heard.Store(true)
	switch f.Kind {
	case slotwire.KindScan:
		return st.openScan(f.Body)
	case slotwire.KindScanEnd:
		return st.closeScan(f.Body)
	case slotwire.KindTaken:
		return st.taken(f.Body)
	case slotwire.KindSchema, slotwire.KindResult, slotwire.KindEnd:
		return st.event(f)
	}
	return lake.Errorf(lake.Corrupt, "a frame of kind %d", f.Kind)
}

// bury waits for the end of a process whose socket ended, and tells why.
func (p *process) bury(err error) {
	var breach *lake.Error
	if errors.As(err, &breach) {
		p.kill(retire("protocol", lake.Errorf(lake.Unknown, "the engine process running the query did not keep to the protocol: %w", err)))
	}
	p.mu.Lock()
	p.killed = true
	_ = p.os.Kill() // it may only have closed its socket; one that crashed keeps its status
	_ = p.sock.Close()
	p.mu.Unlock()
	state, waitErr := p.os.Wait()
	p.stderr.wait()
	reason := p.judge(state, waitErr)
	if reason != "" {
		p.engine.metrics.restarts.WithLabelValues(reason).Inc()
		level := slog.LevelWarn
		if reason == "age" {
			level = slog.LevelInfo
		}
		p.engine.opts.Log.Log(context.Background(), level, "an engine slot ended", "pool", p.engine.opts.Name, "pid", p.os.Pid, "reason", reason, "error", p.death, "stderr", p.stderr.String())
	}
	close(p.dead)
	p.engine.forget(p)
	if p.spill != "" {
		_ = os.RemoveAll(p.spill)
	}
	p.shared.close()
}

// pump runs f on a goroutine that writes to the segment. Who calls it, a
// statement or another pump, keeps the memory mapped meanwhile, and f does from
// then on: as long as it takes, where a table does not end its scan.
func (p *process) pump(f func()) {
	p.shared.enter()
	p.pumps.Go(func() {
		defer p.shared.leave()
		f()
	})
}

// errKilled is the end of a statement by somebody else's hand.
var errKilled = lake.Errorf(lake.Unavailable, "the engine process running the query was killed: run it again")

// judge finds out why the process ended.
func (p *process) judge(state *os.ProcessState, waitErr error) (reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.fate != nil:
		p.death = p.fate.err
		if p.death == nil {
			p.death = errClosed
		}
		return p.fate.reason
	case waitErr != nil:
		p.death = lake.Errorf(lake.Unknown, "the engine process running the query is lost: %w", waitErr)
		return "lost"
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() && ws.Signal() == syscall.SIGKILL {
		// Nobody here did it: an operator, or the kernel short of memory.
		p.death = errKilled
		return "killed"
	}
	p.death = lake.Errorf(lake.Unknown, "the engine process running the query failed (%s): the statement made the engine fail, other queries go on", state)
	return "crash"
}

// tail keeps the begin and the end of what a slot wrote to its standard error.
type tail struct {
	r    io.ReadCloser
	done chan struct{}
	mu   sync.Mutex
	head []byte // a crash says first what happened
	b    []byte // and last where
}

// maxTail is how much is kept of the begin and of the end.
const maxTail = 2 << 10

func newTail(r io.ReadCloser) *tail {
	t := &tail{r: r, done: make(chan struct{})}
	go t.follow()
	return t
}

func (t *tail) follow() {
	defer close(t.done)
	buf := make([]byte, 4<<10)
	for {
		n, err := t.r.Read(buf)
		t.mu.Lock()
		first := min(n, maxTail-len(t.head))
		t.head = append(t.head, buf[:first]...)
		t.b = append(t.b, buf[first:n]...)
		t.b = t.b[max(0, len(t.b)-maxTail):]
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// wait waits for the end of what was written; the process has ended.
func (t *tail) wait() {
	<-t.done
	_ = t.r.Close()
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.head)+string(t.b), "?")
}
