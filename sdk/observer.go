// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"time"

	"github.com/lakeplane/lake/lake"
)

// Observer is told what the appends of a client do, for metrics and logs. Its
// methods are called by the goroutine of the append, from several at the same
// time, and delay it: they count and return.
//
// An observer for a metrics library is a few lines. For Prometheus, Attempt
// observes e.Duration in a histogram and adds e.Bytes to a counter, both with
// the label lake.KindOf(e.Err).String() or "ok"; Retry adds one to a counter;
// Outcome does with e.Rows and e.Duration as Attempt with its own, and counts
// e.Checkpoint when it is an error. Tables make poor labels: there are many.
type Observer interface {
	// Attempt: one attempt ended.
	Attempt(AttemptEvent)
	// Retry: the wait after a failed attempt is over and the next begins.
	Retry(RetryEvent)
	// Outcome: the tries of an append ended. It is the last event of a call
	// of Append or Resume, and there is one for each that sent anything or
	// tried to.
	Outcome(OutcomeEvent)
}

// AttemptEvent is one attempt of an append.
type AttemptEvent struct {
	Table     lake.TableName
	Operation lake.OperationID
	// Number counts the attempts of this call, from 1.
	Number int
	// Bytes is the size of the payload, whether or not all of it was sent.
	Bytes int64
	// Duration is the time from the start of the attempt to its answer.
	Duration time.Duration
	// Err is nil after success.
	Err error
}

// RetryEvent is the wait between two attempts.
type RetryEvent struct {
	Table     lake.TableName
	Operation lake.OperationID
	// Number is that of the attempt that failed.
	Number int
	// Wait is how long the next one was put off.
	Wait time.Duration
	// Err is why the attempt failed.
	Err error
}

// OutcomeEvent is the end of the tries of an append.
type OutcomeEvent struct {
	Table     lake.TableName
	Operation lake.OperationID
	// Attempts is how many were made.
	Attempts int
	Rows     int64
	Bytes    int64
	// Duration includes the waits between attempts.
	Duration time.Duration
	// Result is zero unless Err is nil.
	Result AppendResult
	// Err is what the caller gets. Its kind is lake.Undetermined when the
	// append is pending.
	Err error
	// Checkpoint is why the checkpoint of a known outcome could not be removed.
	// It stays for [Client.PendingAppends], which does no harm.
	Checkpoint error
}

// unobserved is the observer of clients without one.
type unobserved struct{}

// Attempt implements Observer.
func (unobserved) Attempt(AttemptEvent) {}

// Retry implements Observer.
func (unobserved) Retry(RetryEvent) {}

// Outcome implements Observer.
func (unobserved) Outcome(OutcomeEvent) {}
