// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package admission bounds how much work a query replica takes on at once:
// first per tenant, so that one tenant cannot fill the replica, then over all
// tenants in order of arrival.
package admission

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/lakeplane/lake/lake"
)

// Options bounds a [Gate]. The zero value of a field means its default.
type Options struct {
	// Concurrent is how many requests run at once in the replica; default 64.
	Concurrent int
	// PerTenant is how many of them one tenant may have; default 8.
	PerTenant int
	// Tenants is how many tenants may run or wait at once; default 4,096. It
	// bounds the memory that made-up tenants can take.
	Tenants int
	// Queue is how long a request may wait, in both queues together; default
	// 100 ms. Longer queues only hide an overload from the clients.
	Queue time.Duration
}

func (o Options) withDefaults() Options {
	if o.Concurrent == 0 {
		o.Concurrent = 64
	}
	if o.PerTenant == 0 {
		o.PerTenant = 8
	}
	if o.Tenants == 0 {
		o.Tenants = 4096
	}
	if o.Queue == 0 {
		o.Queue = 100 * time.Millisecond
	}
	return o
}

// Outcome is what became of a request at the gate, for metrics.
type Outcome string

// The outcomes.
const (
	Admitted     Outcome = "admitted"
	TenantLimit  Outcome = "tenant_limit"
	ReplicaLimit Outcome = "replica_limit"
	TenantsLimit Outcome = "tenants_limit"
	ClientLeft   Outcome = "client_left"
)

const (
	tenantMessage = "the tenant already runs %d queries on this replica, and none ended within %s"
	globalMessage = "the replica already runs %d queries, and none ended within %s"
)

// Gate admits requests. It is safe for concurrent use.
type Gate struct {
	opts    Options
	replica *semaphore.Weighted

	mu      sync.Mutex
	tenants map[string]*tenant
}

// tenant is the queue of one tenant; it exists while it has users.
type tenant struct {
	slots *semaphore.Weighted
	users int
}

// New makes a gate.
func New(opts Options) *Gate {
	opts = opts.withDefaults()
	return &Gate{opts: opts, replica: semaphore.NewWeighted(int64(opts.Concurrent)), tenants: map[string]*tenant{}}
}

// Enter waits for a permit of the tenant and then for one of the replica, both
// in order of arrival. The returned function gives them back; it may be called
// more than once. A refusal is lake.Exhausted; a caller that left gets the
// context's error.
func (g *Gate) Enter(ctx context.Context, name string) (leave func(), outcome Outcome, err error) {
	t, ok := g.join(name)
	if !ok {
		return nil, TenantsLimit, lake.Errorf(lake.Exhausted, "the replica already serves %d tenants", g.opts.Tenants)
	}
	deadline, cancel := context.WithTimeout(ctx, g.opts.Queue)
	defer cancel()
	if take(deadline, t.slots) != nil {
		g.part(name, t)
		return refuse(ctx, TenantLimit, lake.Errorf(lake.Exhausted, tenantMessage, g.opts.PerTenant, g.opts.Queue))
	}
	if take(deadline, g.replica) != nil {
		t.slots.Release(1)
		g.part(name, t)
		return refuse(ctx, ReplicaLimit, lake.Errorf(lake.Exhausted, globalMessage, g.opts.Concurrent, g.opts.Queue))
	}
	return sync.OnceFunc(func() {
		g.replica.Release(1)
		t.slots.Release(1)
		g.part(name, t)
	}), Admitted, nil
}

// take takes a free place at once, whatever the time is: on a busy machine the
// wait may be over before it has begun, which is no reason to refuse.
func take(ctx context.Context, places *semaphore.Weighted) error {
	if places.TryAcquire(1) {
		return nil
	}
	return places.Acquire(ctx, 1)
}

func refuse(ctx context.Context, outcome Outcome, err error) (func(), Outcome, error) {
	if ctx.Err() != nil {
		return nil, ClientLeft, ctx.Err()
	}
	return nil, outcome, err
}

func (g *Gate) join(name string) (*tenant, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.tenants[name]
	if t == nil {
		if len(g.tenants) >= g.opts.Tenants {
			return nil, false
		}
		t = &tenant{slots: semaphore.NewWeighted(int64(g.opts.PerTenant))}
		g.tenants[name] = t
	}
	t.users++
	return t, true
}

func (g *Gate) part(name string, t *tenant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(g.tenants, name)
	}
}
