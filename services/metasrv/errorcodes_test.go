// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/services/metasrv"
)

// pinned returns the append for one incarnation only.
func (o op) pinned(t testing.TB, table *lakepb.Table) op {
	t.Helper()
	inc, err := lake.ParseID(table.GetSnapshot().GetIncarnation())
	require.NoError(t, err)
	o.command.Incarnation = inc
	return o
}

// at returns the append with an id of another time.
func (o op) at(d time.Duration) op {
	o.command.Operation = lake.NewIDAt(time.Now().Add(d))
	return o
}

// emptyOf is an append of one row of nothing.
func emptyOf(t testing.TB, fields ...arrow.Field) op {
	t.Helper()
	s := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(arrowmem.DefaultAllocator, s)
	for i := range fields {
		b.Field(i).AppendEmptyValue()
	}
	return opOf("a", "t", encode(t, s, []arrow.RecordBatch{b.NewRecordBatch()}))
}

// TestErrorCodesOfAppends goes over the contract of what a client is told, one
// refusal at a time, over a connection. Whatever is refused is not in the table.
func TestErrorCodesOfAppends(t *testing.T) {
	a := start(t)
	table := a.create(t, "a", "t")
	applied := newOp(t, "a", "t", 1)
	_, err := a.put(t.Context(), applied)
	require.NoError(t, err)
	again := a.create(t, "a", "again")
	before := newOp(t, "a", "again", 1)
	_, err = a.put(t.Context(), before)
	require.NoError(t, err)
	a.drop(t, "again", time.Hour)
	a.create(t, "a", "again")
	a.create(t, "a", "gone")
	lost := newOp(t, "a", "gone", 1)
	_, err = a.put(t.Context(), lost)
	require.NoError(t, err)
	gone := a.drop(t, "gone", time.Hour).GetDropped()

	digest, other := newOp(t, "a", "t", 2), newOp(t, "a", "t", 3)
	digest.command.Digest[31]++
	other.command.Operation = applied.command.Operation
	many := make([]int64, 500)
	for label, tc := range map[string]struct {
		op       op
		code     codes.Code
		contains string
	}{
		"the digest is another":                  {digest, codes.InvalidArgument, "sha256"},
		"not Arrow":                              {opOf("a", "t", []*flight.FlightData{{DataHeader: []byte("x")}}), codes.InvalidArgument, "Arrow IPC"},
		"compressed by zstd":                     {opOf("a", "t", encode(t, ints, []arrow.RecordBatch{rowsOf(many...)}, ipc.WithZstd())), codes.InvalidArgument, "compressed"},
		"compressed by lz4":                      {opOf("a", "t", encode(t, ints, []arrow.RecordBatch{rowsOf(many...)}, ipc.WithLZ4())), codes.InvalidArgument, "compressed"},
		"the id is of the future":                {newOp(t, "a", "t", 2).at(lake.OperationFutureSkew + time.Minute), codes.InvalidArgument, "future"},
		"the schema is another from field 0 on":  {emptyOf(t, arrow.Field{Name: "m", Type: arrow.PrimitiveTypes.Int64}, arrow.Field{Name: "x", Type: arrow.BinaryTypes.String}), codes.InvalidArgument, `"m"`},
		"the schema is another from field 1 on":  {emptyOf(t, ints.Field(0), arrow.Field{Name: "s", Type: arrow.PrimitiveTypes.Int8}, arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int8}), codes.InvalidArgument, `"s"`},
		"the id was used for other rows":         {other, codes.AlreadyExists, "another payload"},
		"the id has expired":                     {newOp(t, "a", "t", 2).at(-lake.OperationRetention - time.Minute), codes.FailedPrecondition, "old"},
		"applied before the table was recreated": {before, codes.FailedPrecondition, "earlier table"},
		"prepared before it was recreated":       {newOp(t, "a", "again", 2).pinned(t, again), codes.FailedPrecondition, "created again"},
		"applied before the table was dropped":   {lost, codes.FailedPrecondition, "dropped since"},
		"prepared before it was dropped":         {newOp(t, "a", "gone", 2).pinned(t, gone), codes.FailedPrecondition, "it was dropped"},
		"after it was dropped":                   {newOp(t, "a", "gone", 2), codes.FailedPrecondition, "the table was dropped"},
		"pinned, and there is no such table":     {newOp(t, "a", "none", 2).pinned(t, table), codes.FailedPrecondition, "it was dropped"},
		"there is no such table":                 {newOp(t, "a", "none", 2), codes.NotFound, "no table a.none"},
	} {
		t.Run(label, func(t *testing.T) {
			_, err := a.put(t.Context(), tc.op)
			requireCode(t, tc.code, err, tc.contains)
			require.NotContains(t, err.Error(), `"x"`, "the first field that differs is named")
			require.NotContains(t, err.Error(), `"y"`, "the first field that differs is named")
		})
	}
	require.Equal(t, []int64{1}, a.numbers(t, "a", "t"))
	require.Empty(t, a.numbers(t, "a", "again"))

	endDrop(t, a, gone)
	_, err = a.put(t.Context(), newOp(t, "a", "gone", 2))
	requireCode(t, codes.NotFound, err, "no table a.gone")
	_, err = a.put(t.Context(), lost)
	requireCode(t, codes.FailedPrecondition, err, "dropped since")
}

// TestErrorCodesWithoutALeader: whoever does not lead, or does not any more, is
// not available.
func TestErrorCodesWithoutALeader(t *testing.T) {
	store, storage := memory.New(), enginetest.NewMemory()
	defer store.Close()
	leader := startOn(t, store, storage)
	leader.create(t, "a", "t")
	follower := startOn(t, store, storage, func(o *metasrv.Options) { o.Election = catalog.ElectionOptions{Address: "f:1"} })
	_, err := follower.put(t.Context(), newOp(t, "a", "t", 1))
	requireCode(t, codes.Unavailable, err, "not the leader")
	startOn(t, store, storage) // takes over, and the first has not heard of it
	for range 2 {
		_, err = leader.put(t.Context(), newOp(t, "a", "t", 1))
		requireCode(t, codes.Unavailable, err, "another leader took over")
	}
	require.Empty(t, follower.numbers(t, "a", "t"))
}

// TestErrorCodesOverBudget fills the places and then the bytes.
func TestErrorCodesOverBudget(t *testing.T) {
	for budget, change := range map[string]func(*metasrv.AppendOptions){
		"under way": func(o *metasrv.AppendOptions) { o.Concurrent = 1 },
		"reserved":  func(o *metasrv.AppendOptions) { o.StreamBytes, o.BufferedBytes = 1<<20, 1<<20+1 },
	} {
		t.Run(budget, func(t *testing.T) {
			a := start(t, func(o *metasrv.Options) { o.Append.Wait = time.Millisecond; change(&o.Append) })
			a.create(t, "a", "t")
			hold, holding := make(chan struct{}), make(chan struct{}, 1)
			a.engine.set(func(d *disturbed) {
				d.stageData = func(context.Context) error { holding <- struct{}{}; <-hold; return nil }
			})
			// A payload of half the bytes, so that the bytes of a whole one are not free.
			big := newOp(t, "a", "t", slices.Repeat([]int64{1}, lake.MaxAppendRows)...)
			taken := make(chan error, 1)
			go func() { _, err := a.put(t.Context(), big); taken <- err }()
			<-holding
			_, err := a.put(t.Context(), newOp(t, "a", "t", 2))
			requireCode(t, codes.ResourceExhausted, err, budget)
			close(hold)
			require.NoError(t, <-taken)
		})
	}
}
