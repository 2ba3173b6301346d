// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// movingStore is what a local store is: one that can rename.
type movingStore interface {
	objstore.Store
	objstore.Mover
}

// flakyObjects is an object store on a bad network: a call fails before it is
// made, or is made and its answer is lost. It is safe for concurrent use.
type flakyObjects struct {
	movingStore
	mu   sync.Mutex
	rng  *rand.Rand
	rate float64
	gone bool
}

func newFlaky(inner movingStore, cfg memberConfig) *flakyObjects {
	return &flakyObjects{movingStore: inner, rng: rand.New(rand.NewPCG(cfg.FaultSeed, 1)), rate: cfg.ObjectFaults}
}

// lost returns an error when this moment is a bad one.
func (f *flakyObjects) lost(what string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone || f.rng.Float64() < f.rate/2 {
		return lake.Errorf(lake.Unavailable, "the network lost the %s", what)
	}
	return nil
}

// cut makes every call fail, or none beyond the rate.
func (f *flakyObjects) cut(off bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone = off
}

// around makes a call with a fault before or after it.
func (f *flakyObjects) around(call func() error) error {
	if err := f.lost("request"); err != nil {
		return err
	}
	if err := call(); err != nil {
		return err
	}
	return f.lost("answer")
}

func (f *flakyObjects) Put(ctx context.Context, key string, data []byte) error {
	return f.around(func() error { return f.movingStore.Put(ctx, key, data) })
}

func (f *flakyObjects) Move(ctx context.Context, from, to string) error {
	return f.around(func() error { return f.movingStore.Move(ctx, from, to) })
}

func (f *flakyObjects) Delete(ctx context.Context, key string) error {
	return f.around(func() error { return f.movingStore.Delete(ctx, key) })
}

func (f *flakyObjects) Open(ctx context.Context, key string) (objstore.Object, error) {
	if err := f.lost("request"); err != nil {
		return nil, err
	}
	return f.movingStore.Open(ctx, key)
}

func (f *flakyObjects) Create(ctx context.Context, key string) (objstore.Writer, error) {
	w, err := f.movingStore.Create(ctx, key)
	return flakyWriter{w, f}, err
}

type flakyWriter struct {
	objstore.Writer
	flaky *flakyObjects
}

func (w flakyWriter) Commit() error { return w.flaky.around(w.Writer.Commit) }
