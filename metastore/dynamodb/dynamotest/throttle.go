// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"math"
	"time"
)

// Throughput of a partition (developer guide, "Best practices for designing and
// using partition keys effectively").
const (
	PartitionWriteUnits = 1000
	PartitionReadUnits  = 3000
)

// bucket holds the units that a partition has left, of at most a second.
type bucket struct {
	writes, reads meter
}

// meter is a token bucket. Its zero value is full.
type meter struct {
	spent float64
	at    time.Time
}

// take spends units if the rate of units a second leaves them. A full bucket lets
// anything pass, and is in debt afterwards. No rate is no bound.
func (m *meter) take(units, rate float64, now time.Time) bool {
	if rate <= 0 {
		return true
	}
	if passed := now.Sub(m.at).Seconds(); passed > 0 {
		m.spent, m.at = max(0, m.spent-passed*rate), now
	}
	if m.spent > 0 && m.spent+units > rate {
		return false
	}
	m.spent += units
	return true
}

// writeUnits is what writing costs that changes before to after.
func writeUnits(before, after item, transactional bool) float64 {
	units := max(1, math.Ceil(float64(max(before.size(), after.size()))/(1<<10)))
	if transactional {
		units *= 2
	}
	return units
}

// readUnits is what reading bytes costs.
func readUnits(bytes int, factor float64) float64 {
	return max(1, math.Ceil(float64(bytes)/(4<<10))) * factor
}

// factorOf is the price of a read: half of it if it may be behind.
func factorOf(consistent bool) float64 {
	if consistent {
		return 1
	}
	return 0.5
}

// paysWrite takes the units of a write. The caller holds the mutex.
func (s *Server) paysWrite(t *table, k key, units float64) bool {
	return t.partition(k.hash).writes.take(units, s.opts.WriteUnits, s.now())
}

// paysRead takes the units of a read. The caller holds the mutex.
func (s *Server) paysRead(t *table, hash string, units float64) bool {
	return t.partition(hash).reads.take(units, s.opts.ReadUnits, s.now())
}

func throttled() error {
	return fail("ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API.")
}
