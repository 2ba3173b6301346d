// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/metasrv"
)

func codeName(err error) string { return status.Code(err).String() }

func TestAppendAndReplay(t *testing.T) {
	a := start(t)
	made := a.create(t, "a", "t")
	o := newOp(t, "a", "t", 1, 2, 3)
	first, err := a.put(t.Context(), o)
	require.NoError(t, err)
	require.EqualValues(t, 2, first.GetVersion())
	require.EqualValues(t, 3, first.GetRows())
	require.False(t, first.GetReplayed())
	require.Equal(t, made.GetSnapshot().GetIncarnation(), first.GetIncarnation())
	require.Contains(t, a.engine.published, lake.Version(2))

	_, err = a.put(t.Context(), newOp(t, "a", "t", 4))
	require.NoError(t, err)
	for range 3 {
		again, err := a.put(t.Context(), o)
		require.NoError(t, err)
		require.True(t, again.GetReplayed())
		require.Equal(t, first.GetVersion(), again.GetVersion())
		require.Equal(t, first.GetRows(), again.GetRows())
	}
	require.Equal(t, []int64{1, 2, 3, 4}, a.numbers(t, "a", "t"))
	require.Equal(t, 2, a.engine.staged, "a replay stages nothing")

	other := newOp(t, "a", "t", 9)
	other.command.Operation = o.command.Operation
	_, err = a.put(t.Context(), other)
	requireCode(t, codes.AlreadyExists, err, "another payload")
	elsewhere, err := a.put(as(t.Context(), "root"), newOp(t, "a", "t", 5))
	require.NoError(t, err)
	require.EqualValues(t, 4, elsewhere.GetVersion())
}

func TestAppendRefusals(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	batch := rowsOf(1)
	schemaOf := func(fields ...arrow.Field) []*flight.FlightData {
		s := arrow.NewSchema(fields, nil)
		b := array.NewRecordBuilder(arrowmem.DefaultAllocator, s)
		for i := range fields {
			b.Field(i).AppendEmptyValue()
		}
		return encode(t, s, []arrow.RecordBatch{b.NewRecordBatch()})
	}
	n, s := ints.Field(0), ints.Field(1)
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	good := encode(t, ints, []arrow.RecordBatch{batch})
	numbers := make([]int64, lake.MaxAppendRows)
	for label, tc := range map[string]struct {
		op       op
		code     codes.Code
		contains string
	}{
		"unknown table":   {newOp(t, "a", "none", 1), codes.NotFound, "no table"},
		"digest mismatch": {func() op { o := newOp(t, "a", "t", 1); o.command.Digest[0]++; return o }(), codes.InvalidArgument, "sha256"},
		"from the future": {func() op {
			o := newOp(t, "a", "t", 1)
			o.command.Operation = lake.NewIDAt(time.Now().Add(time.Hour))
			return o
		}(), codes.InvalidArgument, "future"},
		"too old": {func() op {
			o := newOp(t, "a", "t", 1)
			o.command.Operation = lake.NewIDAt(time.Now().Add(-8 * 24 * time.Hour))
			return o
		}(), codes.FailedPrecondition, "old"},
		"other name":       {opOf("a", "t", schemaOf(arrow.Field{Name: "m", Type: n.Type}, s)), codes.InvalidArgument, `"m"`},
		"other type":       {opOf("a", "t", schemaOf(arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int32}, s)), codes.InvalidArgument, `"n"`},
		"nullable":         {opOf("a", "t", schemaOf(arrow.Field{Name: "n", Type: n.Type, Nullable: true}, s)), codes.InvalidArgument, "nullable"},
		"missing field":    {opOf("a", "t", schemaOf(n)), codes.InvalidArgument, `"s"`},
		"extra field":      {opOf("a", "t", schemaOf(n, s, arrow.Field{Name: "x", Type: n.Type})), codes.InvalidArgument, `"x"`},
		"dictionary":       {opOf("a", "t", schemaOf(n, arrow.Field{Name: "s", Type: dict, Nullable: true})), codes.InvalidArgument, "dictionary"},
		"compressed":       {opOf("a", "t", encode(t, ints, []arrow.RecordBatch{rowsOf(numbers[:500]...)}, ipc.WithZstd())), codes.InvalidArgument, "compressed"},
		"no rows":          {opOf("a", "t", encode(t, ints, []arrow.RecordBatch{rowsOf()})), codes.InvalidArgument, "no rows"},
		"schema only":      {opOf("a", "t", good[:1]), codes.InvalidArgument, "no rows"},
		"no schema":        {opOf("a", "t", good[1:]), codes.InvalidArgument, "schema first"},
		"two schemas":      {opOf("a", "t", append(slices.Clone(good), good[0])), codes.InvalidArgument, "only there"},
		"garbage":          {opOf("a", "t", []*flight.FlightData{{DataHeader: []byte("garbage"), DataBody: []byte("x")}}), codes.InvalidArgument, "Arrow IPC"},
		"body only":        {opOf("a", "t", []*flight.FlightData{{DataBody: []byte("x")}}), codes.InvalidArgument, "no header"},
		"body cut off":     {opOf("a", "t", []*flight.FlightData{good[0], {DataHeader: good[1].DataHeader, DataBody: good[1].DataBody[:8]}}), codes.InvalidArgument, "body"},
		"one row too many": {opOf("a", "t", encode(t, ints, []arrow.RecordBatch{rowsOf(numbers...), batch})), codes.InvalidArgument, "10000 rows"},
	} {
		t.Run(label, func(t *testing.T) {
			_, err := a.put(t.Context(), tc.op)
			requireCode(t, tc.code, err, tc.contains)
		})
	}
	t.Run("no descriptor", func(t *testing.T) {
		stream, err := a.flight.DoPut(t.Context())
		require.NoError(t, err)
		require.NoError(t, stream.Send(good[0]))
		_, err = stream.Recv()
		requireCode(t, codes.InvalidArgument, err, "AppendCommand")
	})
	t.Run("no messages", func(t *testing.T) {
		stream, err := a.flight.DoPut(t.Context())
		require.NoError(t, err)
		require.NoError(t, stream.CloseSend())
		_, err = stream.Recv()
		requireCode(t, codes.InvalidArgument, err, "no messages")
	})
	require.Empty(t, a.numbers(t, "a", "t"), "nothing of it is in the table")
	_, err := a.put(t.Context(), opOf("a", "t", encode(t, ints, []arrow.RecordBatch{rowsOf(numbers...)})))
	require.NoError(t, err, "the most rows allowed")
}

