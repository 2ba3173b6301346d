// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package ticket seals what a query replica must remember between two calls
// into the bytes the client carries, so that any replica with the same keys
// can go on. A sealed value is an envelope:
//
//	offset  size  content
//	0       4     magic: which kind of capability this is
//	4       1     envelope version, 1
//	5       16    key id
//	21      12    nonce
//	33      n     AES-256-GCM ciphertext and tag of a Claims protobuf
//
// The magic, version and key id are authenticated together with the audience,
// a string that names the kind of use, so a capability of one kind never opens
// as another. Whatever is wrong with an envelope, the caller learns only that
// it is not valid: the reason would help nobody but a forger.
package ticket
