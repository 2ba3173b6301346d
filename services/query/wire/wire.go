// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package wire sends Arrow record batches over gRPC without copying them. The
// stock way copies a batch twice, from its buffers into the body of a message
// and from there into the encoding of the message; here the encoding refers to
// the batch's buffers, and only small pieces are copied together.
package wire

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that Codec wraps
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of a FlightData message (Arrow Flight, Flight.proto).
const (
	fieldDataHeader protowire.Number = 2
	fieldDataBody   protowire.Number = 1000
)

// copyBelow is the size under which a piece is copied: a reference costs more
// than a small copy, and gRPC writes each piece by itself.
const copyBelow = 4 << 10

// Data is a FlightData message over the buffers of a batch. Only a server with
// [Codec] can send it.
type Data struct {
	header []byte
	body   pieces
	size   int
	batch  arrow.RecordBatch
}

// NewData refers to a payload's buffers. batch is the batch the payload was
// made from: it is retained until the message has been written, so that its
// buffers stay as they are. Make a Data, send it once, and forget it.
func NewData(payload ipc.Payload, batch arrow.RecordBatch) (*Data, error) {
	d := &Data{batch: batch}
	meta := payload.Meta()
	defer meta.Release()
	d.header = append([]byte(nil), meta.Bytes()...)
	if err := payload.SerializeBody(&d.body); err != nil {
		return nil, err
	}
	for _, p := range d.body {
		d.size += len(p)
	}
	return d, nil
}

// Size is the size of the message's header and body.
func (d *Data) Size() int { return len(d.header) + d.size }

// Header is the message's header, the encoding of the batch's layout.
func (d *Data) Header() []byte { return d.header }

// Body is a copy of the message's body.
func (d *Data) Body() []byte {
	out := make([]byte, 0, d.size)
	for _, p := range d.body {
		out = append(out, p...)
	}
	return out
}

// pieces collects what is written, without copying it. That is allowed here
// because an IPC payload writes its own buffers, and constant padding.
type pieces [][]byte

func (p *pieces) Write(b []byte) (int, error) {
	*p = append(*p, b)
	return len(b), nil
}

// encode returns the protobuf encoding of the message.
func (d *Data) encode() mem.BufferSlice {
	var out mem.BufferSlice
	small := make([]byte, 0, len(d.header)+64)
	small = protowire.AppendTag(small, fieldDataHeader, protowire.BytesType)
	small = protowire.AppendBytes(small, d.header)
	small = protowire.AppendTag(small, fieldDataBody, protowire.BytesType)
	small = protowire.AppendVarint(small, uint64(d.size))
	for _, p := range d.body {
		if len(p) < copyBelow {
			small = append(small, p...)
			continue
		}
		if len(small) > 0 {
			out = append(out, mem.SliceBuffer(small))
			small = nil
		}
		out = append(out, d.refer(p))
	}
	if len(small) > 0 {
		out = append(out, mem.SliceBuffer(small))
	}
	return out
}

// refer makes a buffer of a piece that keeps the batch until it is written.
func (d *Data) refer(p []byte) mem.Buffer {
	if d.batch == nil {
		return mem.SliceBuffer(p)
	}
	d.batch.Retain()
	return mem.NewBuffer(&p, releasing{d.batch})
}

// releasing lets go of a batch when gRPC returns a buffer.
type releasing struct{ batch arrow.RecordBatch }

func (releasing) Get(n int) *[]byte { b := make([]byte, n); return &b }
func (r releasing) Put(*[]byte)     { r.batch.Release() }

// Codec is the protobuf codec, which also encodes [Data].
type Codec struct{ encoding.CodecV2 }

// NewCodec wraps gRPC's protobuf codec. Install it with
// grpc.ForceServerCodecV2.
func NewCodec() Codec { return Codec{encoding.GetCodecV2("proto")} }

// Marshal implements encoding.CodecV2.
func (c Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch d := v.(type) {
	case *Data:
		return d.encode(), nil
	case Ready:
		return mem.BufferSlice{mem.SliceBuffer(d.encoded)}, nil
	}
	return c.CodecV2.Marshal(v)
}
