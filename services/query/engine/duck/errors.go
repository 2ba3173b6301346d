// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

// duckError is DuckDB's error as it writes it with errors_as_json.
type duckError struct {
	Type     string `json:"exception_type"`
	Message  string `json:"exception_message"`
	Position string `json:"position"`
}

// decodeError reads DuckDB's JSON, its plain form "Binder Error: text", or
// the one inside the other.
func decodeError(raw string) duckError {
	typ, msg, ok := strings.Cut(raw, " Error: ")
	if !ok || len(typ) > 40 || strings.HasPrefix(raw, "{") {
		typ, msg = "", raw
	}
	var e duckError
	if strings.HasPrefix(msg, "{") && json.Unmarshal([]byte(msg), &e) == nil {
		return e
	}
	return duckError{Type: typ, Message: msg}
}

// text is the message with its position in the statement, where known.
func (e duckError) text() string {
	msg := e.Message
	if e.Position != "" {
		msg += fmt.Sprintf(" (at byte %s of the statement)", e.Position)
	}
	return msg
}

// broken reports an error after which the instance cannot be trusted.
func (e duckError) broken() bool {
	return strings.EqualFold(e.Type, "INTERNAL") || strings.EqualFold(e.Type, "FATAL")
}

// errBroken marks errors that recycle the slot.
var errBroken = engine.ErrBroken

// errInterrupted marks DuckDB's answer to an interrupt.
var errInterrupted = errors.New("interrupted")

// sqlError classifies an error of DuckDB. Nearly all of them are the
// statement's: DuckDB reads no files and no network here.
func sqlError(raw string) error {
	e := decodeError(raw)
	if e.broken() {
		// The text may hold addresses and a stack: it is for logs.
		return &lake.Error{Kind: lake.Unknown, Message: "internal error of the query engine: " + firstLine(e.Message), Err: errBroken}
	}
	switch strings.ToUpper(strings.ReplaceAll(e.Type, " ", "_")) {
	case "OUT_OF_MEMORY":
		return lake.Errorf(lake.Exhausted, "the query needs more memory than it is allowed: %s", firstLine(e.Message))
	case "IO":
		return lake.Errorf(lake.Exhausted, "the query could not spill to disk: %s", firstLine(e.Message))
	case "INTERRUPT":
		return errInterrupted
	case "NOT_IMPLEMENTED":
		return lake.Errorf(lake.Unsupported, "%s", e.text())
	}
	return lake.Errorf(lake.Invalid, "%s", e.text())
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// explain picks the error to return when a query failed with err: the reason
// it was stopped, else the error of the callback that DuckDB repeats, else err.
func (q *query) explain(err error) error {
	if err == nil {
		return nil
	}
	if q.ctx.Err() != nil {
		return stopped(q.ctx)
	}
	if cause := q.failure(); cause != nil && !errors.Is(err, errBroken) {
		return cause
	}
	return err
}

// stopped is the error of a query whose context ended.
func stopped(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return lake.Wrap("query stopped", cause)
	}
	return cause
}

func isBroken(err error) bool      { return errors.Is(err, errBroken) }
func isInterrupted(err error) bool { return errors.Is(err, errInterrupted) }
