// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options are the knobs of a server. The zero value is a service without faults.
type Options struct {
	// AccessKey is the one access key that is known. "" knows all.
	AccessKey string
	// TableTime is how long a table is CREATING, and DELETING.
	TableTime time.Duration
	// TransactionTime is how long a transaction is in flight. Its items change one
	// by one, in any order, within that time.
	TransactionTime time.Duration
	// ReplicaLag is how old the state is that reads see which do not ask to be
	// consistent. Set it before anything is written.
	ReplicaLag time.Duration
	// WriteUnits and ReadUnits are what each partition takes in a second. Zero is
	// no bound; [PartitionWriteUnits] and [PartitionReadUnits] are the service's.
	WriteUnits, ReadUnits float64
	// PageItems bounds the items that one page of a query or scan evaluates,
	// whatever its limit says. Zero is no bound.
	PageItems int
	// Fault is asked about each request; nil harms none. It is called without a
	// lock, from many goroutines.
	Fault func(Request) Fault
}

// Call is an operation on a table. The table is "" for all of them together.
type Call struct{ Operation, Table string }

// Server is the emulator. It is safe for concurrent use.
type Server struct {
	listener net.Listener
	http     *http.Server

	mu       sync.Mutex
	opts     Options
	tables   map[string]*table
	tokens   map[string]*attempt
	shift    time.Duration
	moved    chan struct{} // closed when shift changes
	number   int
	requests map[Call]int
	attempts map[[32]byte]int
	cut      bool
	hung     chan struct{} // closed when the server answers again; nil when it does
	conns    map[net.Conn]struct{}

	// serving counts the requests that are being served; idle is told when there
	// are none. closed is closed by Close.
	serving int
	idle    *sync.Cond
	closed  chan struct{}
	stopped chan struct{} // closed when no more connections are taken
}

// Start serves until the test ends.
func Start(tb testing.TB, opts Options) *Server {
	tb.Helper()
	s, err := New(opts)
	if err != nil {
		tb.Fatalf("start dynamotest: %v", err)
	}
	tb.Cleanup(s.Close)
	return s
}

// New serves on a free port of the loopback interface until [Server.Close].
func New(opts Options) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{
		listener: listener,
		opts:     opts,
		tables:   make(map[string]*table),
		tokens:   make(map[string]*attempt),
		requests: make(map[Call]int),
		attempts: make(map[[32]byte]int),
		conns:    make(map[net.Conn]struct{}),
		moved:    make(chan struct{}),
		closed:   make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	s.idle = sync.NewCond(&s.mu)
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ConnState: s.track, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(s.stopped)
		_ = s.http.Serve(listener) // ends with Close
	}()
	return s, nil
}

// URL is the endpoint.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Close stops the server and its connections, and waits for what is being served.
// It must be called once.
func (s *Server) Close() {
	s.Hang(false)
	s.Cut(true)
	close(s.closed)
	_ = s.http.Close() // closes the listener, which nobody writes to
	<-s.stopped
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.serving > 0 {
		s.idle.Wait()
	}
}

// Configure changes knobs while the server runs.
func (s *Server) Configure(change func(*Options)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.opts)
}

// SetFault sets the plan of faults; nil is none.
func (s *Server) SetFault(plan func(Request) Fault) {
	s.Configure(func(o *Options) { o.Fault = plan })
}

// Advance moves the server's clock forward: that of request tokens, transactions in
// flight, lagging reads, throttling and the states of tables. Delays by plan are
// not of this clock.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shift += d
	close(s.moved)
	s.moved = make(chan struct{})
}

// Cut drops every connection, and all new ones until it is called with false. A
// request that is being served is carried out and not answered.
func (s *Server) Cut(cut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut = cut
	if cut {
		for c := range s.conns {
			_ = c.Close()
		}
	}
}

// Restart drops every connection once; tables stay.
func (s *Server) Restart() {
	s.Cut(true)
	s.Cut(false)
}

// Hang keeps requests waiting until it is called with false.
func (s *Server) Hang(hang bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case hang && s.hung == nil:
		s.hung = make(chan struct{})
	case !hang && s.hung != nil:
		close(s.hung)
		s.hung = nil
	}
}

