// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/internal/reads"
	"github.com/lakeplane/lake/lake"
)

// A read that met a server's end is repeated, on the next server where there is
// one. gRPC's retry policy does not do: it gives a call up once the headers of
// the answer have arrived, which is where most of a dying server's calls are.
//
// Calls that change something are not repeated here: an append is repeated with
// its operation id (tries.go), and the others by nobody.
const (
	maxReads      = 4
	readBackoff   = 50 * time.Millisecond
	backoffGrowth = 3
)

// repeatReads is the interceptor that repeats the calls that change nothing.
func repeatReads(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if !slices.Contains(reads.Methods, method) {
		return call(ctx, method, req, reply, conn, opts...)
	}
	return repeated(ctx, func() error { return call(ctx, method, req, reply, conn, opts...) })
}

// repeated makes a read until its server stays available, at most maxReads
// times, and returns the last error.
func repeated(ctx context.Context, read func() error) error {
	err := read()
	for backoff, n := readBackoff, 1; n < maxReads && unavailable(err); backoff, n = backoff*backoffGrowth, n+1 {
		if !sleep(ctx, backoff/2+rand.N(backoff/2+1)) {
			return err
		}
		err = read()
	}
	return err
}

// unavailable reports whether a read failed, as a status or translated, because
// its server was not there.
func unavailable(err error) bool {
	return err != nil && lake.Is(grpcerr.FromStatus(err), lake.Unavailable)
}