func TestAppendWithMetadataOnlyMessages(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	messages := []*flight.FlightData{{AppMetadata: []byte("hello")}}
	messages = append(messages, encode(t, ints, []arrow.RecordBatch{rowsOf(1), rowsOf(), rowsOf(2)})...)
	_, err := a.put(t.Context(), opOf("a", "t", messages))
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2}, a.numbers(t, "a", "t"))
}

func TestStreamOverItsBytes(t *testing.T) {
	a := start(t, func(o *metasrv.Options) { o.Append.StreamBytes, o.Append.BufferedBytes = 2000, 2000 })
	a.create(t, "a", "t")
	_, err := a.put(t.Context(), newOp(t, "a", "t", make([]int64, 1000)...))
	requireCode(t, codes.InvalidArgument, err, "2000 bytes")
	_, err = a.put(t.Context(), newOp(t, "a", "t", 1))
	require.NoError(t, err)
}

// TestOneRowMayHaveTheBytesOfAnAppend: a row is one message, whatever it holds,
// and what is refused is refused by the limit of an append and not by one of the
// transport, which clients would take for a busy server.
func TestOneRowMayHaveTheBytesOfAnAppend(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	wide := func(text int) op {
		b := array.NewRecordBuilder(arrowmem.DefaultAllocator, ints)
		b.Field(0).(*array.Int64Builder).Append(0)
		b.Field(1).(*array.StringBuilder).Append(strings.Repeat("x", text))
		return opOf("a", "t", encode(t, ints, []arrow.RecordBatch{b.NewRecordBatch()}))
	}
	size := func(o op) (n int) {
		for _, m := range o.messages {
			n += int(appendwire.MessageSize(m))
		}
		return n
	}
	most := (lake.MaxAppendBytes - size(wide(64)) + 64) / 64 * 64 // bodies are padded
	o := wide(most)
	require.LessOrEqual(t, size(o), lake.MaxAppendBytes)
	_, err := a.put(t.Context(), o)
	require.NoError(t, err)
	_, err = a.put(t.Context(), wide(most+64))
	requireCode(t, codes.InvalidArgument, err, "use several appends")
	requireEach(t, a, 1)
}

