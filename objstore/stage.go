// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstore

import "context"

// Stager is an optional ability of a [Store]: storing sooner what nobody looks
// for yet.
type Stager interface {
	// Stage is Put for an object that nothing refers to before the call has
	// returned nil, and whose key nobody else uses, as one with a fresh random id.
	// When it has returned nil, it is as durable as after Put. A crash of the
	// machine during the call, though not one of the process, may leave the key
	// with some of the bytes. The data are not looked at any more when the call
	// has returned.
	Stage(ctx context.Context, key string, data []byte) error
}

// StageIdentical is [PutIdentical] for what a [Stager] may store. A store that
// is none puts it.
func StageIdentical(ctx context.Context, s Store, key string, data []byte) error {
	if st, ok := s.(Stager); ok {
		return identical(ctx, s, st.Stage, key, data)
	}
	return PutIdentical(ctx, s, key, data)
}
