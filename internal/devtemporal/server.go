// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devtemporal

import (
	"context"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/lakeplane/lake/lake"
)

const (
	// minBackoff and maxBackoff bound the pause before a dead child is started
	// again; it doubles from one death to the next.
	minBackoff = 100 * time.Millisecond
	maxBackoff = 10 * time.Second
	// stableAfter is how long a child must live for its death to count as the
	// first of a new series.
	stableAfter = 30 * time.Second
)

// Server is a supervised Temporal server. Its methods are safe for concurrent
// use.
type Server struct {
	opts  Options
	ready Ready
	log   *os.File

	stopOnce sync.Once
	stopping context.Context // ends when Stop is called
	stop     context.CancelFunc
	grace    time.Duration // set before stopping ends
	done     chan struct{} // closed when the supervisor has ended
	stopErr  error         // set before done is closed

	mu       sync.Mutex
	current  *child
	restarts int
}

// Start runs the server and returns when it is usable: the namespace exists
// with Lake's search attributes, the frontend answers and the UI listens. A
// taken port is refused at once with a *PortTakenError of kind
// lake.Precondition. From then on a child that dies is started again, on the
// same ports and file, until Stop. ctx bounds only the start.
func Start(ctx context.Context, opts Options) (*Server, error) {
	opts = opts.withDefaults()
	if !isExecutable(opts.Binary) {
		return nil, lake.Errorf(lake.Invalid, "start Temporal: binary %q is not an executable file", opts.Binary)
	}
	if err := opts.checkPorts(); err != nil {
		return nil, err
	}
	log, err := opts.openLog()
	if err != nil {
		return nil, lake.Wrap("start Temporal: open log", err)
	}
	s := &Server{opts: opts, log: log, done: make(chan struct{})}
	s.stopping, s.stop = context.WithCancel(context.Background())
	c, ready, err := s.startChild(ctx)
	if err != nil {
		s.stop()
		_ = log.Close()
		return nil, &lake.Error{Kind: lake.Unavailable, Op: "start Temporal", Err: err}
	}
	s.ready, s.current = ready, c
	s.keepPorts()
	go s.supervise(c)
	return s, nil
}

// keepPorts makes the ports of the first child those of every later one, so
// that clients find the server again.
func (s *Server) keepPorts() {
	s.opts.Port = portOf(s.ready.Address)
	if u, err := url.Parse(s.ready.UI); err == nil && s.ready.UI != "" {
		s.opts.UIPort = portOf(u.Host)
	}
}

func portOf(address string) int {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(port)
	return n
}

// startChild spawns and waits for the ready line.
func (s *Server) startChild(ctx context.Context) (*child, Ready, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.StartTimeout)
	defer cancel()
	c, err := spawn(s.opts, s.log)
	if err != nil {
		return nil, Ready{}, err
	}
	select {
	case r := <-c.ready:
		return c, r, nil
	case <-c.exited:
		return nil, Ready{}, c.endOf(s.opts.LogFile)
	case <-ctx.Done():
		_ = c.stop(time.Second)
		return nil, Ready{}, ctx.Err()
	}
}

// Address is the frontend's host and port, the same for the server's life.
func (s *Server) Address() string { return s.ready.Address }

// Namespace is the namespace to use.
func (s *Server) Namespace() string { return s.ready.Namespace }

// UI is the web UI's URL, or empty when there is none.
func (s *Server) UI() string { return s.ready.UI }

// LogFile is where the server's log is, or empty.
func (s *Server) LogFile() string { return s.opts.LogFile }

// PID is the process id of the current child, or 0 between two.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return 0
	}
	return s.current.cmd.Process.Pid
}

// Restarts counts how often a dead child was replaced by one that got ready.
func (s *Server) Restarts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.restarts
}

// Stop ends the server: orderly within grace, then by force, which loses
// nothing acknowledged but is reported as an error. Later calls wait for the
// first and return the same.
func (s *Server) Stop(grace time.Duration) error {
	s.stopOnce.Do(func() {
		s.grace = grace
		s.stop()
	})
	<-s.done
	return s.stopErr
}

// supervise replaces children until Stop.
func (s *Server) supervise(c *child) {
	defer close(s.done)
	defer s.log.Close()
	backoff := minBackoff
	for born := time.Now(); ; born = time.Now() {
		select {
		case <-s.stopping.Done():
			s.stopErr = c.stop(s.grace)
			return
		case <-c.exited:
		}
		s.setCurrent(nil)
		if time.Since(born) > stableAfter {
			backoff = minBackoff
		}
		s.opts.Logger.Warn("Temporal server died; starting it again", "after", backoff, "error", c.endOf(s.opts.LogFile))
		if c = s.replace(&backoff); c == nil {
			return
		}
	}
}

// replace starts children until one is ready; nil means that Stop was called.
func (s *Server) replace(backoff *time.Duration) *child {
	for {
		select {
		case <-s.stopping.Done():
			return nil
		case <-time.After(*backoff):
		}
		*backoff = min(*backoff*2, maxBackoff)
		c, _, err := s.startChild(s.stopping)
		if err == nil {
			s.setCurrent(c)
			return c
		}
		s.opts.Logger.Warn("Temporal server did not start", "retry_after", *backoff, "error", err)
	}
}

func (s *Server) setCurrent(c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = c
	if c != nil {
		s.restarts++
	}
}
