// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package progress shows how far long work is: as one line that is drawn over
// on a terminal, and as plain lines from time to time elsewhere.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	redrawEvery = 100 * time.Millisecond
	lineEvery   = 5 * time.Second
	barCells    = 24
)

// Status is how far the work is.
type Status struct {
	// Done and Total measure the work; Total 0 means that it is not known.
	Done, Total int64
	// Before is the part of Done that was done before the bar was made, by an
	// earlier run. It says nothing about the speed of this one.
	Before int64
	// Text is shown beside the bar, such as "120,000 rows, 8.1 MB".
	Text string
}

// Bar draws on one writer, usually standard error. Its methods are safe for
// concurrent use.
type Bar struct {
	out      io.Writer
	label    string
	terminal bool
	width    int
	now      func() time.Time

	mu      sync.Mutex
	started time.Time
	drawn   time.Time
	shown   bool
}

// New makes a bar. Nothing is drawn until [Bar.Update].
func New(out io.Writer, label string) *Bar {
	b := &Bar{out: out, label: label, now: time.Now}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		b.terminal, b.width = true, 80
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			b.width = w
		}
	}
	b.started = b.now()
	return b
}

// Update draws, unless it drew a moment ago.
func (b *Bar) Update(s Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	every := lineEvery
	last := b.drawn
	if b.terminal {
		every = redrawEvery
	} else if last.IsZero() {
		last = b.started // quick work prints no lines
	}
	if now.Sub(last) < every {
		return
	}
	b.drawn = now
	line := Line(b.label, s, now.Sub(b.started))
	if !b.terminal {
		b.print(line + "\n")
		return
	}
	b.print("\r\x1b[K" + clip(line, b.width-1))
	b.shown = true
}

// Clear takes the line off a terminal, so that other text can be printed.
func (b *Bar) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown {
		b.print("\r\x1b[K")
		b.shown = false
	}
}

// Finish clears the bar and prints a last line.
func (b *Bar) Finish(text string) {
	b.Clear()
	b.print(text + "\n")
}

// print writes text. The work goes on whether or not it can be shown.
func (b *Bar) print(text string) { _, _ = fmt.Fprint(b.out, text) }

// Line is the text of a bar after some time: label, bar, share, text and the
// time left, as far as they are known.
func Line(label string, s Status, elapsed time.Duration) string {
	parts := []string{label}
	if s.Total > 0 {
		share := min(max(float64(s.Done)/float64(s.Total), 0), 1)
		full := int(share * barCells)
		parts = append(parts, "["+strings.Repeat("█", full)+strings.Repeat("░", barCells-full)+"]", fmt.Sprintf("%3.0f%%", share*100))
	}
	if s.Text != "" {
		parts = append(parts, s.Text)
	}
	if left, ok := remaining(s, elapsed); ok {
		parts = append(parts, "about "+left.String()+" left")
	}
	return strings.Join(parts, " ")
}

// remaining extrapolates; the first second says too little.
func remaining(s Status, elapsed time.Duration) (time.Duration, bool) {
	now := s.Done - s.Before
	if s.Total <= 0 || now <= 0 || s.Done >= s.Total || elapsed < time.Second {
		return 0, false
	}
	left := time.Duration(float64(elapsed) * float64(s.Total-s.Done) / float64(now))
	return left.Round(time.Second), true
}

func clip(line string, cells int) string {
	runes := []rune(line)
	if len(runes) <= cells {
		return line
	}
	return string(runes[:cells])
}