// TestConcurrentAppends: versions are dense, every row is there once, and
// appends that wait share versions.
func TestConcurrentAppends(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	const clients, each = 16, 12
	var wg sync.WaitGroup
	results := make(chan *lakepb.AppendResult, clients*each)
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				r, err := a.put(t.Context(), newOp(t, "a", "t", int64(c*each+i)))
				if err != nil {
					t.Error(err)
					return
				}
				results <- r
			}
		})
	}
	wg.Wait()
	close(results)
	requireEach(t, a, clients*each)
	seen := map[uint64]int{}
	for r := range results {
		seen[r.GetVersion()]++
	}
	top := uint64(len(seen) + 1)
	for v := uint64(2); v <= top; v++ {
		require.Positive(t, seen[v], "version %d of %d", v, top)
		require.LessOrEqual(t, seen[v], catalog.MaxGroup)
	}
	table, err := a.records.Get(t.Context(), lake.TableName{Namespace: "a", Name: "t"})
	require.NoError(t, err)
	require.EqualValues(t, top, table.Snapshot.Version)
}

// requireEach checks that the table holds 0..n-1, each once.
func requireEach(t *testing.T, a *authority, n int) {
	t.Helper()
	got := a.numbers(t, "a", "t")
	slices.Sort(got)
	want := make([]int64, n)
	for i := range want {
		want[i] = int64(i)
	}
	require.Equal(t, want, got)
}

// TestFreeRoomIsNeverRefused: a machine may be so busy that the time to wait is
// over before anybody has looked.
func TestFreeRoomIsNeverRefused(t *testing.T) {
	a := start(t, func(o *metasrv.Options) { o.Append.Concurrent, o.Append.Wait = 1, time.Nanosecond })
	a.create(t, "a", "t")
	for i := range 100 {
		_, err := a.put(t.Context(), newOp(t, "a", "t", int64(i)))
		require.NoError(t, err)
	}
	requireEach(t, a, 100)
}

// TestWaitingAppendsShareOneVersion holds a commit up while 20 others arrive: as
// many as a version takes in share the next one, and the rest the one after.
func TestWaitingAppendsShareOneVersion(t *testing.T) {
	const waiting = catalog.MaxGroup + 4
	a := start(t, func(o *metasrv.Options) { o.Append.Concurrent, o.Append.BufferedBytes = 64, 64*lake.MaxAppendBytes })
	a.create(t, "a", "t")
	hold, holding := make(chan struct{}), make(chan struct{})
	var once sync.Once
	a.store.OnCommit(func(txn metastore.Txn, next func() error) error {
		for _, o := range txn.Ops {
			if o.Key == "tbl/a/t" {
				once.Do(func() { close(holding); <-hold })
			}
		}
		return next()
	})
	var wg sync.WaitGroup
	versions := make([]atomic.Uint64, waiting+1)
	run := func(i int) {
		wg.Go(func() {
			r, err := a.put(t.Context(), newOp(t, "a", "t", int64(i)))
			if err != nil {
				t.Error(err)
				return
			}
			versions[i].Store(r.GetVersion())
		})
	}
	run(0)
	<-holding
	for i := range waiting {
		run(i + 1)
	}
	require.Eventually(t, func() bool {
		a.engine.mu.Lock()
		defer a.engine.mu.Unlock()
		return a.engine.staged == waiting+1
	},
		10*time.Second, time.Millisecond)
	time.Sleep(20 * time.Millisecond) // the last one goes from staged to waiting
	close(hold)
	wg.Wait()
	members := map[uint64]int{}
	for i := range versions {
		members[versions[i].Load()]++
	}
	require.EqualValues(t, 2, versions[0].Load())
	require.Equal(t, map[uint64]int{2: 1, 3: catalog.MaxGroup, 4: waiting - catalog.MaxGroup}, members)
	requireEach(t, a, waiting+1)
}

// holdCommit holds the next commit of a version of a.t up, until the function
// returned is called; holding is closed when it has come there.
func (a *authority) holdCommit() (holding chan struct{}, release func()) {
	hold, holding := make(chan struct{}), make(chan struct{})
	var once sync.Once
	a.store.OnCommit(func(txn metastore.Txn, next func() error) error {
		if advances(txn) {
			once.Do(func() { close(holding); <-hold })
		}
		return next()
	})
	return holding, sync.OnceFunc(func() { close(hold) })
}

