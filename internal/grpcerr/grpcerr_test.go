// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package grpcerr_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

func TestEveryKindSurvivesTheWire(t *testing.T) {
	for kind := lake.Unknown; kind <= lake.Fenced; kind++ {
		sent := lake.Wrap("drop a.b", lake.Errorf(kind, "because"))
		got := grpcerr.FromStatus(grpcerr.ToStatus(sent))
		require.Equal(t, kind, lake.KindOf(got), "kind %s", kind)
		require.Equal(t, "drop a.b: because", got.Error())
	}
}

func TestCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		code codes.Code
	}{
		{lake.Errorf(lake.Invalid, "x"), codes.InvalidArgument},
		{fmt.Errorf("wrapped: %w", lake.Errorf(lake.Precondition, "x")), codes.FailedPrecondition},
		{context.Canceled, codes.Canceled},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{errors.New("surprise"), codes.Internal},
		{status.Error(codes.OutOfRange, "kept"), codes.OutOfRange},
	} {
		require.Equal(t, c.code, status.Code(grpcerr.ToStatus(c.err)), "%v", c.err)
	}
	require.NoError(t, grpcerr.ToStatus(nil))
	require.NoError(t, grpcerr.FromStatus(nil))
}

func TestForeignStatusGetsAKindByItsCode(t *testing.T) {
	got := grpcerr.FromStatus(status.Error(codes.DeadlineExceeded, "too slow"))
	require.Equal(t, lake.Undetermined, lake.KindOf(got), "a call given up may have taken effect")
	require.Equal(t, codes.DeadlineExceeded, status.Code(errors.Unwrap(errors.Unwrap(got))))
}
