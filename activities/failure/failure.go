// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package failure turns errors of activities into failures that Temporal keeps:
// with a type that says what kind of error it was, with the decision whether to
// try again, and without anything that must not leave the process.
package failure

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/lakeplane/lake/lake"
)

// retryable is the one table that decides whether an attempt is repeated. What
// is not retried ends the step; the workflow shows the error and tries the step
// again after a longer pause or when an operator resumes it.
var retryable = map[lake.Kind]bool{
	// An error nobody classified may be a network's; the number of attempts is
	// bounded, so it surfaces.
	lake.Unknown: true,
	// Someone else holds the lease or changed a record: read again.
	lake.Conflict: true,
	// Throttled or over a budget.
	lake.Exhausted: true,
	// A service is away, or the attempt ran out of its lease.
	lake.Unavailable: true,
	// The next attempt reads the record and finds out.
	lake.Undetermined: true,

	// Repeating cannot help these.
	lake.Invalid:         false,
	lake.NotFound:        false,
	lake.AlreadyExists:   false,
	lake.Precondition:    false,
	lake.Unauthenticated: false,
	lake.Denied:          false,
	lake.Corrupt:         false,
	lake.Unsupported:     false,
	// A newer attempt is at work; this one must be silent.
	lake.Fenced: false,
}

// Retryable reports whether an attempt that failed with this kind is repeated.
func Retryable(kind lake.Kind) bool { return retryable[kind] }

// maxText bounds a failure's text: histories hold one per failed step.
const maxText = 512

// Of returns err as Temporal should keep it, nil for nil. The end of ctx passes
// through, since it means that Temporal or the worker stopped the attempt. The
// full text of an unclassified error goes to log only.
//
// The line in log is the only one: the failure is marked as benign, or Temporal's
// SDK would report each attempt a second time, as an error, also where another run
// merely holds the lease.
func Of(ctx context.Context, log *slog.Logger, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return ctx.Err()
	}
	kind := lake.KindOf(err)
	log.WarnContext(ctx, "activity failed", append(attempt(ctx), "kind", kind.String(), "retryable", retryable[kind], "error", err)...)
	return temporal.NewApplicationErrorWithOptions(Text(err), kind.String(), temporal.ApplicationErrorOptions{
		NonRetryable: !retryable[kind], Category: temporal.ApplicationErrorCategoryBenign,
	})
}

// attempt is what a line in the log says of the running activity.
func attempt(ctx context.Context) []any {
	if !activity.IsActivity(ctx) {
		return nil
	}
	info := activity.GetInfo(ctx)
	return []any{"procedure", info.WorkflowExecution.ID, "run", info.WorkflowExecution.RunID, "activity", info.ActivityType.Name, "attempt", info.Attempt}
}

// Text is err in words fit for Temporal and for records: classified errors
// speak for themselves, with addresses taken out; others are only counted,
// since nobody vouches for what they quote.
func Text(err error) string {
	if lake.KindOf(err) == lake.Unknown {
		return "unclassified error; see the worker's log"
	}
	return clip(Redact(err.Error()))
}

// addresses matches URLs, with whatever credentials and signatures they carry,
// and host:port pairs.
var addresses = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://\S+|\b(?:\d{1,3}\.){3}\d{1,3}:\d+\b|\[[0-9a-fA-F:]+\]:\d+`)

// Redact takes addresses out of a text.
func Redact(s string) string { return addresses.ReplaceAllString(s, "<address>") }

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}