// TestWaitingForACommitTakesNoPlace: what waits for its version is staged, and
// lets others be received and staged; but no more than a bounded number waits.
func TestWaitingForACommitTakesNoPlace(t *testing.T) {
	const waiting = 5
	a := start(t, func(o *metasrv.Options) {
		o.Append.Concurrent, o.Append.Wait, o.Append.Waiting = 1, 10*time.Second, waiting
	})
	a.create(t, "a", "t")
	holding, release := a.holdCommit()
	defer release()
	results := make(chan error, waiting+2)
	send := func(i int64) { _, err := a.put(t.Context(), newOp(t, "a", "t", i)); results <- err }
	go send(0)
	<-holding
	for i := range int64(waiting + 1) { // all of them find the one place
		go send(i + 1)
	}
	select {
	case err := <-results:
		requireCode(t, codes.ResourceExhausted, err, "5 appends wait for their commit")
	case <-time.After(20 * time.Second):
		t.Fatal("one more waits than may")
	}
	release()
	for range waiting + 1 {
		require.NoError(t, <-results)
	}
	require.Len(t, a.numbers(t, "a", "t"), waiting+1)
}

// TestMessagesAreCounted: messages that carry nothing are bounded by their number.
func TestMessagesAreCounted(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	messages := encode(t, ints, []arrow.RecordBatch{rowsOf(1)})
	for len(messages) < lake.MaxAppendRows+64 {
		messages = append(messages, &flight.FlightData{})
	}
	_, err := a.put(t.Context(), opOf("a", "t", append(messages, &flight.FlightData{})))
	requireCode(t, codes.InvalidArgument, err, "more than 10064 messages")
	_, err = a.put(t.Context(), opOf("a", "t", messages))
	require.NoError(t, err)
}

// gone is the stream of a client in this process that gives up once it has sent
// its append.
type gone struct {
	flight.FlightService_DoPutServer
	ctx      context.Context //nolint:containedctx // the stream's
	messages []*flight.FlightData
}

func (g *gone) Context() context.Context { return g.ctx }

func (g *gone) Recv() (*flight.FlightData, error) {
	if len(g.messages) == 0 {
		return nil, io.EOF
	}
	m := g.messages[0]
	g.messages = g.messages[1:]
	return m, nil
}

// TestAClientThatGaveUpIsToldNothing: it may hear from the server that its time is
// over before it has noticed itself, and must not take that for a refusal.
func TestAClientThatGaveUpIsToldNothing(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	holding, release := a.holdCommit()
	defer release()
	o := newOp(t, "a", "t", 0)
	descriptor, err := o.command.Descriptor()
	require.NoError(t, err)
	o.messages[0].FlightDescriptor = descriptor
	ctx, giveUp := context.WithCancel(access.With(t.Context(), everybody["root"]))
	failed := make(chan error, 1)
	go func() { failed <- a.Append(&gone{ctx: ctx, messages: o.messages}) }()
	<-holding
	giveUp()
	err = <-failed
	require.Equal(t, lake.Undetermined, lake.KindOf(err), "%v", err)
	require.ErrorIs(t, err, context.Canceled)
	release()
	r, err := a.put(t.Context(), o)
	require.NoError(t, err)
	require.True(t, r.GetReplayed())
}

