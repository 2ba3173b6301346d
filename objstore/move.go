// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstore

import "context"

// Mover is an optional ability of a [Store]: giving an object its final name
// without writing its bytes again.
type Mover interface {
	// Move gives the object under from the name to, by the rule of Put: when
	// the name is taken it fails with [ErrExists] and changes nothing. A
	// missing object is [ErrNotFound]. When it returns, the new name is
	// durable. The old one is gone then too, but a crash, or a failure, may
	// leave the object under both names.
	Move(ctx context.Context, from, to string) error
}
