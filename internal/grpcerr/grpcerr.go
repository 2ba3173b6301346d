// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package grpcerr translates lake errors to gRPC statuses and back. The kind
// travels in a google.rpc.ErrorInfo, so that kinds which share a code (such as
// Conflict and Undetermined) stay apart.
package grpcerr

import (
	"context"
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/lake"
)

// Domain is the ErrorInfo domain of every Lake error.
const Domain = "lake"

var wire = []struct {
	kind   lake.Kind
	code   codes.Code
	reason string
}{
	{lake.Unknown, codes.Internal, "INTERNAL"},
	{lake.Invalid, codes.InvalidArgument, "INVALID"},
	{lake.NotFound, codes.NotFound, "NOT_FOUND"},
	{lake.AlreadyExists, codes.AlreadyExists, "ALREADY_EXISTS"},
	{lake.Precondition, codes.FailedPrecondition, "PRECONDITION"},
	{lake.Conflict, codes.Aborted, "CONFLICT"},
	{lake.Exhausted, codes.ResourceExhausted, "EXHAUSTED"},
	{lake.Unavailable, codes.Unavailable, "UNAVAILABLE"},
	{lake.Undetermined, codes.Unavailable, "UNDETERMINED"},
	{lake.Unauthenticated, codes.Unauthenticated, "UNAUTHENTICATED"},
	{lake.Denied, codes.PermissionDenied, "DENIED"},
	{lake.Corrupt, codes.DataLoss, "CORRUPT"},
	{lake.Unsupported, codes.Unimplemented, "UNSUPPORTED"},
	{lake.Fenced, codes.Unavailable, "FENCED"},
}

// ToStatus returns err as a gRPC status error. nil and errors that are
// statuses already pass through; context errors become Canceled and
// DeadlineExceeded. Unclassified errors keep their text: the peers of Lake are
// its own operators, and the text holds no secrets by the rule of lake.Error.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	kind := lake.KindOf(err)
	var classified *lake.Error
	if !errors.As(err, &classified) {
		if _, ok := status.FromError(err); ok {
			return err
		}
		switch {
		case errors.Is(err, context.Canceled):
			return status.Error(codes.Canceled, err.Error())
		case errors.Is(err, context.DeadlineExceeded):
			return status.Error(codes.DeadlineExceeded, err.Error())
		}
	}
	for _, w := range wire {
		if w.kind != kind {
			continue
		}
		s := status.New(w.code, err.Error())
		if detailed, e := s.WithDetails(&errdetails.ErrorInfo{Reason: w.reason, Domain: Domain}); e == nil {
			s = detailed
		}
		return s.Err()
	}
	return status.Error(codes.Internal, err.Error())
}

// FromStatus returns a *lake.Error for a gRPC status error, by its ErrorInfo
// where the server sent one and by its code otherwise. Other errors pass
// through. The status stays reachable by errors.As.
func FromStatus(err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	return &lake.Error{Kind: kindOf(s), Message: s.Message(), Err: carried{err}}
}

func kindOf(s *status.Status) lake.Kind {
	for _, d := range s.Details() {
		info, ok := d.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != Domain {
			continue
		}
		for _, w := range wire {
			if w.reason == info.GetReason() {
				return w.kind
			}
		}
	}
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded:
		return lake.Undetermined
	case codes.OutOfRange:
		return lake.Invalid
	}
	for _, w := range wire {
		if w.code == s.Code() {
			return w.kind
		}
	}
	return lake.Unknown
}

// carried keeps the status reachable without printing its text twice.
type carried struct{ error }

func (carried) Error() string   { return "" }
func (c carried) Unwrap() error { return c.error }
