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

// DigestOf returns the digest of a payload that is there as a whole.
func DigestOf(messages ...*flight.FlightData) lake.Digest {
	h := NewHasher()
	for _, m := range messages {
		h.Add(m)
	}
	return h.Digest()
}

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
		Name:          wireName(c.Table),
		OperationId:   c.Operation.String(),
		PayloadSha256: c.Digest[:],
	}
	if !c.Incarnation.IsZero() {
		msg.Incarnation = c.Incarnation.String()
	}
	return describe(msg)
}

// IsCommand reports whether a descriptor opens an append.
func IsCommand(d *flight.FlightDescriptor) bool { return unpack(d, new(lakepb.AppendCommand)) }

// ParseCommand reads and validates a descriptor made by [Command.Descriptor].
func ParseCommand(d *flight.FlightDescriptor) (Command, error) {
	var msg lakepb.AppendCommand
	if !unpack(d, &msg) {
		return Command{}, lake.Errorf(lake.Invalid, "append: the first message must carry a descriptor with a lake.v1.AppendCommand")
	}
	table, err := parseName(msg.GetName())
	if err != nil {
		return Command{}, err
	}
	c := Command{Table: table}
	op, err := lake.ParseID(msg.GetOperationId())
	if err != nil {
		return Command{}, lake.Wrap("append: operation", err)
	}
	if n := len(msg.GetPayloadSha256()); n != len(c.Digest) {
		return Command{}, lake.Errorf(lake.Invalid, "append: payload_sha256 has %d bytes, want %d", n, len(c.Digest))
	}
	c.Operation, c.Digest = op, lake.Digest(msg.GetPayloadSha256())
	if c.Incarnation, err = parseIncarnation(msg.GetIncarnation()); err != nil {
		return Command{}, err
	}
	return c, nil
}

func wireName(t lake.TableName) *lakepb.TableName {
	return &lakepb.TableName{Namespace: t.Namespace, Name: t.Name}
}

func parseName(n *lakepb.TableName) (lake.TableName, error) {
	t := lake.TableName{Namespace: n.GetNamespace(), Name: n.GetName()}
	return t, t.Validate()
}

// parseIncarnation reads an incarnation; none is zero.
func parseIncarnation(text string) (inc lake.Incarnation, err error) {
	if text == "" {
		return inc, nil
	}
	inc, err = lake.ParseID(text)
	return inc, lake.Wrap("append: incarnation", err)
}

// describe packs a message as the command of a descriptor.
func describe(msg proto.Message) (*flight.FlightDescriptor, error) {
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

// unpack reads the message that describe packed, and reports whether it is of
// that kind.
func unpack(d *flight.FlightDescriptor, into proto.Message) bool {
	var packed anypb.Any
	return d.GetType() == flight.DescriptorCMD && proto.Unmarshal(d.GetCmd(), &packed) == nil && packed.UnmarshalTo(into) == nil
}
