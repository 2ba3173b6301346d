// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package faultstore

import (
	"math/rand/v2"
	"sync"
	"time"
)

// Method is a method of the store that faults apply to.
type Method string

// The methods.
const (
	Get    Method = "Get"
	Scan   Method = "Scan"
	Commit Method = "Commit"
)

// Call is a call as a plan sees it.
type Call struct {
	Method Method
	// Number counts the calls of this method, from 1.
	Number int
	// Key is the key of a Get, the prefix of a Scan, or the first key of a
	// Commit.
	Key string
}

// Plan decides what goes wrong. Next is called once for each valid call.
type Plan interface {
	Next(call Call) Fault
}

// PlanFunc is a function as a plan.
type PlanFunc func(call Call) Fault

// Next implements [Plan].
func (f PlanFunc) Next(call Call) Fault { return f(call) }

// Script is a plan for numbered calls: Script{Commit: {2: fault}} harms the
// second commit and nothing else.
type Script map[Method]map[int]Fault

// Next implements [Plan].
func (s Script) Next(call Call) Fault { return s[call.Method][call.Number] }

// Random harms calls at random, the same way for the same seed and order of
// calls. It is safe for concurrent use.
type Random struct {
	mu    sync.Mutex
	rng   *rand.Rand
	rate  float64
	kinds []Kind
	wait  time.Duration
}

// NewRandom returns a plan that harms a share of the calls, 0..1, by one of
// the kinds, all but Race if none is given. Waits are up to maxWait.
func NewRandom(seed uint64, rate float64, maxWait time.Duration, kinds ...Kind) *Random {
	if len(kinds) == 0 {
		kinds = []Kind{BeforeSend, Throttle, AckLost, Undetermined, Late, Repeat, Delay}
	}
	return &Random{rng: rand.New(rand.NewPCG(seed, 0)), rate: rate, kinds: kinds, wait: maxWait}
}

// Next implements [Plan].
func (r *Random) Next(Call) Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rng.Float64() >= r.rate {
		return Fault{}
	}
	fault := Fault{Kind: r.kinds[r.rng.IntN(len(r.kinds))]}
	if r.wait > 0 {
		fault.Wait = time.Duration(r.rng.Int64N(int64(r.wait)))
	}
	return fault
}
