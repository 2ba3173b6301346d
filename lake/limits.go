// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lake

import "time"

// Limits every tier agrees on. A limit that an operator may change is a field
// of the tier's options instead, with one of these as its default.
const (
	// MaxAppendRows bounds the rows of one append operation.
	MaxAppendRows = 10_000
	// MaxAppendBytes bounds the decoded Flight payload of one append.
	MaxAppendBytes = 64 << 20
	// MaxSchemaBytes bounds a schema as an Arrow IPC message.
	MaxSchemaBytes = 1 << 20
	// MaxSQLBytes bounds one SQL text.
	MaxSQLBytes = 1 << 20
	// MaxPageSize bounds a listing's page.
	MaxPageSize = 10_000
	// DefaultTenant is the tenant of a deployment that does not name any.
	DefaultTenant = "default"

	// OperationRetention is how long an append operation's id is remembered,
	// and so how long a replay of it is safe.
	OperationRetention = 7 * 24 * time.Hour
	// OperationFutureSkew is how far ahead of the server's clock an operation
	// id may be.
	OperationFutureSkew = 5 * time.Minute
)
