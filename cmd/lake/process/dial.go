// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"encoding/json"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // the client's side of health checking
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/secure"
	"github.com/lakeplane/lake/internal/reads"
	"github.com/lakeplane/lake/lake"
)

// DialMeta connects to the metadata servers at these addresses, host:port. It
// does no I/O. Calls take turns over the servers that answer and say that they
// are ready, and a read that meets one that is going away, also in the middle of
// its answer, is tried again at another. One address may be a name of several servers.
func DialMeta(addresses []string, caller config.Caller, plaintext bool) (*grpc.ClientConn, error) {
	opts, err := callerOptions(caller, plaintext, addresses...)
	if err != nil {
		return nil, err
	}
	target := "dns:///" + addresses[0]
	if len(addresses) > 1 {
		servers := manual.NewBuilderWithScheme("lake")
		servers.InitialState(resolver.State{Addresses: resolved(addresses)})
		target, opts = "lake:///servers", append(opts, grpc.WithResolvers(servers))
	}
	conn, err := grpc.NewClient(target, append(opts, grpc.WithDefaultServiceConfig(metaServiceConfig), grpc.WithChainUnaryInterceptor(reads.Repeating))...)
	if err != nil {
		return nil, lake.Errorf(lake.Invalid, "metadata servers %v: %w", addresses, err)
	}
	return conn, nil
}

// resolved gives each server its own name for the check of its certificate.
func resolved(addresses []string) []resolver.Address {
	out := make([]resolver.Address, len(addresses))
	for i, a := range addresses {
		host, _, _ := net.SplitHostPort(a)
		out[i] = resolver.Address{Addr: a, ServerName: host}
	}
	return out
}

// dialPeer connects to one member of the group, for another member.
func dialPeer(address string, caller config.Caller, plaintext bool) (*grpc.ClientConn, error) {
	opts, err := callerOptions(caller, plaintext, address)
	if err != nil {
		return nil, err
	}
	return grpc.NewClient("passthrough:///"+address, opts...)
}

// callerOptions are the credentials, limits and keepalive of a connection.
func callerOptions(c config.Caller, plaintext bool, addresses ...string) ([]grpc.DialOption, error) {
	transport := insecure.NewCredentials()
	encrypted := c.Encrypted(plaintext, addresses...)
	if encrypted {
		tls, err := c.TLS()
		if err != nil {
			return nil, err
		}
		transport = credentials.NewTLS(tls)
	}
	opts := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(lake.MaxAppendBytes), grpc.MaxCallSendMsgSize(lake.MaxAppendBytes)),
		// A server that vanished is noticed, and another one asked.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithUserAgent("lake"),
		grpc.WithNoProxy(), // a proxy for the web is no way to a neighbour
	}
	if c.Token != "" {
		token, err := secure.OpenSecret(c.Token)
		if err != nil {
			return nil, err
		}
		opts = append(opts, grpc.WithPerRPCCredentials(secure.Bearer{Token: token, Plaintext: !encrypted}))
	}
	return opts, nil
}

// metaServiceConfig spreads calls over the members that are ready. Reads that meet
// one that is gone are repeated by package reads, and writes by who knows their
// operation ids: the client.
var metaServiceConfig = func() string {
	// Nobody waits for a refresh, and a replica that starts first should begin
	// as soon as there is a server. What breaks off later the directory asks for
	// again.
	refresh := []map[string]string{{"service": lakepb.Catalog_ServiceDesc.ServiceName, "method": "CatalogSnapshot"}}
	retry := map[string]any{
		"maxAttempts": 4, "initialBackoff": "0.05s", "maxBackoff": "1s", "backoffMultiplier": 3,
		"retryableStatusCodes": []string{"UNAVAILABLE"},
	}
	text, err := json.Marshal(map[string]any{
		"loadBalancingConfig": []any{map[string]any{"round_robin": struct{}{}}},
		"healthCheckConfig":   map[string]string{"serviceName": lakepb.Catalog_ServiceDesc.ServiceName},
		"methodConfig": []any{
			map[string]any{"name": refresh, "retryPolicy": retry, "waitForReady": true},
		},
	})
	if err != nil {
		panic(err) // maps of strings
	}
	return string(text)
}()
