// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metastoretest

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Comparison measures a store against a peer that does the same writes without
// the contract. Both take short turns in one run, so that whatever else the
// machine does meets both: subject, peer, subject, peer, ….
type Comparison struct {
	// Writers are the concurrent callers. Required.
	Writers int
	// Rounds is how often each has its turn. Default: 31.
	Rounds int
	// Turn is how long a turn takes. Default: 100 ms.
	Turn time.Duration
}

// Speed is the result of a [Comparison].
type Speed struct {
	// Subject and Peer are medians of calls a second.
	Subject, Peer float64
	// Ratio is the median of the rounds' own ratios, subject by peer.
	Ratio float64
	// SubjectCPU and PeerCPU are medians of this process's processor time for
	// a call, which other load on the machine changes less.
	SubjectCPU, PeerCPU time.Duration
}

// String formats the speed for people.
func (s Speed) String() string {
	return fmt.Sprintf("%6.0f/s against %6.0f/s: %.2f (processor: %v against %v)", s.Subject, s.Peer, s.Ratio, s.SubjectCPU, s.PeerCPU)
}

// NeedSpeed skips a test unless LAKE_SPEED is 1, since speed is measured on
// purpose: it takes long and wants a quiet machine.
func NeedSpeed(tb testing.TB) {
	tb.Helper()
	if os.Getenv("LAKE_SPEED") != "1" {
		tb.Skip("measures speed: set LAKE_SPEED=1")
	}
}

// Run measures. The functions make the ith call of a writer, i counting the
// calls of all turns.
func (c Comparison) Run(tb testing.TB, subject, peer func(writer, i int) error) Speed {
	tb.Helper()
	orDefault(&c.Rounds, 31)
	if rounds, err := strconv.Atoi(os.Getenv("LAKE_SPEED_ROUNDS")); err == nil {
		c.Rounds = rounds
	}
	if c.Turn == 0 {
		c.Turn = 100 * time.Millisecond
	}
	a, b := &contender{call: subject}, &contender{call: peer}
	c.turn(tb, a) // warm up
	c.turn(tb, b)
	a.forget()
	b.forget()
	var ratios []float64
	for range c.Rounds {
		c.turn(tb, a)
		c.turn(tb, b)
		ratios = append(ratios, a.rates[len(a.rates)-1]/b.rates[len(b.rates)-1])
	}
	return Speed{median(a.rates), median(b.rates), median(ratios), median(a.cpus), median(b.cpus)}
}

// contender is one of the two.
type contender struct {
	call  func(writer, i int) error
	next  atomic.Int64
	rates []float64
	cpus  []time.Duration
}

func (p *contender) forget() { p.rates, p.cpus = nil, nil }

func (c Comparison) turn(tb testing.TB, p *contender) {
	tb.Helper()
	before, cpu, start := p.next.Load(), cpuTime(), time.Now()
	var all sync.WaitGroup
	for w := range c.Writers {
		all.Go(func() {
			for time.Since(start) < c.Turn {
				if err := p.call(w, int(p.next.Add(1))-1); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	n := p.next.Load() - before
	p.rates = append(p.rates, float64(n)/time.Since(start).Seconds())
	p.cpus = append(p.cpus, (cpuTime()-cpu)/time.Duration(max(n, 1)))
}

func median[T float64 | time.Duration](all []T) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
