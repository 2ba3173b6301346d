// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package catalog

import "context"

// turn is a mutex whose Lock gives up with its context.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) lock(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) unlock() { <-t }
