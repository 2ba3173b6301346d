// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"cmp"
	"time"
)

// MaxSessions and MaxSlots bound a client's sessions of appends.
const (
	MaxSessions = maxSessions
	MaxSlots    = maxSlots
)

// SessionTimes are when a client opens and ends sessions of appends; zero is a
// minute, so that a test that waits for nothing is not in a hurry.
type SessionTimes struct{ After, Opening, Idle, Life, Rest, Away time.Duration }

// SetSessionTimes is for a client that has not appended yet.
func (c *Client) SetSessionTimes(t SessionTimes) {
	c.sessions.times = sessionTimes{
		after: cmp.Or(t.After, time.Minute), opening: cmp.Or(t.Opening, time.Minute),
		idle: cmp.Or(t.Idle, time.Minute), life: cmp.Or(t.Life, time.Minute), rest: cmp.Or(t.Rest, time.Minute),
		away: cmp.Or(t.Away, time.Minute),
	}
}

// SessionSlots is of how many tables a client remembers when it appended.
func (c *Client) SessionSlots() int {
	c.sessions.mu.Lock()
	defer c.sessions.mu.Unlock()
	return len(c.sessions.tables)
}

// SetMaxCheckpoints sets how many names of the checkpoint directory are read.
func (c *Client) SetMaxCheckpoints(n int) { c.checkpoints.most = n }

// RetryWindow is how long an append is repeated.
func (c *Client) RetryWindow() time.Duration { return c.retryWindow }
