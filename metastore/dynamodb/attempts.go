// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/aws/smithy-go"

	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// attempt makes a request once and tells its outcome. Without an answer it goes
// by how far the request came: one that got no connection was seen by nobody, and
// one that did not ask for any failed before it was sent.
func (s *Store) attempt(ctx context.Context, send func(context.Context) error) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.RequestTimeout)
	defer cancel()
	var asked, got atomic.Bool
	trace := &httptrace.ClientTrace{
		GetConn: func(string) { asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	}
	err := send(httptrace.WithClientTrace(ctx, trace))
	var answer smithy.APIError
	switch {
	case err == nil:
		return done, nil
	case errors.As(err, &answer):
		return judge(answer), err
	case got.Load():
		return lost, err
	case asked.Load() || ctx.Err() != nil:
		return refused, err
	}
	return failed, err
}

// read makes a request that changes nothing until it has an answer.
func (s *Store) read(ctx context.Context, op string, send func(context.Context) error) error {
	over := time.Now().Add(s.opts.RetryTime)
	for n := 0; ; n++ {
		outcome, err := s.attempt(ctx, send)
		switch {
		case outcome == done:
			return nil
		case outcome == failed:
			return classify(op, err)
		case !pause(ctx, n, over):
			return unavailable(ctx, op, err)
		}
	}
}

// unavailable is the error of a call of which no attempt was applied.
func unavailable(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return rules.Cancelled(errors.Join(ctx.Err(), err))
	}
	return fmt.Errorf("%w: dynamodb: %s: %w", metastore.ErrRetryable, op, err)
}

// Waits between attempts. They are random in full, so that those who met each
// other do not meet again.
const (
	firstWait = 20 * time.Millisecond
	maxWait   = time.Second
)

// pause waits after the nth attempt, and reports false when the time is over.
func pause(ctx context.Context, n int, over time.Time) bool {
	wait := rand.N(min(firstWait<<min(n, 10), maxWait))
	if time.Until(over) < wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
