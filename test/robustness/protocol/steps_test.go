// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package protocol

import "fmt"

// move is one atomic step, and the state after it.
type move struct {
	label string
	next  state
}

// moves returns every step that can come next.
func (d design) moves(s state) (out []move) {
	do := func(next state, format string, args ...any) {
		out = append(out, move{fmt.Sprintf(format, args...), next})
	}
	for i := range s.process {
		d.elections(s, i, do)
		d.appending(s, i, do)
		d.registry(s, i, do)
	}
	d.purge(s, do)
	return out
}

type emit func(next state, format string, args ...any)

// elections: a process takes over, begins another thread of the leader, or dies
// and starts again without a lease.
func (d design) elections(s state, i int, do emit) {
	follows := s.epoch == 0 || s.process[i].epoch != s.epoch
	if follows && s.budget.takeovers > 0 {
		n := s
		n.budget.takeovers--
		n.epoch++
		n.process[i].epoch = n.epoch
		do(n, "%d takes over", i)
	}
	if follows && s.epoch > 0 && s.process[i] == (process{}) {
		n := s
		n.process[i].epoch = s.epoch
		do(n, "%d is of the leader", i)
	}
	if s.budget.crashes > 0 && s.process[i] != (process{}) {
		n := s
		n.budget.crashes--
		n.process[i] = process{}
		do(n, "%d dies", i)
	}
}

// fenced applies the guard that every authoritative commit keeps. A commit that
// passes it under an old fence breaks I9.
func (d design) fenced(s state, p process) (state, bool) {
	if p.fence == s.epoch {
		return s, true
	}
	if d.noFence {
		s.unfenced = true
		return s, true
	}
	return s, false
}

// appending: the life of an append in one process.
func (d design) appending(s state, i int, do emit) {
	p := s.process[i]
	switch p.at {
	case idle:
		if p.epoch == 0 || s.inc == 0 {
			return
		}
		for op := range uint8(appends) {
			n := s
			n.process[i] = process{epoch: p.epoch, at: looked, fence: p.epoch, op: op, inc: s.inc, ver: s.ver}
			do(n, "%d reads the table for append %d", i, op)
		}
	case looked:
		d.lookUp(s, i, do)
	case staged:
		d.rebase(s, i, do)
	case written:
		d.advance(s, i, do)
	case landed:
		n := s
		n.final[p.inc] |= bit(p.ver)
		n.process[i].at = answered
		do(n, "%d publishes %d.%d", i, p.inc, p.ver)
		if d.ackUnfinished {
			do(s.answer(i), "%d acknowledges append %d too early", i, p.op)
		}
	case answered:
		do(s.answer(i), "%d acknowledges append %d in %d.%d", i, p.op, p.inc, p.ver)
		n := s
		n.process[i] = process{epoch: p.epoch}
		do(n, "%d's acknowledgement of append %d is lost", i, p.op)
	}
}

// answer tells the client where its operation is.
func (s state) answer(i int) state {
	p := s.process[i]
	now := placed{p.inc, p.ver, 1}
	if was := s.told[p.op]; was.ver != 0 && was != now {
		s.unsteady = true
	}
	s.told[p.op] = now
	s.process[i] = process{epoch: p.epoch}
	return s
}

// lookUp reads the operation's record: it is answered, refused or staged.
func (d design) lookUp(s state, i int, do emit) {
	p := s.process[i]
	n := s
	r := s.record[p.op]
	want := wants(p.op)
	switch {
	case want != 0 && want != p.inc && !d.noName, r.ver != 0 && r.inc != p.inc:
		n.process[i] = process{epoch: p.epoch}
		do(n, "%d refuses append %d", i, p.op)
	case r.ver != 0 && r.ver >= p.ver:
		// It may be the current version, which may not be published yet.
		n.process[i].at, n.process[i].ver = landed, r.ver
		do(n, "%d finds append %d in %d.%d", i, p.op, r.inc, r.ver)
	case r.ver != 0:
		n.process[i].at, n.process[i].ver = answered, r.ver
		do(n, "%d finds append %d in the older %d.%d", i, p.op, r.inc, r.ver)
	case p.ver < s.budget.versions:
		n.process[i].at = staged
		n.data[p.inc] |= bit(p.op)
		do(n, "%d stages the data of append %d in %d", i, p.op, p.inc)
	}
}

// rebase reads the registry again, and the lease, and stages a manifest on what
// is there. Other appends may have been committed since the look-up.
func (d design) rebase(s state, i int, do emit) {
	p, n := s.process[i], s
	if s.inc != p.inc || s.ver == s.budget.versions {
		n.process[i] = process{epoch: p.epoch}
		do(n, "%d gives append %d up: another table", i, p.op)
		return
	}
	n.process[i].at, n.process[i].fence, n.process[i].ver = written, p.epoch, s.ver
	do(n, "%d stages the manifest of version %d.%d", i, p.inc, s.ver+1)
}

