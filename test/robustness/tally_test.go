// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"fmt"
	"sync"
)

// tally counts what happened, to show that something did. It is safe for
// concurrent use, and nil counts nothing.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (s *tally) add(what string, n int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	s.counts[what] += n
}

func (s *tally) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint(s.counts)
}

// sawFate counts an operation by what its client knows and what is there.
func (s *tally) sawFate(f fate, there bool) {
	if f == unknown && there {
		s.add("committed without an answer", 1)
	}
	if f == unknown && !there {
		s.add("lost before the commit", 1)
	}
}
