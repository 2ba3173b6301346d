// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import "time"

// MaxSessions and MaxSlots bound a client's sessions of appends.
const (
	MaxSessions = maxSessions
	MaxSlots    = maxSlots
)

// SetSessionTimes sets how long a server may take to open a session of appends,
// when one that is not used ends, and how long none is tried after one that was
// of no use. It is for a client that has not appended yet.
func (c *Client) SetSessionTimes(opening, idle, rest time.Duration) {
	c.sessions.times.opening, c.sessions.times.idle, c.sessions.times.rest = opening, idle, rest
}