// TestDuplicatesInFlightRunOnce sends one operation many times at once.
func TestDuplicatesInFlightRunOnce(t *testing.T) {
	a := start(t, func(o *metasrv.Options) { o.Append.Concurrent, o.Append.BufferedBytes = 64, 64*lake.MaxAppendBytes })
	a.create(t, "a", "t")
	hold := make(chan struct{})
	a.engine.set(func(d *disturbed) { d.stageData = func(context.Context) error { <-hold; return nil } })
	o := newOp(t, "a", "t", 0)
	conflicting := newOp(t, "a", "t", 7)
	conflicting.command.Operation = o.command.Operation
	var wg sync.WaitGroup
	var fresh, replays atomic.Int32
	for range 16 {
		wg.Go(func() {
			r, err := a.put(t.Context(), o)
			switch {
			case err != nil:
				t.Error(err)
			case r.GetReplayed():
				replays.Add(1)
			default:
				fresh.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { a.engine.mu.Lock(); defer a.engine.mu.Unlock(); return a.engine.staged == 1 }, 20*time.Second, time.Millisecond)
	_, err := a.put(t.Context(), conflicting)
	requireCode(t, codes.AlreadyExists, err, "under way")
	close(hold)
	wg.Wait()
	require.EqualValues(t, 1, fresh.Load())
	require.EqualValues(t, 15, replays.Load())
	require.Equal(t, 1, a.engine.staged)
	requireEach(t, a, 1)
}

// TestClientGivesUpTheAppendGoesOn: a retry finds the operation applied.
func TestClientGivesUpTheAppendGoesOn(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	hold, staging := make(chan struct{}), make(chan struct{})
	a.engine.set(func(d *disturbed) { d.stageData = func(context.Context) error { close(staging); <-hold; return nil } })
	o := newOp(t, "a", "t", 0)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() { _, err := a.put(ctx, o); failed <- err }()
	<-staging
	cancel()
	require.Error(t, <-failed)
	close(hold)
	r, err := a.put(t.Context(), o)
	require.NoError(t, err)
	require.True(t, r.GetReplayed())
	require.EqualValues(t, 2, r.GetVersion())
	requireEach(t, a, 1)
}

// TestFaultyStore loses answers, drops requests and refuses, at random places:
// every append that is acknowledged is in once, and none is in twice.
func TestFaultyStore(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	var calls atomic.Int64
	a.store.OnCommit(func(_ metastore.Txn, next func() error) error {
		switch calls.Add(1) % 5 {
		case 0:
			_ = next()
			return metastore.ErrUnknownOutcome // applied, answer lost
		case 2:
			return metastore.ErrUnknownOutcome // not applied, answer lost
		case 3:
			return metastore.ErrRetryable
		}
		return next()
	})
	const clients, each = 8, 10
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				o := newOp(t, "a", "t", int64(c*each+i))
				for {
					_, err := a.put(t.Context(), o)
					if err == nil {
						break
					}
					if c := status.Code(err); c != codes.Unavailable && c != codes.Aborted && c != codes.ResourceExhausted {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	requireEach(t, a, clients*each)
}

// TestPublishComesBeforeTheAnswer: a version that cannot be published is not
// acknowledged, is not built on, and is published by the retry.
func TestPublishComesBeforeTheAnswer(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	a.engine.set(func(d *disturbed) {
		d.publish = func(lake.Snapshot) error { return lake.Errorf(lake.Unavailable, "the object store is away") }
	})
	o := newOp(t, "a", "t", 0)
	_, err := a.put(t.Context(), o)
	requireCode(t, codes.Unavailable, err, "committed and could not be published")
	_, err = a.put(t.Context(), o)
	requireCode(t, codes.Unavailable, err)
	_, err = a.put(t.Context(), newOp(t, "a", "t", 1))
	requireCode(t, codes.Unavailable, err)
	a.engine.set(func(d *disturbed) { d.publish, d.published = nil, nil })
	r, err := a.put(t.Context(), o)
	require.NoError(t, err)
	require.True(t, r.GetReplayed())
	require.Equal(t, []lake.Version{2}, a.engine.published)
	requireEach(t, a, 1)
}

func TestAppendAcrossDropAndRecreate(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	o := newOp(t, "a", "t", 0)
	_, err := a.put(t.Context(), o)
	require.NoError(t, err)

	// This one is staged before the drop and arrives at its commit after it.
	hold, staging := make(chan struct{}), make(chan struct{})
	a.engine.set(func(d *disturbed) { d.stageData = func(context.Context) error { close(staging); <-hold; return nil } })
	late := make(chan error)
	go func() { _, err := a.put(t.Context(), newOp(t, "a", "t", 5)); late <- err }()
	<-staging
	a.engine.set(func(d *disturbed) { d.stageData = nil })
	_, err = a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "t")})
	require.NoError(t, err)
	a.create(t, "a", "t")
	close(hold)
	requireCode(t, codes.FailedPrecondition, <-late, "created again")

	_, err = a.put(t.Context(), o)
	requireCode(t, codes.FailedPrecondition, err, "earlier table")
	r, err := a.put(t.Context(), newOp(t, "a", "t", 0))
	require.NoError(t, err)
	require.EqualValues(t, 2, r.GetVersion(), "versions start again in a new incarnation")
	requireEach(t, a, 1)
}

// TestBusyCommitterMeetsARecreatedTable keeps a committer at its commit while
// the table is dropped and created again and an append for the new one queues
// up behind it.
func TestBusyCommitterMeetsARecreatedTable(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	hold, holding := make(chan struct{}), make(chan struct{})
	a.store.OnCommit(func(txn metastore.Txn, next func() error) error {
		err := next()
		if strings.HasPrefix(txn.Ops[len(txn.Ops)-1].Key, "memory-version/a/t/") {
			a.store.OnCommit(nil)
			close(holding)
			<-hold
		}
		return err
	})
	old := make(chan error)
	go func() { _, err := a.put(t.Context(), newOp(t, "a", "t", 7)); old <- err }()
	<-holding
	_, err := a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "t")})
	require.NoError(t, err)
	a.create(t, "a", "t")
	fresh := make(chan error)
	go func() { _, err := a.put(t.Context(), newOp(t, "a", "t", 0)); fresh <- err }()
	require.Eventually(t, func() bool { a.engine.mu.Lock(); defer a.engine.mu.Unlock(); return a.engine.staged == 2 }, 20*time.Second, time.Millisecond)
	time.Sleep(20 * time.Millisecond) // from staged to waiting
	close(hold)
	require.NoError(t, <-old, "it was committed before the drop")
	require.NoError(t, <-fresh)
	requireEach(t, a, 1)
}

