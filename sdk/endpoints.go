// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/health" // makes the health checks of the service config work
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/lakeplane/lake/lake"
)

// maxEndpoints bounds the addresses of one list. Larger fleets stand behind a
// name or a balancer.
const maxEndpoints = 32

// parseEndpoints reads a comma separated list of host:port.
func parseEndpoints(list string) ([]string, error) {
	addrs := strings.Split(list, ",")
	if len(addrs) > maxEndpoints {
		return nil, lake.Errorf(lake.Invalid, "%d addresses: at most %d are allowed", len(addrs), maxEndpoints)
	}
	for i, addr := range addrs {
		addrs[i] = strings.TrimSpace(addr)
		if err := checkAddress(addrs[i]); err != nil {
			return nil, err
		}
		if slices.Contains(addrs[:i], addrs[i]) {
			return nil, lake.Errorf(lake.Invalid, "address %s is given twice", addrs[i])
		}
	}
	return addrs, nil
}

func checkAddress(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err == nil && host != "" {
		if n, e := strconv.Atoi(port); e == nil && n > 0 && n < 1<<16 {
			return nil
		}
	}
	return lake.Errorf(lake.Invalid, "address %q: want host:port, such as 127.0.0.1:50051", addr)
}

// plaintext decides whether the addresses are reached without TLS. The rule
// holds for each of them, and one connection has one kind of transport, so a
// list that mixes loopback with other hosts is refused rather than guessed at.
func (o *options) plaintext(addrs []string) (bool, error) {
	if o.tls != nil || o.insecure {
		return o.tls == nil, nil
	}
	first := isLoopback(addrs[0])
	for _, addr := range addrs[1:] {
		if isLoopback(addr) != first {
			return false, lake.Errorf(lake.Invalid, "addresses %s and %s: one is reached in plaintext because it is loopback, the other by TLS: choose TLS or plaintext for both, or list one kind", addrs[0], addr)
		}
	}
	return first, nil
}

// newConn makes a connection to the addresses, in the order of preference. With
// several, the first that serves the named service takes the calls. Nothing is
// dialed before the first call.
func (o *options) newConn(addrs []string, service string) (*grpc.ClientConn, error) {
	opts, err := o.dialOptions(addrs)
	if err != nil {
		return nil, err
	}
	fixed := manual.NewBuilderWithScheme("lake")
	fixed.InitialState(resolver.State{Endpoints: o.endpoints(addrs)})
	opts = append([]grpc.DialOption{
		grpc.WithResolvers(fixed),
		grpc.WithDefaultServiceConfig(serviceConfig(len(addrs), service)),
	}, opts...)
	conn, err := grpc.NewClient("lake:///"+addrs[0], opts...)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "connect to %s: %w", strings.Join(addrs, ","), err)
	}
	return conn, nil
}

// endpoints gives each address its own name, by which its certificate is
// judged, unless the TLS configuration names one for all.
func (o *options) endpoints(addrs []string) []resolver.Endpoint {
	out := make([]resolver.Endpoint, len(addrs))
	for i, addr := range addrs {
		a := resolver.Address{Addr: addr}
		if o.tls == nil || o.tls.ServerName == "" {
			a.ServerName = addr
		}
		out[i] = resolver.Endpoint{Addresses: []resolver.Address{a}}
	}
	return out
}

// serviceConfig is the gRPC service config of a connection. One address is used
// whatever its health says, so that a server without the health service, or
// one of another kind, works; among several, health chooses. gRPC's own retries
// are not asked for: see package reads.
func serviceConfig(addresses int, service string) string {
	if addresses == 1 {
		return "{}"
	}
	return `{"loadBalancingConfig": [{"` + firstReadyName + `": {}}], "healthCheckConfig": {"serviceName": ` + strconv.Quote(service) + `}}`
}
