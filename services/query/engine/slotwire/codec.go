// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slotwire

import (
	"encoding/binary"

	"github.com/lakeplane/lake/lake"
)

// writer appends values to a body.
type writer struct{ b []byte }

func (w *writer) uint(n uint64) { w.b = binary.AppendUvarint(w.b, n) }
func (w *writer) int(n int64)   { w.b = binary.AppendVarint(w.b, n) }
func (w *writer) bytes(b []byte) {
	w.uint(uint64(len(b)))
	w.b = append(w.b, b...)
}

func (w *writer) text(s string) {
	w.uint(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) flag(on bool) {
	if on {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

// reader takes values from a body. After the first mistake it gives zeros, and
// err tells.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.b, r.bad = nil, true }

func (r *reader) uint() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) int() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[size:]
	return n
}

// count reads how many things follow, each of at least one byte.
func (r *reader) count() int { return r.within(uint64(len(r.b))) }

// within reads a number that is at most most.
func (r *reader) within(most uint64) int {
	n := r.uint()
	if n > most {
		r.fail()
		return 0
	}
	return int(n)
}

// bytes returns a part of the body, not a copy.
func (r *reader) bytes() []byte {
	n := r.count()
	if r.bad || n > len(r.b) {
		r.fail()
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) text() string { return string(r.bytes()) }
func (r *reader) flag() bool   { return r.within(1) == 1 }

// err reports a body that is not what its kind promises, or is longer.
func (r *reader) err(what string) error {
	if r.bad || len(r.b) > 0 {
		return lake.Errorf(lake.Corrupt, "a malformed %s between the replica and its engine", what)
	}
	return nil
}
