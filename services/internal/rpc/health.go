// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Health answers grpc.health.v1 for one server. The service name "" is
// liveness and always serving until [Health.Drain]; each other name follows
// [Health.Set].
type Health struct{ server *health.Server }

// RegisterHealth adds the health service to a server. The named services start
// as not serving.
func RegisterHealth(r grpc.ServiceRegistrar, services ...string) *Health {
	h := &Health{health.NewServer()}
	for _, s := range services {
		h.Set(s, false)
	}
	grpc_health_v1.RegisterHealthServer(r, h.server)
	return h
}

// Set says whether a service is ready.
func (h *Health) Set(service string, ready bool) {
	status := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if ready {
		status = grpc_health_v1.HealthCheckResponse_SERVING
	}
	h.server.SetServingStatus(service, status)
}

// Drain makes every service not serving, for good. Call it before the server
// stops, so that balancers look elsewhere first.
func (h *Health) Drain() { h.server.Shutdown() }