// valuesOf sums up the series of each name.
func valuesOf(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			values[f.GetName()] += m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// TestMetrics pins the names that dashboards and alerts use.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	a := start(t, func(o *metasrv.Options) { o.Metrics = registry })
	a.create(t, "a", "t")
	_, err := a.put(t.Context(), newOp(t, "a", "t", 0))
	require.NoError(t, err)
	values := valuesOf(t, registry)
	for name, want := range map[string]float64{
		"lake_metasrv_append_admission_total": 1, "lake_metasrv_inflight_appends": 0,
		"lake_metasrv_reserved_append_bytes": 0, "lake_metasrv_write_ready": 1,
		"lake_metasrv_append_group_size": 1, "lake_metasrv_commit_total": 1,
	} {
		got, there := values[name]
		require.True(t, there, name)
		require.Equal(t, want, got, name)
	}
	require.Positive(t, values["lake_metasrv_append_stage_seconds"])
	require.Positive(t, values["lake_rpc_duration_seconds"])
}

// TestTakeover starts a second leader on the same store and engine while
// clients append through both: the first one's writes fail from then on, and
// rows are neither lost nor doubled.
func TestTakeover(t *testing.T) {
	store, storage := memory.New(), enginetest.NewMemory()
	defer store.Close()
	first := startOn(t, store, storage)
	first.create(t, "a", "t")
	var second atomic.Pointer[authority]
	const clients, each = 6, 10
	var wg sync.WaitGroup
	var done atomic.Int32
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				o := newOp(t, "a", "t", int64(c*each+i))
				for try := 0; ; try++ {
					to := first
					if s := second.Load(); s != nil && (try > 0 || i%2 == 0) {
						to = s
					}
					_, err := to.put(t.Context(), o)
					if err == nil {
						done.Add(1)
						break
					}
					if c := status.Code(err); c != codes.Unavailable && c != codes.Aborted {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	require.Eventually(t, func() bool { return done.Load() > clients }, 10*time.Second, time.Millisecond)
	second.Store(startOn(t, store, storage))
	wg.Wait()
	requireEach(t, second.Load(), clients*each)
	_, err := first.put(t.Context(), newOp(t, "a", "t", 99))
	requireCode(t, codes.Unavailable, err)
	_, err = first.catalog.CreateTable(t.Context(), &lakepb.CreateTableRequest{Name: nameOf("a", "new"), Schema: schemaBytes(ints)})
	requireCode(t, codes.Unavailable, err)
	_, err = first.catalog.GetTable(t.Context(), &lakepb.GetTableRequest{Name: nameOf("a", "t")})
	require.NoError(t, err, "reads are answered anywhere")
}

func TestAdmission(t *testing.T) {
	a := start(t, func(o *metasrv.Options) { o.Append.Concurrent, o.Append.Wait = 2, 30*time.Millisecond })
	a.create(t, "a", "t")
	// Two clients open a stream and send nothing: the places are taken before
	// the first message is read.
	ctx, cancel := context.WithCancel(t.Context())
	var streams []flight.FlightService_DoPutClient
	for range 2 {
		s, err := a.flight.DoPut(ctx)
		require.NoError(t, err)
		streams = append(streams, s)
	}
	require.Eventually(t, func() bool {
		_, err := a.put(t.Context(), newOp(t, "a", "t", 0))
		return status.Code(err) == codes.ResourceExhausted
	}, 20*time.Second, time.Millisecond)
	cancel()
	for _, s := range streams {
		_, err := s.Recv()
		requireCode(t, codes.Canceled, err)
	}
	require.Eventually(t, func() bool {
		_, err := a.put(t.Context(), newOp(t, "a", "t", 0))
		return err == nil
	}, 20*time.Second, time.Millisecond, "the places are free again")
}

func TestSlowClientLosesItsPlace(t *testing.T) {
	a := start(t, func(o *metasrv.Options) { o.Append.Concurrent, o.Append.ReceiveTimeout = 1, 20*time.Millisecond })
	a.create(t, "a", "t")
	s, err := a.flight.DoPut(t.Context())
	require.NoError(t, err)
	_, err = s.Recv()
	requireCode(t, codes.ResourceExhausted, err, "did not arrive")
	_, err = a.put(t.Context(), newOp(t, "a", "t", 0))
	require.NoError(t, err)
}

// TestStopFinishesWhatItTook stops the server while an append is staged.
func TestStopFinishesWhatItTook(t *testing.T) {
	store, storage := memory.New(), enginetest.NewMemory()
	defer store.Close()
	a := startOn(t, store, storage)
	a.create(t, "a", "t")
	hold, staging := make(chan struct{}), make(chan struct{})
	a.engine.set(func(d *disturbed) { d.stageData = func(context.Context) error { close(staging); <-hold; return nil } })
	go func() { _, _ = a.put(context.Background(), newOp(t, "a", "t", 0)) }()
	<-staging
	stopped := make(chan struct{})
	go func() { defer close(stopped); a.stop() }()
	time.Sleep(20 * time.Millisecond)
	close(hold)
	<-stopped
	b := startOn(t, store, storage)
	requireEach(t, b, 1)
	_, err := b.put(t.Context(), newOp(t, "a", "t", 1))
	require.NoError(t, err)
}

// TestStopCutsOffWhatDoesNotEnd: the grace is all that an append gets.
func TestStopCutsOffWhatDoesNotEnd(t *testing.T) {
	a := start(t, func(o *metasrv.Options) { o.Grace = 50 * time.Millisecond })
	a.create(t, "a", "t")
	staging := make(chan struct{})
	a.engine.set(func(d *disturbed) {
		d.stageData = func(ctx context.Context) error { close(staging); <-ctx.Done(); return ctx.Err() }
	})
	failed := make(chan error, 1)
	go func() { _, err := a.put(context.Background(), newOp(t, "a", "t", 0)); failed <- err }()
	<-staging
	stopped := make(chan struct{})
	go func() { defer close(stopped); a.shutdown() }()
	select {
	case <-stopped:
	case <-time.After(20 * time.Second):
		t.Fatal("the server waits for ever")
	}
	requireCode(t, codes.Unavailable, <-failed)
}

// TestAReturningLeaderRemembersNothing of the tables that it knew when it led
// before: another leader may have dropped them and made others of their names.
func TestAReturningLeaderRemembersNothing(t *testing.T) {
	store, storage := memory.New(), enginetest.NewMemory()
	defer store.Close()
	a := startOn(t, store, storage, func(o *metasrv.Options) { o.Election = quick("a:1") })
	require.Eventually(t, a.Leading, 20*time.Second, time.Millisecond)
	a.create(t, "a", "t")
	o := newOp(t, "a", "t", 0)
	_, err := a.put(t.Context(), o)
	require.NoError(t, err)
	b := startOn(t, store, storage) // takes over
	require.Eventually(t, func() bool { return !a.Leading() }, 20*time.Second, time.Millisecond)
	_, err = b.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "t")})
	require.NoError(t, err)
	b.create(t, "a", "t")
	b.stop()
	require.Eventually(t, a.Leading, 20*time.Second, time.Millisecond)
	_, err = a.put(t.Context(), o)
	requireCode(t, codes.FailedPrecondition, err, "earlier table")
	require.Empty(t, a.numbers(t, "a", "t"))
}

