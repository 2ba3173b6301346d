// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"

	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/services/internal/rpc"
)

// Handshake serves drivers that trade a user name and password for a bearer
// token before they call anything else. The token is the password itself, so
// it is handed back as such. No call needs a handshake.
func (f *flightService) Handshake(stream flight.FlightService_HandshakeServer) error {
	token, err := rpc.Token(stream.Context())
	if err != nil {
		return grpcerr.ToStatus(err)
	}
	if token != "" {
		if err := stream.SendHeader(metadata.Pairs("authorization", "Bearer "+token)); err != nil {
			return err
		}
	}
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.Send(&flight.HandshakeResponse{ProtocolVersion: req.GetProtocolVersion(), Payload: []byte(token)}); err != nil {
			return err
		}
	}
}
