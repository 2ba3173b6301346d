// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"errors"
	"io"
	"strings"

	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// withOp says what was asked, unless the server's message already names it.
func withOp(op string, err error) error {
	if err == nil || strings.Contains(err.Error(), op) {
		return err
	}
	return lake.Wrap(op, err)
}

// fromStream translates an error met while reading a stream. Readers wrap the
// status in texts of their own, which say nothing to a caller.
func fromStream(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return grpcerr.FromStatus(s.GRPCStatus().Err())
	}
	return grpcerr.FromStatus(err)
}