// Requests tells how many requests came, by operation and table. A request that
// names several tables counts for each, and once for the table "".
func (s *Server) Requests() map[Call]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make(map[Call]int, len(s.requests))
	for c, n := range s.requests {
		calls[c] = n
	}
	return calls
}

// ResetRequests begins to count from zero.
func (s *Server) ResetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.requests)
}

// Items are the items of a table as they are, in the order of a scan. Values are
// string, [json.Number], []byte, bool, nil, []any or map[string]any.
func (s *Server) Items(name string) []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []map[string]any{}
	t := s.tables[name]
	if t == nil {
		return items
	}
	for r := range t.scan(nil, segment{}) {
		if it := r.latest(); it != nil {
			items = append(items, value{kind: "M", fields: it}.export().(map[string]any))
		}
	}
	return items
}

// now is the server's time. The caller holds the mutex.
func (s *Server) now() time.Time { return time.Now().Add(s.shift) }

func (s *Server) track(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[c] = struct{}{}
		if s.cut {
			_ = c.Close()
		}
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, c)
	}
}

// abort closes the connection of a request without an answer.
func abort() { panic(http.ErrAbortHandler) }

// enter counts a request as being served until the function it returns is called.
func (s *Server) enter() (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.serving--
		s.idle.Broadcast()
	}
}

// delay waits, but not longer than the server lives.
func (s *Server) delay(d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-s.closed:
		abort()
	}
}

// serve answers one request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	defer s.enter()()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		abort()
	}
	s.wait()
	name, op, err := s.accept(r, body)
	if err != nil {
		s.answer(w, nil, err)
		return
	}
	fault := s.fault(op, name)
	s.delay(fault.Delay)
	switch fault.Harm {
	case CutBefore:
		abort()
	case Refuse:
		s.answer(w, nil, fault.error())
		return
	}
	result, err := op.run(s, &call{conflicts: fault.Conflicts, reasons: fault.Reasons})
	switch fault.Harm {
	case CutAfter:
		abort()
	case FailAfter:
		result, err = nil, fault.error()
	}
	s.answer(w, result, err)
}

// wait holds a request while the server hangs, and drops it while it is cut.
func (s *Server) wait() {
	s.mu.Lock()
	hung := s.hung
	s.mu.Unlock()
	if hung != nil {
		<-hung
	}
	s.mu.Lock()
	cut := s.cut
	s.mu.Unlock()
	if cut {
		abort()
	}
}

// answer writes a result or an error.
func (s *Server) answer(w http.ResponseWriter, result any, err error) {
	status := http.StatusOK
	if err != nil {
		status, result = describe(err)
	}
	body, err := json.Marshal(result)
	if err != nil {
		abort()
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Amzn-RequestId", rand.Text())
	w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	w.WriteHeader(status)
	_, _ = w.Write(body) // who asked may be gone
}

// describe is the answer for an error.
func describe(err error) (int, any) {
	var api *apiError
	if !errors.As(err, &api) {
		api = &apiError{kind: "InternalServerError", message: err.Error()}
	}
	return api.status(), api.wire()
}

// contentType is that of requests and answers.
const contentType = "application/x-amz-json-1.0"

// targetPrefix is the version of the API, in front of an operation's name.
const targetPrefix = "DynamoDB_20120810."

// accept checks the envelope of a request, counts it and reads its body.
func (s *Server) accept(r *http.Request, body []byte) (name string, op operation, err error) {
	name, isTarget := strings.CutPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	s.count(Call{Operation: name})
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/" || !isTarget:
		return "", nil, fail("UnknownOperationException", "send a POST of / with X-Amz-Target: %sOPERATION", targetPrefix)
	case r.Header.Get("Content-Type") != contentType:
		return "", nil, fail("SerializationException", "Content-Type is %q, must be %s", r.Header.Get("Content-Type"), contentType)
	}
	if err := s.authenticate(r.Header); err != nil {
		return "", nil, err
	}
	if op, err = decode(name, body); err != nil {
		return "", nil, err
	}
	seen := map[string]bool{}
	for _, n := range op.named() {
		if !seen[n.table] && n.table != "" {
			seen[n.table] = true
			s.count(Call{name, n.table})
		}
	}
	return name, op, nil
}

func (s *Server) count(c Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Table == "" {
		s.number++
	}
	s.requests[c]++
}
