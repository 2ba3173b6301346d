// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package appendwire holds what a client and the authority must agree on
// about an append's Flight stream: how it is opened and what its digest
// covers.
package appendwire

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
)

// domain separates this digest from any other use of SHA-256.
const domain = "lake.append.flight-metadata.v1\x00"

// Hasher computes the digest of an ordered Flight payload: SHA-256 over a
// domain label, then for each message its data header, data body and
// application metadata, each behind its length as eight big-endian bytes.
// Descriptors are not covered. Make one with [NewHasher].
type Hasher struct{ h hash.Hash }

// NewHasher starts a digest.
func NewHasher() *Hasher {
	h := sha256.New()
	h.Write([]byte(domain))
	return &Hasher{h}
}

// Add covers the next message of the stream.
func (h *Hasher) Add(d *flight.FlightData) {
	for _, part := range [][]byte{d.GetDataHeader(), d.GetDataBody(), d.GetAppMetadata()} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.h.Write(length[:])
		h.h.Write(part)
	}
}

// Digest returns the digest of the messages added so far.
func (h *Hasher) Digest() lake.Digest { return lake.Digest(h.h.Sum(nil)) }

// Command is an append as its first message announces it.
type Command struct {
	Table     lake.TableName
	Operation lake.OperationID
	Digest    lake.Digest
	// Incarnation, when it is not zero, is the only one the append may apply to.
	Incarnation lake.Incarnation
}

// SizeHeader is the request header by which a client announces the size of its
// payload, as [MessageSize] counts it, in decimal. With it the authority sets
// aside what the append needs instead of what any append may need, before it
// reads the first message; a payload over its announcement is refused.
const SizeHeader = "x-lake-payload-bytes"

// messageOverhead is counted for each message beside its parts.
const messageOverhead = 64

// MessageSize is what a message counts against the limits of an append, in
// bytes.
func MessageSize(d *flight.FlightData) int64 {
	return int64(len(d.GetDataHeader())+len(d.GetDataBody())+len(d.GetAppMetadata())) + messageOverhead
}

// Descriptor packs the command for the first message of a DoPut.
func (c Command) Descriptor() (*flight.FlightDescriptor, error) {
	msg := &lakepb.AppendCommand{
		Name:          &lakepb.TableName{Namespace: c.Table.Namespace, Name: c.Table.Name},
		OperationId:   c.Operation.String(),
		PayloadSha256: c.Digest[:],
	}
	if !c.Incarnation.IsZero() {
		msg.Incarnation = c.Incarnation.String()
	}
	packed, err := anypb.New(msg)
	if err != nil {
		return nil, err
	}
	cmd, err := proto.Marshal(packed)
	if err != nil {
		return nil, err
	}
	return &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: cmd}, nil
}

// IsCommand reports whether a descriptor opens an append.
func IsCommand(d *flight.FlightDescriptor) bool {
	_, ok := unpack(d)
	return ok
}

// ParseCommand reads and validates a descriptor made by [Command.Descriptor].
func ParseCommand(d *flight.FlightDescriptor) (Command, error) {
	msg, ok := unpack(d)
	if !ok {
		return Command{}, lake.Errorf(lake.Invalid, "append: the first message must carry a descriptor with a lake.v1.AppendCommand")
	}
	c := Command{Table: lake.TableName{Namespace: msg.GetName().GetNamespace(), Name: msg.GetName().GetName()}}
	if err := c.Table.Validate(); err != nil {
		return Command{}, err
	}
	op, err := lake.ParseID(msg.GetOperationId())
	if err != nil {
		return Command{}, lake.Wrap("append: operation", err)
	}
	if n := len(msg.GetPayloadSha256()); n != len(c.Digest) {
		return Command{}, lake.Errorf(lake.Invalid, "append: payload_sha256 has %d bytes, want %d", n, len(c.Digest))
	}
	c.Operation, c.Digest = op, lake.Digest(msg.GetPayloadSha256())
	if text := msg.GetIncarnation(); text != "" {
		if c.Incarnation, err = lake.ParseID(text); err != nil {
			return Command{}, lake.Wrap("append: incarnation", err)
		}
	}
	return c, nil
}

func unpack(d *flight.FlightDescriptor) (*lakepb.AppendCommand, bool) {
	var packed anypb.Any
	if d.GetType() != flight.DescriptorCMD || proto.Unmarshal(d.GetCmd(), &packed) != nil {
		return nil, false
	}
	msg := new(lakepb.AppendCommand)
	if packed.UnmarshalTo(msg) != nil {
		return nil, false
	}
	return msg, true
}
