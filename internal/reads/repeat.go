// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package reads

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// A read that met a server's end is repeated, on the next server where there is
// one. gRPC's retry policy does not do: it gives a call up once the headers of
// the answer have arrived, which is where most of a dying server's calls are.
const (
	maxAttempts   = 4
	firstBackoff  = 50 * time.Millisecond
	backoffGrowth = 3
)

// Repeating is a client's interceptor that repeats the calls of [Methods] while
// their server is not there; see [Repeat]. Other calls it leaves alone.
func Repeating(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if !slices.Contains(Methods, method) {
		return call(ctx, method, req, reply, conn, opts...)
	}
	return Repeat(ctx, func() error { return call(ctx, method, req, reply, conn, opts...) })
}

// Repeat makes a read until its server stays available, at most four times within
// about a second, and returns the last error. It gives up early when ctx ends.
// The error of read is a status or translated.
func Repeat(ctx context.Context, read func() error) error {
	err := read()
	for backoff, n := firstBackoff, 1; n < maxAttempts && unavailable(err); backoff, n = backoff*backoffGrowth, n+1 {
		timer := time.NewTimer(backoff/2 + rand.N(backoff/2+1))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		err = read()
	}
	return err
}

// unavailable reports whether a read failed because its server was not there.
func unavailable(err error) bool {
	return err != nil && lake.Is(grpcerr.FromStatus(err), lake.Unavailable)
}
