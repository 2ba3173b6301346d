// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// certain reports whether a failed commit certainly did not apply: nothing was
// sent, or the server answered with an error, which rolled it back. A server
// that shuts down answers too, but may do so after the commit.
func certain(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return !strings.HasPrefix(answer.Code, "57P") || answer.Code == cannotConnectNow
	}
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || pgconn.SafeToRetry(err)
}

// SQLSTATE codes, from PostgreSQL's appendix A.
const (
	cannotConnectNow  = "57P03"
	queryCanceled     = "57014"
	lockNotAvailable  = "55P03"
	classRollback     = "40" // serialization failure, deadlock
	classResources    = "53" // connections, disk, memory
	classConnection   = "08"
	classCorruption   = "XX"
	dataCorrupted     = "XX001"
	invalidTxnState   = "25000"
	insufficientGrant = "42501"
)

// commitError classifies a commit that certainly did not apply.
func commitError(err error) error { return classify("commit", err) }

// readError classifies a failed read; all of them may be made again but those
// that would fail in the same way.
func readError(op string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return rules.Cancelled(err)
	}
	return classify(op, err)
}

func classify(op string, err error) error {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return fmt.Errorf("%w: postgres: %s: %w", metastore.ErrRetryable, op, err)
	}
	switch code := answer.Code; {
	case strings.HasPrefix(code, classResources):
		return fmt.Errorf("%w: %w", lake.Errorf(lake.Exhausted, "postgres: %s: %w", op, err), metastore.ErrRetryable)
	case strings.HasPrefix(code, classRollback), strings.HasPrefix(code, classConnection), strings.HasPrefix(code, "57"), code == lockNotAvailable:
		return fmt.Errorf("%w: postgres: %s: %w", metastore.ErrRetryable, op, err)
	case strings.HasPrefix(code, classCorruption):
		return lake.Errorf(lake.Corrupt, "postgres: %s: %w", op, err)
	case code == invalidTxnState:
		return lake.Errorf(lake.Precondition, "postgres: %s: %w", op, err)
	case code == insufficientGrant:
		return lake.Errorf(lake.Denied, "postgres: %s: %w", op, err)
	}
	return lake.Errorf(lake.Unknown, "postgres: %s: %w", op, err)
}
