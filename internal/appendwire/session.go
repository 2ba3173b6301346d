// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package appendwire

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// SessionHeader is the request header that says of a DoPut, before its first
// message, that it is a session of appends: a lakepb.AppendSessionCommand opens
// it. It has no end of its own. Its value is "1".
const SessionHeader = "x-lake-append-session"

// IsSession reports whether the incoming DoPut of ctx is a session.
func IsSession(ctx context.Context) bool {
	return len(metadata.ValueFromIncomingContext(ctx, SessionHeader)) > 0
}

// MaxSessionBytes is the most that one append of a session may have, as
// [MessageSize] counts it: a larger one goes alone and is announced.
const MaxSessionBytes = 256 << 10

// A server ends a session after SessionLife, so that whoever may no longer append
// does not go on for ever, and when nothing came for SessionIdle. Clients end
// theirs earlier, to know which appends were answered.
const (
	SessionLife = 5 * time.Minute
	SessionIdle = time.Minute
)

// Opening is a session of appends as its first message announces it.
type Opening struct {
	Table lake.TableName
	// Incarnation, when it is not zero, is the only one that the appends may
	// apply to.
	Incarnation lake.Incarnation
}

// Descriptor packs the opening for the first message of a DoPut.
func (o Opening) Descriptor() (*flight.FlightDescriptor, error) {
	msg := &lakepb.AppendSessionCommand{Name: wireName(o.Table)}
	if !o.Incarnation.IsZero() {
		msg.Incarnation = o.Incarnation.String()
	}
	return describe(msg)
}

// ParseOpening reads and validates a descriptor made by [Opening.Descriptor].
func ParseOpening(d *flight.FlightDescriptor) (Opening, error) {
	var msg lakepb.AppendSessionCommand
	if !unpack(d, &msg) {
		return Opening{}, lake.Errorf(lake.Invalid, "append session: the first message must carry a descriptor with a lake.v1.AppendSessionCommand")
	}
	table, err := parseName(msg.GetName())
	if err != nil {
		return Opening{}, err
	}
	o := Opening{Table: table}
	o.Incarnation, err = parseIncarnation(msg.GetIncarnation())
	return o, err
}

// Item returns the message of one append in a session: that of its record batch
// with what it is called.
func Item(batch *flight.FlightData, operation lake.OperationID, digest lake.Digest) (*flight.FlightData, error) {
	called, err := proto.Marshal(&lakepb.AppendSessionItem{OperationId: operation[:], PayloadSha256: digest[:]})
	if err != nil {
		return nil, err
	}
	return &flight.FlightData{DataHeader: batch.GetDataHeader(), DataBody: batch.GetDataBody(), AppMetadata: called}, nil
}

// ParseItem reads the message of one append in a session. Where the error is nil
// or the operation is not zero, that operation can be answered.
func ParseItem(m *flight.FlightData) (operation lake.OperationID, digest lake.Digest, err error) {
	var item lakepb.AppendSessionItem
	if proto.Unmarshal(m.GetAppMetadata(), &item) != nil || len(item.GetOperationId()) != len(operation) {
		return operation, digest, lake.Errorf(lake.Invalid, "append session: a message must carry a lake.v1.AppendSessionItem with an operation id of %d bytes", len(operation))
	}
	operation = lake.OperationID(item.GetOperationId())
	if n := len(item.GetPayloadSha256()); n != len(digest) {
		return operation, digest, lake.Errorf(lake.Invalid, "append: payload_sha256 has %d bytes, want %d", n, len(digest))
	}
	if _, err := lake.ParseID(operation.String()); err != nil {
		return operation, digest, lake.Wrap("append: operation", err)
	}
	return operation, lake.Digest(item.GetPayloadSha256()), nil
}

// SessionResult is the outcome of one append of a session: of the error it is
// the gRPC status that is sent, or the result where there is none.
func SessionResult(operation lake.OperationID, result *lakepb.AppendResult, err error) *lakepb.AppendSessionResult {
	r := &lakepb.AppendSessionResult{OperationId: operation[:]}
	if err == nil {
		r.Outcome = &lakepb.AppendSessionResult_Applied{Applied: result}
		return r
	}
	s := status.Convert(grpcerr.ToStatus(err)).Proto()
	r.Outcome = &lakepb.AppendSessionResult_Failed{Failed: &lakepb.AppendFailure{Code: s.GetCode(), Message: s.GetMessage(), Details: s.GetDetails()}}
	return r
}

// Outcome is the result or the error that [SessionResult] was given. A result
// without either is lake.Undetermined.
func Outcome(r *lakepb.AppendSessionResult) (*lakepb.AppendResult, error) {
	if f := r.GetFailed(); f.GetCode() != 0 {
		return nil, grpcerr.FromStatus(status.FromProto(&spb.Status{Code: f.GetCode(), Message: f.GetMessage(), Details: f.GetDetails()}).Err())
	}
	if r.GetApplied() == nil {
		return nil, lake.Errorf(lake.Undetermined, "the server's answer says nothing of the append")
	}
	return r.GetApplied(), nil
}
