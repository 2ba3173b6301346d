// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package protocol explores a model of the authority's commits: fence,
// tombstone, recreate, undrop and purge, with two threads that are of one
// leader, or of two that both believe they lead. The other tests run the real
// thing and see some interleavings; this one sees all of them, of something
// much smaller.
package protocol

// The bounds of the exploration, beside its budget. Incarnations and versions
// count from 1.
const (
	processes    = 2
	appends      = 2
	incarnations = 2
)

// phase is where a process is in what it does. A process is at any phase for as
// long as it likes, which is what a pause is.
type phase uint8

const (
	idle     phase = iota
	looked         // an append has read the registry
	staged         // its data are written under the location
	written        // it has read the registry again and staged a manifest on that
	landed         // it is committed, and neither published nor answered
	answered       // it is published
	dropping       // a drop has read the registry
	creating       // version 1 of a fresh incarnation is staged
	raising        // an undrop has read the tombstone
)

// process is one thread of a member.
type process struct {
	epoch uint8 // of the fence it holds; 0: it never led since it started
	at    phase
	fence uint8 // the epoch under which it does what it does
	op    uint8
	inc   uint8 // as it read them
	ver   uint8
	drops uint8
}

// grave is the state of a drop.
type grave uint8

const (
	none    grave = iota
	buried        // tombstone and pending procedure: may be undone
	purging       // beyond the point of no return
	gone          // the drop has ended
)

// placed is where an operation is, or where a client was told that it is.
type placed struct{ inc, ver, times uint8 }

// state is everything: the records of the metastore, the objects, the processes
// and what clients were told. It is comparable.
type state struct {
	// Records.
	epoch   uint8 // of the fence
	inc     uint8 // of the registry's record, 0 for none
	ver     uint8
	pointer [incarnations + 1]uint8 // version, or retired
	history [incarnations + 1]uint8 // a bit a version
	grave   [incarnations + 1]grave
	drops   [incarnations + 1]uint8 // tells the tombstones of an incarnation apart
	record  [appends]placed

	// Objects below each location.
	final [incarnations + 1]uint8 // a bit a version with its final name
	data  [incarnations + 1]uint8 // a bit a staged data file, by its operation

	process [processes]process
	purger  struct {
		inc      uint8
		verified bool // it found nothing below the location
	}
	told [appends]placed

	used   uint8 // incarnations that exist or existed
	budget budget

	// What steps broke that no later state shows.
	unfenced, unsteady bool
}

// budget is what may still happen, and the highest version; it keeps the space
// finite.
type budget struct{ takeovers, crashes, undrops, versions uint8 }

const retired = 255

// violation names the invariant of docs/architecture.md that a step broke.
type violation string

// design is the protocol with parts left out, to show that each is needed. The
// zero design is the real one.
type design struct {
	noFence       bool // commits do not keep the fence
	noRecord      bool // an append's commit does not expect its record to be absent
	ackUnfinished bool // an append is acknowledged before it is published
	blindUndrop   bool // an undrop does not expect the procedure to be pending
	anyTombstone  bool // an undrop takes whatever tombstone it finds for the one it read
	noName        bool // an append that names its incarnation is not refused in another
	noSettle      bool // a purge ends without waiting for writers that began before the drop
	noRetire      bool // a drop does not replace the pointer, nor does an append expect the registry's record
	noBase        bool // a version is built on one that is not published
}

// wants is the incarnation that an operation names, or 0.
func wants(op uint8) uint8 {
	if op == 0 {
		return 1
	}
	return 0
}

func bit(ver uint8) uint8 { return 1 << ver }

// check names the invariant that the state breaks, if any.
func (s *state) check() violation {
	if s.unfenced {
		return "I9: a process that lost its lease wrote"
	}
	if s.unsteady {
		return "I2: two answers for one operation"
	}
	for op, told := range s.told {
		if told.ver != 0 && s.record[op] != told {
			return "I1: an acknowledged append is not where it was acknowledged, or twice"
		}
		if told.ver != 0 && s.readable(told.inc) && s.final[told.inc]&bit(told.ver) == 0 {
			return "an acknowledged version does not open by its number"
		}
		if s.record[op].times > 1 {
			return "I1: an append was applied twice"
		}
		if want := wants(uint8(op)); want != 0 && s.record[op].inc != 0 && s.record[op].inc != want {
			return "I4: an append was applied to another incarnation than it named"
		}
	}
	return s.checkTables()
}

// readable reports whether readers may still open versions of the incarnation.
func (s *state) readable(inc uint8) bool { return s.grave[inc] < purging }

func (s *state) checkTables() violation {
	if s.inc != 0 {
		// Versions 1..ver are bits 1..ver.
		if s.history[s.inc] != bit(s.ver+1)-2 {
			return "I3: the versions are not dense"
		}
		if s.grave[s.inc] != none {
			return "I5: a table in the registry has a tombstone"
		}
		if s.pointer[s.inc] != s.ver {
			return "I3: the pointer is not at the registry's version"
		}
	}
	for inc := uint8(1); inc <= incarnations; inc++ {
		if s.grave[inc] == gone && (s.final[inc] != 0 || s.data[inc] != 0) {
			return "I7: a finished drop has left objects"
		}
		if s.history[inc] != 0 && s.inc != inc && s.grave[inc] == none {
			return "I5: a dropped table has no tombstone"
		}
	}
	return ""
}
