// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package faultproxy

// Frames of HTTP/2 (RFC 9113, section 4.1): 9 bytes of length, type, flags and
// stream, then the payload.
const (
	frameHeader   = 9
	typeHeaders   = 1
	flagEndStream = 1
)

// HTTP2Answer is the [Options.Answer] of gRPC: the headers that end a stream.
// Settings, pings and window updates, with which a server reacts to a request
// before it has done anything about it, are none.
func HTTP2Answer() func(piece []byte) bool {
	var header []byte
	skip := 0
	return func(piece []byte) (found bool) {
		for len(piece) > 0 {
			if skip > 0 {
				n := min(skip, len(piece))
				skip, piece = skip-n, piece[n:]
				continue
			}
			n := min(frameHeader-len(header), len(piece))
			header, piece = append(header, piece[:n]...), piece[n:]
			if len(header) < frameHeader {
				break
			}
			found = found || header[3] == typeHeaders && header[4]&flagEndStream != 0
			skip = int(header[0])<<16 | int(header[1])<<8 | int(header[2])
			header = header[:0]
		}
		return found
	}
}
