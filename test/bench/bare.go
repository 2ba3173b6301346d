// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// bare is the least a Flight server can do: it answers with a batch that is
// ready, some number of times.
type bare struct {
	flight.BaseFlightServer
	batch arrow.RecordBatch
	times int
}

func (b *bare) GetFlightInfo(_ context.Context, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return &flight.FlightInfo{
		Schema: flight.SerializeSchema(b.batch.Schema(), memory.DefaultAllocator), FlightDescriptor: desc,
		Endpoint:     []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: []byte("ready")}}},
		TotalRecords: -1, TotalBytes: -1,
	}, nil
}

func (b *bare) DoGet(_ *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	w := flight.NewRecordWriter(stream, ipc.WithSchema(b.batch.Schema()))
	for range b.times {
		if err := w.Write(b.batch); err != nil {
			return err
		}
	}
	return w.Close()
}

// serveBare starts a bare server in this process, and a client of it.
func serveBare(batch arrow.RecordBatch, times int) (client flight.Client, stop func(), err error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	server := grpc.NewServer()
	flight.RegisterFlightServiceServer(server, &bare{batch: batch, times: times})
	go func() { _ = server.Serve(lis) }() // it ends with Stop
	client, err = flight.NewClientWithMiddleware(lis.Addr().String(), nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		server.Stop()
		return nil, nil, err
	}
	return client, func() { _ = client.Close(); server.Stop() }, nil
}

// askBare makes the two calls of a query and reads the answer.
func askBare(ctx context.Context, client flight.Client) error {
	info, err := client.GetFlightInfo(ctx, &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: []byte("ready")})
	if err != nil {
		return err
	}
	stream, err := client.DoGet(ctx, info.GetEndpoint()[0].GetTicket())
	if err != nil {
		return err
	}
	r, err := flight.NewRecordReader(stream)
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
	}
	return r.Err()
}
