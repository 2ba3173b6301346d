// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import "encoding/binary"

// The layout of the database. The first byte of a key is its family:
//
//	d<key>                         → value of a record
//	t<generation, 8 bytes><token>  → digest of the transaction
//	mlayout                        → layoutVersion
//	mtokens                        → generation and its start, 8 bytes each
const (
	recordFamily byte = 'd'
	tokenFamily  byte = 't'

	layoutVersion = "lake-metastore-1"
)

var (
	layoutKey = []byte("mlayout")
	tokensKey = []byte("mtokens")
)

// recordKey appends the database's key of a record to buf.
func recordKey(buf []byte, key string) []byte {
	return append(append(buf, recordFamily), key...)
}

// tokenKey appends the database's key of a token to buf.
func tokenKey(buf []byte, generation uint64, token string) []byte {
	buf = binary.BigEndian.AppendUint64(append(buf, tokenFamily), generation)
	return append(buf, token...)
}

// splitTokenKey is the inverse of tokenKey.
func splitTokenKey(key []byte) (generation uint64, token string) {
	return binary.BigEndian.Uint64(key[1:]), string(key[9:])
}
