// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
)

// firstReadyName is the balancing policy of connections with several endpoints.
//
// It keeps every endpoint connected and watched, as round_robin does, with the
// same parts of gRPC, and sends every call to the first endpoint in the
// caller's order that is connected and healthy. So calls leave an endpoint
// when its connection breaks or it says that it does not serve, and return
// when it is back.
//
// Neither policy of gRPC does that. round_robin spreads the calls of one
// program over all replicas, which then reads the table names that another
// replica remembered before the program's own append. pick_first stays with a
// replica that is connected and not serving, and never returns.
const firstReadyName = "lake_first_ready"

func init() { balancer.Register(firstReadyBuilder{}) }

type firstReadyBuilder struct{}

// Name implements balancer.Builder.
func (firstReadyBuilder) Name() string { return firstReadyName }

// Build implements balancer.Builder.
func (firstReadyBuilder) Build(cc balancer.ClientConn, opts balancer.BuildOptions) balancer.Balancer {
	ordered := &orderedConn{ClientConn: cc}
	child := balancer.Get(pickfirst.Name).Build
	return &firstReady{endpointsharding.NewBalancer(ordered, opts, child, endpointsharding.Options{}), ordered}
}

type firstReady struct {
	balancer.Balancer
	conn *orderedConn
}

// UpdateClientConnState implements balancer.Balancer.
func (b *firstReady) UpdateClientConnState(s balancer.ClientConnState) error {
	// gRPC calls this before any state of a child, and not again: the list of
	// a connection is fixed.
	b.conn.order = make(map[string]int, len(s.ResolverState.Endpoints))
	for i, e := range s.ResolverState.Endpoints {
		b.conn.order[e.Addresses[0].Addr] = i
	}
	return b.Balancer.UpdateClientConnState(balancer.ClientConnState{ResolverState: pickfirst.EnableHealthListener(s.ResolverState)})
}

// orderedConn replaces the picker that alternates among ready endpoints by one
// that takes the first.
type orderedConn struct {
	balancer.ClientConn
	order map[string]int // by address
}

// UpdateState implements balancer.ClientConn.
func (c *orderedConn) UpdateState(s balancer.State) {
	first, rank := (*endpointsharding.ChildState)(nil), 0
	for _, child := range endpointsharding.ChildStatesFromPicker(s.Picker) {
		r := c.order[child.Endpoint.Addresses[0].Addr]
		if child.State.ConnectivityState == connectivity.Ready && (first == nil || r < rank) {
			first, rank = &child, r
		}
	}
	if first != nil {
		s.Picker = namedPicker{first.State.Picker, first.Endpoint.Addresses[0]}
	}
	c.ClientConn.UpdateState(s)
}

// namedPicker sends calls under the name of the endpoint they go to, which
// proxies route by.
type namedPicker struct {
	balancer.Picker
	addr resolver.Address
}

// Pick implements balancer.Picker.
func (p namedPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	r, err := p.Picker.Pick(info)
	if err == nil && p.addr.ServerName != "" {
		r.Metadata = metadata.Join(r.Metadata, metadata.Pairs(":authority", p.addr.ServerName))
	}
	return r, err
}
