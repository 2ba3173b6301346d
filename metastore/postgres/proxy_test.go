// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package postgres

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// harm is what the proxy does to a query.
type harm int

const (
	pass        harm = iota
	dropRequest      // closes the connection without passing the query on
	dropAnswer       // passes the query on and closes when the answer comes
	cut              // passes the query on and closes at once
)

// proxy stands between a store and its server and harms the queries that
// contain a word.
type proxy struct {
	target   string
	listener net.Listener
	word     []byte

	mu    sync.Mutex
	plan  func(n int) harm // for the nth query with the word, from 1
	seen  int
	conns map[net.Conn]struct{}
	done  sync.WaitGroup
}

func newProxy(t *testing.T, target, word string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{target: target, listener: listener, word: []byte(word), plan: func(int) harm { return pass }, conns: map[net.Conn]struct{}{}}
	p.done.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// through returns a DSN that leads through the proxy.
func (p *proxy) through(dsn string) string {
	return strings.Replace(dsn, p.target, p.listener.Addr().String(), 1)
}

// harmNext starts counting anew.
func (p *proxy) harmNext(plan func(n int) harm) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan, p.seen = plan, 0
}

func first(h harm) func(int) harm {
	return func(n int) harm {
		if n == 1 {
			return h
		}
		return pass
	}
}

func always(h harm) func(int) harm { return func(int) harm { return h } }

func (p *proxy) next() harm {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen++
	return p.plan(p.seen)
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		srv, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.track(client, srv)
		link := &link{proxy: p, client: client, server: srv}
		p.done.Go(link.requests)
		p.done.Go(link.answers)
	}
}

func (p *proxy) track(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		p.conns[conn] = struct{}{}
	}
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.done.Wait()
}

// link is one connection through the proxy.
type link struct {
	*proxy
	client, server net.Conn

	mu   sync.Mutex
	deaf bool // the next answer is dropped
}

// requests passes on what the client sends. A query of the store is small and
// arrives in one read.
func (l *link) requests() {
	defer l.hangUp()
	buf := make([]byte, 1<<20)
	for {
		n, err := l.client.Read(buf)
		if err != nil {
			return
		}
		h := pass
		if bytes.Contains(buf[:n], l.word) {
			h = l.next()
		}
		if h == dropRequest {
			return
		}
		if h == dropAnswer {
			l.mu.Lock()
			l.deaf = true
			l.mu.Unlock()
		}
		if _, err := l.server.Write(buf[:n]); err != nil || h == cut {
			return
		}
	}
}

func (l *link) answers() {
	defer l.hangUp()
	buf := make([]byte, 1<<16)
	for {
		n, err := l.server.Read(buf)
		l.mu.Lock()
		deaf := l.deaf
		l.mu.Unlock()
		if deaf || err != nil && !errors.Is(err, io.EOF) {
			return
		}
		if _, werr := l.client.Write(buf[:n]); werr != nil || err != nil {
			return
		}
	}
}

func (l *link) hangUp() {
	_ = l.client.Close()
	_ = l.server.Close()
}
