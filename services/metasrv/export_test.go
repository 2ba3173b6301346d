// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv

// What the tests of hostile payloads reach for.
var (
	Decode     = decode
	ReadSchema = readSchema
)

// PublishDoubt is how long ago a table was seen that is looked up again.
const PublishDoubt = publishDoubt
