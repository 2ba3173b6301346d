// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// serveCodec runs work and, on a listener that may be nil, the endpoint that
// decrypts payloads for Temporal's web pages, until work has ended.
func serveCodec(ctx context.Context, lis net.Listener, t *Temporal, origin string, work func(context.Context) error) error {
	if lis == nil {
		return work(ctx)
	}
	server := &http.Server{Handler: t.Codec.Handler(origin), ReadHeaderTimeout: 10 * time.Second}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		err := work(ctx)
		return errors.Join(err, server.Close())
	})
	g.Go(func() error {
		if err := server.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return g.Wait()
}
