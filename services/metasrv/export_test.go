// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

// What the tests of hostile payloads reach for.
var (
	Decode     = decode
	ReadSchema = readSchema
)
