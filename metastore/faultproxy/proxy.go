// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package faultproxy is a TCP proxy for tests of metastore backends that talk
// to a server: it loses requests and answers and cuts connections, by plan.
package faultproxy

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"time"
)

// Harm is what happens to a request.
type Harm uint8

// The harms.
const (
	// Pass passes the request on.
	Pass Harm = iota
	// DropRequest closes the connection without passing the request on.
	DropRequest
	// DropAnswer passes the request on and closes the connection when the
	// answer comes.
	DropAnswer
	// Cut closes the connection to the client and then passes the request on:
	// the server may take it, and nobody hears.
	Cut
	// Delay passes the request on after [Options.Wait].
	Delay
)

var harmNames = [...]string{"Pass", "DropRequest", "DropAnswer", "Cut", "Delay"}

// String returns the harm's name.
func (h Harm) String() string {
	if int(h) < len(harmNames) {
		return harmNames[h]
	}
	return fmt.Sprintf("Harm(%d)", uint8(h))
}

// Plan decides about the nth request, from 1.
type Plan func(n int) Harm

// First harms the first n requests.
func First(n int, h Harm) Plan {
	return func(i int) Harm {
		if i <= n {
			return h
		}
		return Pass
	}
}

// Always harms every request in the same way.
func Always(h Harm) Plan { return func(int) Harm { return h } }

// Options say what a proxy takes for a request and for an answer.
type Options struct {
	// Word is what a request contains. Bytes without it just pass.
	Word string
	// Answer makes the detector of answers of one connection, which is given
	// all that the server sends, from the start, in pieces. nil takes any
	// bytes for an answer.
	Answer func() func(piece []byte) bool
	// Wait is the time of [Delay].
	Wait time.Duration
}

// Proxy stands between clients and a server. It is safe for concurrent use.
type Proxy struct {
	opts     Options
	listener net.Listener
	done     sync.WaitGroup

	mu     sync.Mutex
	target string
	plan   Plan
	seen   int
	conns  map[net.Conn]struct{} // nil when closed
}

// Start returns a proxy before target that listens on a port of loopback and
// harms nothing yet. The caller must call Close.
func Start(target string, opts Options) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{opts: opts, listener: listener, target: target, plan: Always(Pass), conns: map[net.Conn]struct{}{}}
	p.done.Go(p.accept)
	return p, nil
}

// Addr is where clients connect.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Harm follows a new plan and counts the requests anew.
func (p *Proxy) Harm(plan Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan, p.seen = plan, 0
}

// Match takes bytes with another word for requests from now on.
func (p *Proxy) Match(word string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opts.Word = word
}

func (p *Proxy) word() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opts.Word
}

// Requests returns how many requests there were since the plan was set.
func (p *Proxy) Requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen
}

// Retarget leads new connections to another server.
func (p *Proxy) Retarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// CutAll closes the connections there are.
func (p *Proxy) CutAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		_ = conn.Close()
	}
}

// Close closes the connections and the listener and waits for the proxy's
// goroutines.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.CutAll()
	p.mu.Lock()
	p.conns = nil
	p.mu.Unlock()
	p.done.Wait()
}

func (p *Proxy) next() Harm {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	return p.plan(p.seen)
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		target := p.target
		p.mu.Unlock()
		server, err := net.Dial("tcp", target)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{proxy: p, client: client, server: server}
		if !p.track(client, server) {
			l.hangUp()
			return
		}
		p.done.Go(l.requests)
		p.done.Go(l.answers)
	}
}

// track reports false when the proxy has been closed.
func (p *Proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns == nil {
		return false
	}
	for _, conn := range conns {
		p.conns[conn] = struct{}{}
	}
	return true
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		delete(p.conns, conn)
	}
}

// words finds a word also where it is split over pieces.
type words struct{ tail []byte }

func (w *words) in(piece []byte, word string) bool {
	seen := append(w.tail, piece...)
	found := word != "" && bytes.Contains(seen, []byte(word))
	keep := min(len(seen), max(len(word)-1, 0))
	if found {
		keep = 0 // one occurrence counts once
	}
	w.tail = append([]byte(nil), seen[len(seen)-keep:]...)
	return found
}