func TestNotTheLeader(t *testing.T) {
	store, storage := memory.New(), enginetest.NewMemory()
	defer store.Close()
	leader := startOn(t, store, storage)
	leader.create(t, "a", "t")
	follower := startOn(t, store, storage, func(o *metasrv.Options) { o.Election = catalog.ElectionOptions{Address: "f:1"} })
	require.Eventually(t, follower.Ready, 20*time.Second, time.Millisecond, "a follower that knows a leader is ready")
	_, err := follower.put(t.Context(), newOp(t, "a", "t", 0))
	requireCode(t, codes.Unavailable, err, "not the leader")
	_, err = follower.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "t")})
	requireCode(t, codes.Unavailable, err)
	_, err = follower.catalog.GetTable(t.Context(), &lakepb.GetTableRequest{Name: nameOf("a", "t")})
	require.NoError(t, err)
}

// TestWhoDoesNotLeadReadsNothing: a client is refused before it sends megabytes.
func TestWhoDoesNotLeadReadsNothing(t *testing.T) {
	a := start(t, func(o *metasrv.Options) { o.Election = catalog.ElectionOptions{TTL: time.Hour} })
	require.Eventually(t, a.Leading, 20*time.Second, time.Millisecond)
	a.create(t, "a", "t")
	b := startOn(t, a.store.Store, a.engine.Engine, func(o *metasrv.Options) { o.Election = catalog.ElectionOptions{} })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	stream, err := b.flight.DoPut(ctx)
	require.NoError(t, err)
	_, err = stream.Recv()
	requireCode(t, codes.Unavailable, err, "not the leader")
}

