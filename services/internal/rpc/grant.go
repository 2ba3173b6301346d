// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"time"

	"github.com/lakeplane/lake/services/access"
)

// granted says what a call was let in for.
type granted struct {
	guard     guard
	principal access.Principal
}

type grantKey struct{}

// askEvery is how long a caller who may not call any more can go on with a call
// that lasts: about what it takes to notice that a file of principals has changed.
const askEvery = time.Second

// Grant tells a call that lasts whether its caller would still be let in as it
// was: its token may have been withdrawn since, or a namespace. One goroutine may
// use it.
type Grant struct {
	ctx   context.Context //nolint:containedctx // the call's
	asked time.Time
}

// GrantOf returns the grant of the call with the context ctx. Outside of a call
// it lasts.
func GrantOf(ctx context.Context) *Grant { return &Grant{ctx: ctx, asked: time.Now()} }

// Lasts reports whether the caller may go on. It is cheap, since it asks once a
// second.
func (g *Grant) Lasts() bool {
	now := time.Now()
	if now.Sub(g.asked) < askEvery {
		return true
	}
	g.asked = now
	then, ok := g.ctx.Value(grantKey{}).(granted)
	if !ok {
		return true
	}
	p, err := then.guard.principal(g.ctx)
	return err == nil && p.Equal(then.principal)
}
