// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// Service is what [Serve] runs.
type Service interface {
	// Register adds the service's methods to the server.
	Register(r grpc.ServiceRegistrar)
	// Run works until ctx ends, and then takes no more work and returns when
	// what it took is done. It bounds that by a time of its own.
	Run(ctx context.Context) error
	// Ready reports whether calls are of use now.
	Ready() bool
}

// readyEvery is how often a service is asked whether it is ready: soon enough
// for a balancer, which looks once in some seconds.
const readyEvery = 50 * time.Millisecond

// Serve runs a service on a listener, which it closes, until ctx ends or the
// listener breaks. health names the service whose readiness is told.
//
// A listener that others can reach without TLS and authentication is refused.
// When ctx ends, health says "not serving" first; then the service drains, and
// the calls that are left end or are cut off. All of that takes at most the
// grace, unless the service's Run takes longer.
func Serve(ctx context.Context, lis net.Listener, opts Options, svc Service, health string, grace time.Duration) error {
	if err := CheckListener(lis.Addr(), opts); err != nil {
		return errors.Join(err, lis.Close())
	}
	// What a caller watches has no end of its own.
	watches, endWatches := context.WithCancel(context.WithoutCancel(ctx))
	defer endWatches()
	server := newServer(watches, opts)
	svc.Register(server)
	for _, register := range opts.Also {
		register(server)
	}
	told := RegisterHealth(server, health)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopping := stopwatch(ctx)
	served := make(chan error, 1)
	go func() {
		defer cancel() // a broken listener ends the rest
		served <- server.Serve(lis)
	}()
	var telling sync.WaitGroup
	telling.Go(func() { tellReadiness(ctx, svc, told, health) })
	err := svc.Run(ctx)
	cancel()
	telling.Wait()
	endWatches()
	left, done := context.WithDeadline(context.WithoutCancel(ctx), stopping().Add(grace))
	defer done()
	Stop(left, server)
	return errors.Join(err, <-served)
}

// stopwatch returns a function that waits for ctx to end and tells when it did.
func stopwatch(ctx context.Context) func() time.Time {
	ended := make(chan time.Time, 1)
	context.AfterFunc(ctx, func() { ended <- time.Now() })
	return func() time.Time { return <-ended }
}

// tellReadiness keeps the health of a service current, and ends all of it with
// ctx, before the service drains.
func tellReadiness(ctx context.Context, svc Service, told *Health, name string) {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		told.Set(name, svc.Ready())
		select {
		case <-ctx.Done():
			told.Drain()
			return
		case <-tick.C:
		}
	}
}
