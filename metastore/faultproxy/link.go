// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"net"
	"sync/atomic"
	"time"
)

// link is one connection through the proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	deaf           atomic.Bool // the next answer is dropped
}

// requests passes on what the client sends.
func (l *link) requests() {
	defer l.hangUp()
	var found words
	buf := make([]byte, 1<<20)
	for {
		n, err := l.client.Read(buf)
		if err != nil {
			return
		}
		h := Pass
		if found.in(buf[:n], l.proxy.word()) {
			h = l.proxy.next()
		}
		switch h {
		case DropRequest:
			return
		case DropAnswer:
			l.deaf.Store(true)
		case Cut:
			_ = l.client.Close()
		case Delay:
			time.Sleep(l.proxy.opts.Wait)
		}
		if _, err := l.server.Write(buf[:n]); err != nil || h == Cut {
			return
		}
	}
}

func (l *link) answers() {
	defer l.hangUp()
	isAnswer := func([]byte) bool { return true }
	if l.proxy.opts.Answer != nil {
		isAnswer = l.proxy.opts.Answer()
	}
	buf := make([]byte, 1<<16)
	for {
		n, err := l.server.Read(buf)
		answered := isAnswer(buf[:n])
		if l.deaf.Load() && (answered || err != nil) {
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
	l.proxy.forget(l.client, l.server)
}
