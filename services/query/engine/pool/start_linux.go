// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine/slot"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// Supported says whether slots work on this system; nil means yes.
func Supported() error { return nil }

// start makes a slot and waits until it is ready.
func (e *Engine) start() (_ *process, err error) {
	began := time.Now()
	defer func() {
		if err != nil {
			e.mu.Lock()
			e.failed = time.Now()
			e.mu.Unlock()
		}
	}()
	p, err := e.spawn()
	if err != nil {
		e.metrics.restarts.WithLabelValues("start").Inc()
		e.opts.Log.Error("an engine slot cannot be started", "pool", e.opts.Name, "error", err)
		return nil, lake.Errorf(lake.Unavailable, "the query engine cannot start a process: %w", err)
	}
	ready, err := p.greet()
	if err != nil {
		p.kill(retire("start", err))
		p.bury(err)
		return nil, lake.Errorf(lake.Unavailable, "the query engine's process does not start: %w: %s", err, bytes.TrimSpace([]byte(p.stderr.String())))
	}
	p.calm = p.memory()
	p.boundMemory()
	p.heard.Store(time.Now().UnixNano())
	p.ready.Store(true)
	e.work.Go(p.receive)
	e.metrics.started.Observe(time.Since(began).Seconds())
	e.opts.Log.Debug("an engine slot is ready", "pool", e.opts.Name, "pid", p.os.Pid, "filtered", ready.Filtered, "landlock", landlockVersion(), "memory", p.calm)
	return p, nil
}

// spawn starts the process and takes it into the pool.
func (e *Engine) spawn() (_ *process, err error) {
	p := &process{engine: e, dead: make(chan struct{})}
	defer func() {
		if err != nil {
			p.abandon()
		}
	}()
	if e.opts.SpillDir != "" {
		if p.spill, err = os.MkdirTemp(e.opts.SpillDir, "slot-*"); err != nil {
			return nil, fmt.Errorf("spill directory: %w", err)
		}
	}
	if p.shared, err = newSegments(); err != nil {
		return nil, err
	}
	p.arena = slotwire.NewArena(p.shared.rows)
	if err := p.exec(); err != nil {
		return nil, err
	}
	p.conn = slotwire.NewConn(p.sock)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all[p] = true
	return p, nil
}

// abandon takes back what a failed start had.
func (p *process) abandon() {
	if p.spill != "" {
		_ = os.RemoveAll(p.spill)
	}
	if p.shared != nil {
		p.shared.close()
	}
}

// exec starts the program with nothing but its descriptors.
func (p *process) exec() error {
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer func() { _ = theirs.Close() }()
	errOut, errIn, err := os.Pipe()
	if err != nil {
		_ = ours.Close()
		return err
	}
	defer func() { _ = errIn.Close() }()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		_, _ = ours.Close(), errOut.Close()
		return err
	}
	defer func() { _ = null.Close() }()
	command := p.engine.opts.Command
	if len(command) == 0 {
		// Not the path: the file there may be a newer release by now.
		command = []string{"/proc/self/exe", slot.Argument}
	}
	attr := &os.ProcAttr{
		Dir:   "/",
		Env:   []string{}, // it has no use for any of ours, least of all secrets
		Files: []*os.File{null, null, errIn, theirs, p.shared.rowsFile, p.shared.resultsFile},
		// A group of its own: an interrupt at the terminal is for the parent,
		// which lets statements end.
		Sys: &syscall.SysProcAttr{Setpgid: true},
	}
	if p.os, err = startConfined(command, attr, p.spill); err != nil {
		_, _ = ours.Close(), errOut.Close()
		return err
	}
	p.sock, p.stderr = ours, newTail(errOut)
	return nil
}

func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	file, theirs := os.NewFile(uintptr(fds[0]), "slot"), os.NewFile(uintptr(fds[1]), "replica")
	ours, err := net.FileConn(file)
	_ = file.Close()
	if err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("socket pair: %w", err)
	}
	return ours, theirs, nil
}

// timerSlack is by how much a slot's timers may be late, in nanoseconds. The Go
// runtime of a process at work looks after its threads every 20 µs, in a short
// statement as often as it does anything else.
const timerSlack = 500_000

// startConfined starts a program under restrictions that a thread can only put
// on itself, and never take off: so the thread ends with this function.
func startConfined(command []string, attr *os.ProcAttr, spill string) (*os.Process, error) {
	type started struct {
		p   *os.Process
		err error
	}
	done := make(chan started)
	go func() {
		runtime.LockOSThread() // and never unlock: the runtime then ends the thread
		var s started
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0) // not needed for anything to work
		if s.err = restrict(spill); s.err == nil {
			s.p, s.err = os.StartProcess(command[0], append([]string{"lake"}, command[1:]...), attr)
		}
		done <- s
	}()
	s := <-done
	return s.p, s.err
}

// greet exchanges the first frames.
func (p *process) greet() (ready slotwire.Ready, err error) {
	if err := p.sock.SetDeadline(time.Now().Add(slotwire.StartTimeout)); err != nil {
		return ready, err
	}
	var hello slotwire.Hello
	if err := p.expect(slotwire.KindHello, &hello); err != nil {
		return ready, err
	}
	if hello.Version != slotwire.Version {
		return ready, lake.Errorf(lake.Corrupt, "it speaks version %d of the protocol and not %d", hello.Version, slotwire.Version)
	}
	o := p.engine.opts
	setup := slotwire.Setup{Threads: o.Threads, Memory: o.Memory, SpillDir: p.spill, SpillBytes: o.SpillBytes, Catalog: o.Catalog}
	if err := p.conn.Send(slotwire.KindSetup, 0, slotwire.JSON(setup)); err != nil {
		return ready, err
	}
	if err := p.expect(slotwire.KindReady, &ready); err != nil {
		return ready, err
	}
	return ready, p.sock.SetDeadline(time.Time{})
}

func (p *process) expect(kind slotwire.Kind, v any) error {
	f, err := p.conn.Receive()
	if err != nil {
		return err
	}
	if f.Kind != kind {
		return lake.Errorf(lake.Corrupt, "a frame of kind %d where %d was expected", f.Kind, kind)
	}
	return slotwire.ReadJSON(f.Body, v)
}

// boundMemory sets the kernel's own limit on the slot's private memory, far
// above the one that is watched: it holds where watching is too slow. What the
// process has mapped by now does not count. It also is the first to go when
// the machine is short of memory. Neither is needed for anything to work.
func (p *process) boundMemory() {
	pid := p.os.Pid
	most := uint64(p.status("VmData:") + 2*p.engine.opts.Resident + 1<<30)
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most}, nil)
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("800"), 0)
}

// memory is what the slot has in memory of its own, in bytes. The segments are
// shared and not counted: their use is bounded, and the replica's.
func (p *process) memory() int64 { return p.status("RssAnon:") }

// status reads a size from what the kernel says of the process; 0 when it is
// gone.
func (p *process) status(name string) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.os.Pid))
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(b, []byte("\n"+name))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	kib, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(line, []byte("kB")))), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
