// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package wire

import "google.golang.org/protobuf/encoding/protowire"

// Ready is an encoded FlightData message that may be sent any number of times,
// to several clients at once. Only a server with [Codec] can send it as it is.
type Ready struct {
	encoded      []byte
	header, body []byte // parts of encoded
}

// NewReady encodes a message of copies of a header and a body.
func NewReady(header, body []byte) Ready {
	var r Ready
	const tags = 32
	b := make([]byte, 0, len(header)+len(body)+tags)
	b = protowire.AppendTag(b, fieldDataHeader, protowire.BytesType)
	b = protowire.AppendBytes(b, header)
	r.header = b[len(b)-len(header):]
	b = protowire.AppendTag(b, fieldDataBody, protowire.BytesType)
	b = protowire.AppendBytes(b, body)
	r.body = b[len(b)-len(body):]
	r.encoded = b
	return r
}

// Header is the message's header, which nobody may change.
func (r Ready) Header() []byte { return r.header }

// Body is the message's body, which nobody may change.
func (r Ready) Body() []byte { return r.body }