// advance is the commit point of an append. A base is built on only when it is
// published.
func (d design) advance(s state, i int, do emit) {
	p := s.process[i]
	if s.final[p.inc]&bit(p.ver) == 0 && !d.noBase {
		n := s
		n.final[p.inc] |= bit(p.ver)
		do(n, "%d publishes the base %d.%d", i, p.inc, p.ver)
		return
	}
	n, ok := d.fenced(s, p)
	ok = ok && (d.noRetire || s.inc == p.inc && s.ver == p.ver)
	ok = ok && s.pointer[p.inc] == p.ver && s.history[p.inc]&bit(p.ver+1) == 0
	ok = ok && (d.noRecord || s.record[p.op].ver == 0)
	if !ok {
		n = s
		n.process[i] = process{epoch: p.epoch}
		do(n, "%d's commit of append %d to %d.%d is refused", i, p.op, p.inc, p.ver+1)
		return
	}
	n.inc, n.ver = p.inc, p.ver+1
	n.pointer[p.inc] = p.ver + 1
	n.history[p.inc] |= bit(p.ver + 1)
	n.record[p.op] = placed{p.inc, p.ver + 1, s.record[p.op].times + 1}
	n.process[i].at, n.process[i].ver = landed, p.ver+1
	do(n, "%d commits append %d as %d.%d", i, p.op, p.inc, p.ver+1)
}

// registry: creates, drops and undrops.
func (d design) registry(s state, i int, do emit) {
	p := s.process[i]
	begin := func(at phase, inc, ver uint8, what string) {
		n := s
		n.process[i] = process{epoch: p.epoch, at: at, fence: p.epoch, inc: inc, ver: ver, drops: s.drops[inc]}
		do(n, "%d begins to %s %d", i, what, inc)
	}
	switch {
	case p.at == idle && p.epoch != 0:
		if s.inc == 0 && s.used < incarnations {
			s.used++ // the id is fresh, whether its create succeeds or not
			begin(creating, s.used, 1, "create")
			s.used--
		}
		if s.inc != 0 {
			begin(dropping, s.inc, s.ver, "drop")
		}
		for inc := uint8(1); inc <= incarnations && s.budget.undrops > 0; inc++ {
			if s.grave[inc] == buried {
				begin(raising, inc, newest(s.history[inc]), "undrop")
			}
		}
	case p.at == creating:
		d.commit(s, i, s.inc == 0 && s.pointer[p.inc] == 0, do, "create", func(n *state) {
			n.inc, n.ver, n.pointer[p.inc] = p.inc, 1, 1
			n.history[p.inc], n.final[p.inc] = bit(1), bit(1)
		})
	case p.at == dropping:
		d.commit(s, i, s.inc == p.inc && s.ver == p.ver && s.grave[p.inc] == none, do, "drop", func(n *state) {
			n.inc, n.ver, n.grave[p.inc] = 0, 0, buried
			n.drops[p.inc]++
			if !d.noRetire {
				n.pointer[p.inc] = retired
			}
		})
	case p.at == raising:
		pending := s.grave[p.inc] == buried || d.blindUndrop && s.grave[p.inc] == purging
		pending = pending && (s.drops[p.inc] == p.drops || d.anyTombstone)
		d.commit(s, i, s.inc == 0 && pending && s.budget.undrops > 0, do, "undrop", func(n *state) {
			n.inc, n.ver, n.grave[p.inc], n.pointer[p.inc] = p.inc, p.ver, none, p.ver
			n.budget.undrops--
		})
	}
}

// newest is the highest version of a set.
func newest(versions uint8) (ver uint8) {
	for v := uint8(1); bit(v) != 0; v++ {
		if versions&bit(v) != 0 {
			ver = v
		}
	}
	return ver
}

// commit is one transaction of a process: apply if the expectations hold.
func (d design) commit(s state, i int, holds bool, do emit, what string, apply func(*state)) {
	p := s.process[i]
	n, ok := d.fenced(s, p)
	if !ok || !holds {
		n = s
		n.process[i] = process{epoch: p.epoch}
		do(n, "%d's %s of %d is refused", i, what, p.inc)
		return
	}
	apply(&n)
	n.process[i] = process{epoch: p.epoch}
	do(n, "%d commits the %s of %d", i, what, p.inc)
}

// purge: the drop's procedure. Its own lease is not modelled.
func (d design) purge(s state, do emit) {
	inc := s.purger.inc
	if inc == 0 {
		for inc := uint8(1); inc <= incarnations; inc++ {
			if s.grave[inc] == buried {
				n := s
				n.grave[inc], n.purger.inc = purging, inc
				do(n, "the purge of %d passes the point of no return", inc)
			}
		}
		return
	}
	if !s.purger.verified {
		n := s
		n.final[inc], n.data[inc], n.history[inc] = 0, 0, 0
		n.purger.verified = true
		do(n, "the purge of %d deletes all and finds nothing left", inc)
		return
	}
	if s.final[inc]|s.data[inc] != 0 {
		n := s
		n.purger.verified = false
		do(n, "the purge of %d finds objects again", inc)
		return
	}
	if s.writers(inc) && !d.noSettle {
		return // it waits until writers that began before the drop have given up
	}
	n := s
	n.grave[inc], n.purger.inc, n.purger.verified = gone, 0, false
	if n.pointer[inc] == retired || d.noRetire {
		n.pointer[inc] = 0
	}
	do(n, "the purge of %d ends", inc)
}

// writers reports whether a process may still write below the location.
func (s *state) writers(inc uint8) bool {
	for _, p := range s.process {
		if p.inc == inc && p.at >= looked && p.at <= landed {
			return true
		}
	}
	return false
}