// unsure lets the next commit of a version apply or not, and lose every answer
// of it: those of the tries, and those of the reads that would tell. then, if not
// nil, is called when the authority gives up on that commit.
func (a *authority) unsure(applies bool, then func()) {
	var silent, over atomic.Bool
	tries := 0
	a.store.OnCommit(func(txn metastore.Txn, next func() error) error {
		if over.Load() || !advances(txn) {
			return next()
		}
		silent.Store(true)
		if tries++; tries == 1 && applies {
			_ = next()
		}
		return metastore.ErrUnknownOutcome
	})
	a.store.OnGet(func(key string) error {
		switch {
		case over.Load() || !silent.Load():
			return nil
		case strings.HasPrefix(key, "append-operation/") && tries < 6:
			return metastore.ErrRetryable
		}
		if strings.HasPrefix(key, "append-operation/") { // the read after the last try
			over.Store(true)
			if then != nil {
				then()
			}
			return metastore.ErrRetryable
		}
		return nil
	})
}

// advances reports whether a transaction is the commit of a version with an
// append.
func advances(txn metastore.Txn) bool {
	return slices.ContainsFunc(txn.Ops, func(o metastore.Op) bool { return strings.HasPrefix(o.Key, "append-operation/") })
}

// TestACommitOfUnknownOutcome: the authority finds out itself what became of it,
// and never takes it for refused while it cannot.
func TestACommitOfUnknownOutcome(t *testing.T) {
	for _, applies := range []bool{true, false} {
		t.Run(fmt.Sprintf("applied %t", applies), func(t *testing.T) {
			a := start(t)
			a.create(t, "a", "t")
			a.unsure(applies, nil)
			r, err := a.put(t.Context(), newOp(t, "a", "t", 0))
			require.NoError(t, err)
			require.EqualValues(t, 2, r.GetVersion())
			require.Equal(t, applies, r.GetReplayed(), "the record of the operation tells, not a conflict with it")
			requireEach(t, a, 1)
		})
	}
	t.Run("and it cannot be found out", func(t *testing.T) {
		a := start(t)
		a.create(t, "a", "t")
		a.unsure(true, func() {
			a.store.OnGet(func(key string) error {
				if strings.HasPrefix(key, "append-operation/") {
					return metastore.ErrRetryable
				}
				return nil
			})
		})
		o := newOp(t, "a", "t", 0)
		_, err := a.put(t.Context(), o)
		require.Equal(t, lake.Undetermined, lake.KindOf(grpcerr.FromStatus(err)), "%v", err)
		a.store.OnGet(nil)
		r, err := a.put(t.Context(), o)
		require.NoError(t, err)
		require.True(t, r.GetReplayed())
		requireEach(t, a, 1)
	})
	t.Run("and the next attempt is refused", func(t *testing.T) {
		storage := &spoiled{Engine: enginetest.NewMemory()}
		store := memory.New()
		defer store.Close()
		a := startOn(t, store, storage)
		a.create(t, "a", "t")
		o := newOp(t, "a", "t", 0)
		a.unsure(false, func() { storage.bad.Store(&o.command.Operation) })
		_, err := a.put(t.Context(), o)
		require.Equal(t, lake.Undetermined, lake.KindOf(grpcerr.FromStatus(err)), "what was sent before may still arrive: %v", err)
		require.ErrorContains(t, err, "spoiled")
	})
}

func TestTablesCommitApart(t *testing.T) {
	a := start(t)
	var wg sync.WaitGroup
	for i := range 8 {
		name := fmt.Sprintf("t%d", i)
		a.create(t, "a", name)
		wg.Go(func() {
			for j := range 5 {
				r, err := a.put(t.Context(), newOp(t, "a", name, int64(j)))
				if err != nil {
					t.Error(err)
					return
				}
				if r.GetVersion() != uint64(j+2) {
					t.Errorf("%s: version %d after %d appends", name, r.GetVersion(), j+1)
				}
			}
		})
	}
	wg.Wait()
}

func TestForeignCommand(t *testing.T) {
	a := start(t)
	o := newOp(t, "..", "t", 1)
	_, err := a.put(t.Context(), o)
	requireCode(t, codes.InvalidArgument, err, "reserved")
	require.False(t, appendwire.IsCommand(&flight.FlightDescriptor{Type: flight.DescriptorPATH}))
}
