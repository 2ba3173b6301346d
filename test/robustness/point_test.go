// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// point names a place in the life of a member where it can be made to wait.
type point string

// The points, in the order an append passes them.
const (
	received       point = "received"        // the payload has arrived, nothing is staged
	dataWritten    point = "data-written"    // the data file has no name yet
	dataStaged     point = "data-staged"     // window 1: no manifest names the data
	manifestStaged point = "manifest-staged" // window 2: the commit has not been sent
	committed      point = "committed"       // window 3: the manifest has no final name
	finalNamed     point = "final-named"     // the final name is there, the version counts as unpublished
	published      point = "published"       // window 4: the client has no answer
	answering      point = "answering"       // the answer is about to be sent

	renewing point = "renewing" // a renewal of the lease is about to be sent
	renewed  point = "renewed"
	tookOver point = "took-over" // the takeover is committed and not yet believed
	begun    point = "begun"     // version 1 of a table is staged, and the table not registered
	created  point = "created"   // a table is registered and its version 1 not published
	dropped  point = "dropped"   // a table has its tombstone, its procedure was not started
)

// gate is the member's side: its wrappers say where they are, and wait there
// when the point is armed. It is safe for concurrent use.
type gate struct {
	mu      sync.Mutex
	out     io.Writer
	counts  map[point]int
	armed   map[point]int // passes until the one that waits
	waiting map[point]chan struct{}
	cut     func(bool) // cuts the member off from the object store
}

func newGate(out io.Writer) *gate {
	return &gate{out: out, counts: map[point]int{}, armed: map[point]int{}, waiting: map[point]chan struct{}{}}
}

// say writes one line to the parent.
func (g *gate) say(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fmt.Fprintf(g.out, format+"\n", args...)
}

// reach reports the point and, if this pass is armed, waits to be released.
func (g *gate) reach(p point) {
	g.mu.Lock()
	g.counts[p]++
	word := "reached"
	var wait chan struct{}
	if g.armed[p] > 0 {
		if g.armed[p]--; g.armed[p] == 0 {
			word, wait = "waiting", make(chan struct{})
			g.waiting[p] = wait
		}
	}
	fmt.Fprintf(g.out, "%s %s %d\n", word, p, g.counts[p])
	g.mu.Unlock()
	if wait != nil {
		<-wait
	}
}

// obey follows the parent's commands until the parent is gone:
//
//	arm POINT N      the N-th pass from now waits; confirmed by "armed POINT"
//	release POINT    the pass that waits goes on
//	cut, mend        the object store does not answer any more; it does again
//	echo             answered by "echo back", after all that was said before
func (g *gate) obey(commands io.Reader) {
	for lines := bufio.NewScanner(commands); lines.Scan(); {
		words := append(strings.Fields(lines.Text()), "", "", "")
		p := point(words[1])
		n, _ := strconv.Atoi(words[2]) // 0 disarms
		g.mu.Lock()
		switch words[0] {
		case "cut", "mend":
			g.cut(words[0] == "cut")
		case "arm":
			g.armed[p] = n
			fmt.Fprintf(g.out, "armed %s\n", p)
		case "echo":
			fmt.Fprintln(g.out, "echo back")
		case "release":
			if wait := g.waiting[p]; wait != nil {
				close(wait)
				delete(g.waiting, p)
			}
		}
		g.mu.Unlock()
	}
}
