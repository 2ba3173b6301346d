// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"
)

// verb is what a client asks of a table.
type verb string

const (
	createVerb verb = "create"
	appendVerb verb = "append"
	getVerb    verb = "get"
	dropVerb   verb = "drop"
)

// request is one step of a client. A drop names the incarnation it means, an
// append its operation, which other appends may repeat.
type request struct {
	verb        verb
	table       string
	operation   string
	incarnation string
}

// reply is what it was told.
type reply struct {
	outcome     string // ok, exists, absent, refused (for good), failed (no effect) or unknown
	incarnation string
	version     uint64
	// foreign says that no create was answered with the incarnation, so that
	// it is of one whose answer was lost.
	foreign bool
}

// tableState is the state of one table in the model. It is comparable.
type tableState struct {
	incarnation string // empty: there is no table; "?": one of a create without an answer
	version     uint64
	// open says that nobody has seen the version yet, so that further appends
	// may turn out to be part of it.
	open bool
	// applied are the operations of the incarnation with their versions, buried
	// the earlier incarnations and their operations.
	applied, buried string
}

// tableModel is what a single-threaded authority would do.
var tableModel = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byTable := map[string][]porcupine.Operation{}
		for _, op := range history {
			name := op.Input.(request).table
			byTable[name] = append(byTable[name], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range byTable {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() []any { return []any{tableState{}} },
	Step: func(state, input, output any) []any {
		var next []any
		for _, s := range state.(tableState).step(input.(request), output.(reply)) {
			next = append(next, s)
		}
		return next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

// step returns the states that may follow when the request got the reply.
func (s tableState) step(in request, out reply) []tableState {
	if out.outcome == "failed" {
		return []tableState{s}
	}
	s, fits := s.bind(out)
	switch in.verb {
	case createVerb:
		return s.create(out)
	case appendVerb:
		return s.append(in, out, fits)
	case dropVerb:
		s, fits = s.bind(reply{incarnation: in.incarnation, foreign: out.foreign})
		return s.drop(in, out, fits)
	}
	return s.get(out, fits)
}

// bind compares the reply's incarnation with the table's. One of a create
// without an answer is whatever it is first seen as.
func (s tableState) bind(out reply) (tableState, bool) {
	if s.incarnation == "?" && out.foreign && !strings.Contains(s.buried, out.incarnation) {
		s.incarnation = out.incarnation
	}
	return s, s.incarnation != "" && s.incarnation == out.incarnation
}

func (s tableState) create(out reply) []tableState {
	fresh := s
	fresh.incarnation, fresh.version, fresh.open, fresh.applied = out.incarnation, 1, false, ""
	switch absent := s.incarnation == ""; {
	case out.outcome == "ok" && absent:
		return []tableState{fresh}
	case out.outcome == "exists" && !absent:
		return []tableState{s}
	case out.outcome == "unknown" && absent:
		fresh.incarnation = "?"
		return []tableState{s, fresh}
	case out.outcome == "unknown":
		return []tableState{s}
	}
	return nil
}

func (s tableState) append(in request, out reply, fits bool) []tableState {
	was, done := find(s.applied, in.operation)
	switch out.outcome {
	case "absent":
		return only(s, s.incarnation == "")
	case "refused":
		// The table went away meanwhile, or the operation is of an earlier one:
		// both leave something buried.
		return only(s, s.buried != "")
	case "unknown":
		next := []tableState{s}
		if s.incarnation != "" && !done {
			next = append(next, s.apply(in.operation, s.version+1))
			if s.open {
				next = append(next, s.apply(in.operation, s.version))
			}
		}
		return next
	}
	switch {
	case !fits:
		return nil
	case done:
		return only(s, was == out.version)
	case out.version == s.version+1, out.version == s.version && s.open:
		if strings.Contains(s.buried, in.operation+"=") {
			return nil // it was applied to an earlier incarnation
		}
		return []tableState{s.apply(in.operation, out.version)}
	}
	return nil
}

func only(s tableState, ok bool) []tableState {
	if ok {
		return []tableState{s}
	}
	return nil
}

func (s tableState) apply(operation string, version uint64) tableState {
	s.version, s.open = version, true
	s.applied += fmt.Sprintf("%s=%d;", operation, version)
	return s
}

// find looks an operation up in a list.
func find(applied, operation string) (version uint64, ok bool) {
	_, rest, ok := strings.Cut(applied, operation+"=")
	if ok {
		_, err := fmt.Sscanf(rest, "%d;", &version)
		ok = err == nil
	}
	return version, ok
}

func (s tableState) drop(in request, out reply, fits bool) []tableState {
	after := s
	after.incarnation, after.version, after.open, after.applied = "", 0, false, ""
	after.buried += in.incarnation + ":" + s.applied
	switch {
	case out.outcome == "unknown" && fits:
		return []tableState{s, after}
	case out.outcome == "unknown":
		return []tableState{s}
	case out.outcome == "ok" && fits:
		return []tableState{after}
	case out.outcome == "ok":
		return only(s, strings.Contains(s.buried, in.incarnation)) // it was dropped before
	}
	return nil
}

func (s tableState) get(out reply, fits bool) []tableState {
	if out.outcome == "absent" {
		return only(s, s.incarnation == "")
	}
	s.open = false
	return only(s, fits && s.version == out.version)
}

// linear runs the model over a sequential history of pairs.
func linear(steps ...any) bool {
	var history []porcupine.Operation
	for i := 0; i < len(steps); i += 2 {
		history = append(history, porcupine.Operation{Input: steps[i], Output: steps[i+1], Call: int64(i), Return: int64(i + 1)})
	}
	return porcupine.CheckOperations(tableModel.ToModel(), history)
}
