// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lake

import (
	"context"
	"errors"
	"fmt"
)

// Kind classifies an error by what the caller can do about it. It is
// translated once per edge: to a gRPC code by the services, to an exit status
// by the command line, to a retry decision by the procedures.
type Kind uint8

// The kinds. Keep the list short: a new kind is justified only by a caller
// that must act differently.
const (
	// Unknown is an error nobody classified. It is a bug or a failure of the
	// environment; retrying blindly is not safe.
	Unknown Kind = iota
	// Invalid: the request is wrong and will stay wrong.
	Invalid
	// NotFound: the named thing does not exist, or the caller may not see it.
	NotFound
	// AlreadyExists: the named thing exists, with other content.
	AlreadyExists
	// Precondition: the system's state refuses the request; the caller must
	// change that state (or its own view of it) first.
	Precondition
	// Conflict: a concurrent change won. Read again, then retry.
	Conflict
	// Exhausted: a budget is used up (concurrency, bytes, rows). Retry later.
	Exhausted
	// Unavailable: nobody can serve this now. Retrying the same call is safe.
	Unavailable
	// Undetermined: the effect may or may not have happened. Retry only with
	// the same operation id, or read to find out.
	Undetermined
	// Unauthenticated: the caller did not prove who it is.
	Unauthenticated
	// Denied: the caller is known and may not do this.
	Denied
	// Corrupt: stored bytes contradict themselves. Work on them stops.
	Corrupt
	// Unsupported: understood, and not implemented by this release.
	Unsupported
	// Fenced: the caller's lease was taken over. It must stop writing.
	Fenced
)

var kindNames = [...]string{
	Unknown:         "unknown",
	Invalid:         "invalid",
	NotFound:        "not found",
	AlreadyExists:   "already exists",
	Precondition:    "failed precondition",
	Conflict:        "conflict",
	Exhausted:       "resource exhausted",
	Unavailable:     "unavailable",
	Undetermined:    "outcome unknown",
	Unauthenticated: "unauthenticated",
	Denied:          "permission denied",
	Corrupt:         "corrupt",
	Unsupported:     "unsupported",
	Fenced:          "fenced",
}

// String returns the kind's short English name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Error is the one error type that crosses package borders in Lake.
type Error struct {
	// Kind says what a caller can do.
	Kind Kind
	// Op is the verb and its object, such as "append robots.episodes". It may
	// be empty where the message already says it.
	Op string
	// Message says what was wrong and, for Invalid, what is allowed. It holds
	// nothing secret.
	Message string
	// Err is the cause, or nil.
	Err error
}

// Error formats as "op: message: cause", leaving out what is empty.
func (e *Error) Error() string {
	s := e.Message
	if e.Op != "" && s != "" {
		s = e.Op + ": " + s
	} else if e.Op != "" {
		s = e.Op
	}
	if cause := causeText(e.Err); cause != "" {
		if s != "" {
			s += ": "
		}
		s += cause
	}
	if s == "" {
		return e.Kind.String()
	}
	return s
}

func causeText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error of the given kind. Each %w verb sets a cause, as in
// fmt.Errorf.
func Errorf(kind Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	e := &Error{Kind: kind, Message: err.Error()}
	switch err.(type) { //nolint:errorlint // asks what fmt.Errorf made, not its causes
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		e.Err = silent{err}
	}
	return e
}

// silent keeps causes reachable by errors.Is and errors.As without printing
// them a second time: Errorf's message already contains their text.
type silent struct{ error }

func (s silent) Error() string { return "" }
func (s silent) Unwrap() error { return s.error }

// Wrap adds a verb and its object to err and keeps its kind. It returns nil
// when err is nil.
func Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: KindOf(err), Op: op, Err: err}
}

// KindOf returns the kind of the outermost classified error in err's chain.
// Context errors count as Unavailable: the work was given up, not refused.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Unavailable
	}
	return Unknown
}

// Is reports whether err is of the given kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }
