// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/internal/rules"
)

// maxMessageBytes bounds a message of either direction: the wire contract's 8
// MiB for an answer, and more than a transaction can have.
const maxMessageBytes = 8 << 20

// probe is the codec of one attempt, and remembers whether it was used. gRPC
// chooses a connection before it encodes a request, so an attempt that failed
// without being encoded was not sent.
type probe struct {
	encoding.CodecV2
	sent atomic.Bool
}

func newProbe() *probe { return &probe{CodecV2: encoding.GetCodecV2(proto.Name)} }

// Marshal implements [encoding.CodecV2].
func (p *probe) Marshal(v any) (mem.BufferSlice, error) {
	b, err := p.CodecV2.Marshal(v)
	if err == nil {
		p.sent.Store(true)
	}
	return b, err
}

func (p *probe) options() []grpc.CallOption {
	return []grpc.CallOption{
		grpc.ForceCodecV2(p), grpc.MaxCallRecvMsgSize(maxMessageBytes), grpc.MaxCallSendMsgSize(maxMessageBytes),
	}
}

// fate is what is known of an attempt that brought no answer of use.
type fate uint8

const (
	answered fate = iota // the server said what became of it
	unsent               // it certainly did not reach the server
	lost                 // nobody said
)

// failure is the error of one attempt.
type failure struct {
	error
	fate fate
	// again says that the same request may succeed.
	again bool
}

// try makes one attempt.
func (s *Store) try(ctx context.Context, send func(context.Context, *probe) error) *failure {
	limited, cancel := context.WithTimeout(ctx, s.opts.CallTimeout)
	defer cancel()
	p := newProbe()
	err := send(limited, p)
	if err == nil {
		return nil
	}
	var local *answerError
	if errors.As(err, &local) {
		return &failure{local.error, answered, false}
	}
	return s.judge(ctx, p, err)
}

// judge sorts the error of an attempt by the kind that a Lake server puts into
// it. What carries none is of a transport, a proxy or gRPC itself.
func (s *Store) judge(ctx context.Context, p *probe, err error) *failure {
	classified := grpcerr.FromStatus(err)
	switch {
	case !fromLake(err) && s.probed && !p.sent.Load():
		return &failure{classified, unsent, ctx.Err() == nil}
	case !fromLake(err):
		return &failure{classified, lost, ctx.Err() == nil}
	}
	switch lake.KindOf(classified) {
	case lake.Invalid:
		return &failure{matching{classified, metastore.ErrInvalid}, answered, false}
	case lake.Unavailable, lake.Exhausted:
		return &failure{matching{classified, metastore.ErrRetryable}, answered, false}
	case lake.Undetermined:
		return &failure{classified, lost, true}
	case lake.Unknown: // a bug over there, which the same request meets again
		return &failure{classified, lost, false}
	}
	return &failure{classified, answered, false}
}

func fromLake(err error) bool {
	s, _ := status.FromError(err)
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == grpcerr.Domain {
			return true
		}
	}
	return false
}

// matching is an error that matches a second one as well. The first gives it
// its text and its kind.
type matching struct {
	error
	also error
}

// Unwrap gives both.
func (m matching) Unwrap() []error { return []error{m.error, m.also} }

// answerError is an error found in an answer that arrived.
type answerError struct{ error }

// Unwrap gives what was found.
func (e *answerError) Unwrap() error { return e.error }

// read makes a call that changes nothing, again while that may help.
func (s *Store) read(ctx context.Context, send func(context.Context, *probe) error) error {
	start := time.Now()
	for attempt := 0; ; attempt++ {
		f := s.try(ctx, send)
		switch {
		case f == nil:
			return nil
		case f.fate == answered:
			return f.error
		case f.again && s.pause(ctx, attempt, start):
		case ctx.Err() != nil:
			return rules.Cancelled(errors.Join(ctx.Err(), f.error))
		case f.fate == lost && !f.again:
			return f.error
		default:
			return fmt.Errorf("%w: %w", metastore.ErrRetryable, f.error)
		}
	}
}

// settle makes a call that has an effect, until its outcome is known or the
// patience is over.
func (s *Store) settle(ctx context.Context, send func(context.Context, *probe) error) error {
	start, open := time.Now(), false
	for attempt := 0; ; attempt++ {
		f := s.try(ctx, send)
		if f == nil {
			return nil // now, or by an attempt before
		}
		open = open || f.fate == lost
		retryable := f.again || open && errors.Is(f.error, metastore.ErrRetryable)
		switch {
		case f.fate == answered && !open:
			return f.error
		case retryable && s.pause(ctx, attempt, start):
		case open:
			return unknown(ctx, f.error)
		case ctx.Err() != nil:
			return rules.Cancelled(errors.Join(ctx.Err(), f.error))
		default:
			return fmt.Errorf("%w: %w", metastore.ErrRetryable, f.error)
		}
	}
}

// unknown wraps the last thing that was heard. It does not match what that
// would mean on its own, such as a conflict or "not applied".
func unknown(ctx context.Context, last error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w: %v", metastore.ErrUnknownOutcome, err, last) //nolint:errorlint // see above
	}
	return fmt.Errorf("%w: %v", metastore.ErrUnknownOutcome, last) //nolint:errorlint // see above
}

// The pauses between attempts: soon enough for a connection that is made anew
// at once, and rare enough for a server that is gone.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// pause waits before another attempt. It reports false when there is none: the
// patience is over, the call's context has ended, or the store closes.
func (s *Store) pause(ctx context.Context, attempt int, start time.Time) bool {
	wait := pauseOf(attempt)
	return time.Since(start)+wait <= s.opts.Patience && s.sleep(ctx, wait)
}

func pauseOf(attempt int) time.Duration {
	wait := min(firstPause<<min(attempt, 10), lastPause)
	return wait/2 + rand.N(wait)
}

// sleep reports false when the context or the store ends before d is over.
func (s *Store) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.life.Done():
	}
	return false
}
