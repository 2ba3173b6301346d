// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"github.com/lakeplane/lake/catalog"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/metastore/pebble"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/metasrv"
)

// farLatency is what a request to an object store in the same region takes.
const farLatency = 60 * time.Millisecond

// far is an object store at a distance: local files, each request of which
// takes time, and which can do no more than a bucket can.
type far struct {
	objstore.Store
	latency time.Duration
}

func (f far) Put(ctx context.Context, key string, data []byte) error {
	time.Sleep(f.latency)
	return f.Store.Put(ctx, key, data)
}

func (f far) Open(ctx context.Context, key string) (objstore.Object, error) {
	time.Sleep(f.latency)
	return f.Store.Open(ctx, key)
}

func (f far) Delete(ctx context.Context, key string) error {
	time.Sleep(f.latency)
	return f.Store.Delete(ctx, key)
}

func (f far) Create(ctx context.Context, key string) (objstore.Writer, error) {
	w, err := f.Store.Create(ctx, key)
	return farWriter{w, f.latency}, err
}

type farWriter struct {
	objstore.Writer
	latency time.Duration
}

func (w farWriter) Commit() error {
	time.Sleep(w.latency)
	return w.Writer.Commit()
}

// startFar runs an authority in this process over a far object store.
func startFar(ctx context.Context, work string, latency time.Duration) (client *sdk.Client, stop func(), err error) {
	store, err := pebble.Open(filepath.Join(work, "far-metastore"), pebble.Options{})
	if err != nil {
		return nil, nil, err
	}
	objects, err := local.Open(filepath.Join(work, "far-objects"))
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	engine, err := enginelance.New(enginelance.Options{Store: far{objects, latency}})
	if err != nil {
		return nil, nil, err
	}
	server, err := metasrv.New(metasrv.Options{
		Store: store, Engine: engine, Election: catalog.ElectionOptions{Exclusive: true}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, nil, err
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	serving, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving, lis, metasrv.ListenOptions{Auth: access.Development()}) }()
	stop = func() {
		cancel()
		_ = errors.Join(<-served, engine.Close(), store.Close(), objects.Close()) // nothing is kept of them
	}
	for !server.Leading() {
		time.Sleep(10 * time.Millisecond)
	}
	client, err = sdk.Connect(ctx, lis.Addr().String())
	return client, stop, err
}
