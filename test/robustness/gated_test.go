// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/objstore"
)

// gatedEngine reports the steps of the engine once they are done.
type gatedEngine struct {
	engine.Engine
	gate *gate
}

// adoptingEngine takes versions of other writers too.
type adoptingEngine struct {
	engine.Engine
	engine.Adopter
}

func (e gatedEngine) Create(ctx context.Context, loc lake.Location, inc lake.Incarnation, schema *arrow.Schema) (engine.Staged, error) {
	staged, err := e.Engine.Create(ctx, loc, inc, schema)
	if err == nil {
		e.gate.reach(begun)
	}
	return staged, err
}

func (e gatedEngine) StageData(ctx context.Context, loc lake.Location, schema *arrow.Schema, rows array.RecordReader) (engine.Data, error) {
	data, err := e.Engine.StageData(ctx, loc, schema, rows)
	if err == nil {
		e.gate.reach(dataStaged)
	}
	return data, err
}

func (e gatedEngine) StageAppend(ctx context.Context, base lake.Snapshot, adds []engine.Append) (engine.Staged, error) {
	staged, err := e.Engine.StageAppend(ctx, base, adds)
	if err == nil {
		e.gate.reach(manifestStaged)
	}
	return staged, err
}

func (e gatedEngine) Publish(ctx context.Context, snap lake.Snapshot) error {
	err := e.Engine.Publish(ctx, snap)
	if err == nil && snap.Version > 1 {
		e.gate.reach(published)
	}
	return err
}

// gatedObjects reports the objects of an append.
type gatedObjects struct {
	movingStore
	gate *gate
}

func (o gatedObjects) Put(ctx context.Context, key string, data []byte) error {
	if strings.HasSuffix(key, ".lance") {
		o.gate.reach(dataWritten)
	}
	err := o.movingStore.Put(ctx, key, data)
	if err == nil && strings.HasSuffix(key, ".manifest") {
		o.gate.reach(finalNamed)
	}
	return err
}

func (o gatedObjects) Move(ctx context.Context, from, to string) error {
	err := o.movingStore.Move(ctx, from, to)
	if err == nil {
		o.gate.reach(finalNamed)
	}
	return err
}

func (o gatedObjects) Create(ctx context.Context, key string) (objstore.Writer, error) {
	w, err := o.movingStore.Create(ctx, key)
	return gatedWriter{w, o.gate}, err
}

type gatedWriter struct {
	objstore.Writer
	gate *gate
}

func (w gatedWriter) Commit() error {
	w.gate.reach(dataWritten)
	return w.Writer.Commit()
}

// gatedStore reports the authoritative commits, and how they ended.
type gatedStore struct {
	metastore.Store
	gate *gate
}

// The kinds of commits, as the wrapper tells them apart by their keys.
const (
	advanceCommit  = "advance"
	createCommit   = "create"
	dropCommit     = "drop"
	takeoverCommit = "takeover"
	renewCommit    = "renew"
)

// kindOf says what a transaction is, or "" for others.
func kindOf(txn metastore.Txn) string {
	puts := map[string]bool{}
	for _, op := range txn.Ops {
		if op.Effect == metastore.Put {
			family, _, _ := strings.Cut(op.Key, "/")
			puts[family] = true
			puts[op.Key] = true
		}
	}
	switch {
	case puts["append-operation"]:
		return advanceCommit
	case puts["drop"]:
		return dropCommit
	case puts["tbl"]:
		return createCommit
	case puts["election/leader/00"]:
		return takeoverCommit
	case puts["election/leader-deadline"]:
		return renewCommit
	}
	return ""
}

var afterCommit = map[string]point{
	advanceCommit: committed, createCommit: created, dropCommit: dropped, takeoverCommit: tookOver, renewCommit: renewed,
}

func (s *gatedStore) Commit(ctx context.Context, txn metastore.Txn) error {
	kind := kindOf(txn)
	if kind == renewCommit {
		s.gate.reach(renewing)
	}
	err := s.Store.Commit(ctx, txn)
	if kind == "" {
		return err
	}
	s.gate.say("commit %s %s", kind, verdict(err))
	if err == nil {
		s.gate.reach(afterCommit[kind])
	}
	return err
}

// verdict puts the outcome of a commit into one word.
func verdict(err error) string {
	var conflict *metastore.ConflictError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &conflict):
		return "conflict:" + conflict.Key
	case errors.Is(err, metastore.ErrRetryable):
		return "retryable"
	}
	return "unknown"
}

// stream reports when the payload of a stream has arrived, and when its answer
// is ready.
func (g *gate) stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return handler(srv, gatedStream{ss, g})
}

type gatedStream struct {
	grpc.ServerStream
	gate *gate
}

func (s gatedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if errors.Is(err, io.EOF) {
		s.gate.reach(received)
	}
	return err
}

func (s gatedStream) SendMsg(m any) error {
	s.gate.reach(answering)
	return s.ServerStream.SendMsg(m)
}
