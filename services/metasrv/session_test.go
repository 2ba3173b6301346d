// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/metasrv"
)

// session is the client's side of a session of appends.
type session struct {
	flight.FlightService_DoPutClient
	end     context.CancelFunc
	answers []*lakepb.AppendSessionResult // that came and were not asked for yet
}

// session opens a session for appends to a table of ints, and waits until it is
// open.
func (a *authority) session(t testing.TB, ctx context.Context, ns, n string, inc lake.Incarnation) *session {
	t.Helper()
	s, err := a.trySession(ctx, appendwire.Opening{Table: lake.TableName{Namespace: ns, Name: n}, Incarnation: inc}, newOp(t, ns, n, 1).messages[0])
	require.NoError(t, err)
	t.Cleanup(s.end)
	return s
}

func (a *authority) trySession(ctx context.Context, opening appendwire.Opening, schema *flight.FlightData) (*session, error) {
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(ctx, appendwire.SessionHeader, "1"))
	descriptor, err := opening.Descriptor()
	if err != nil {
		cancel()
		return nil, err
	}
	stream, err := a.flight.DoPut(ctx)
	if err == nil {
		err = stream.Send(&flight.FlightData{FlightDescriptor: descriptor, DataHeader: schema.GetDataHeader(), DataBody: schema.GetDataBody()})
	}
	if err == nil || errors.Is(err, io.EOF) {
		_, err = stream.Recv()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &session{FlightService_DoPutClient: stream, end: cancel}, nil
}

// send sends an append whose rows are one batch.
func (s *session) send(t testing.TB, o op) {
	t.Helper()
	m, err := appendwire.Item(o.messages[1], o.command.Operation, o.command.Digest)
	require.NoError(t, err)
	require.NoError(t, s.Send(m))
}

// answer returns the next answer, and whose it is.
func (s *session) answer(t testing.TB) (lake.OperationID, *lakepb.AppendResult, error) {
	t.Helper()
	for len(s.answers) == 0 {
		told, err := s.Recv()
		require.NoError(t, err)
		var results lakepb.AppendSessionResults
		require.NoError(t, proto.Unmarshal(told.GetAppMetadata(), &results))
		s.answers = results.GetResults()
	}
	first := s.answers[0]
	s.answers = s.answers[1:]
	result, err := appendwire.Outcome(first)
	return lake.OperationID(first.GetOperationId()), result, err
}

// put sends one append and waits for its answer.
func (s *session) put(t testing.TB, o op) (*lakepb.AppendResult, error) {
	t.Helper()
	s.send(t, o)
	id, result, err := s.answer(t)
	require.Equal(t, o.command.Operation, id)
	return result, err
}

func TestASessionCarriesManyAppends(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	s := a.session(t, t.Context(), "a", "t", lake.Incarnation{})
	const many = 500
	ops := map[lake.OperationID]op{}
	var numbers []int64
	sent := make(chan struct{})
	all := make([]op, many)
	for i := range all {
		all[i] = newOp(t, "a", "t", int64(i))
		ops[all[i].command.Operation] = all[i]
		numbers = append(numbers, int64(i))
	}
	go func() {
		defer close(sent)
		for _, o := range all {
			s.send(t, o)
		}
		_ = s.CloseSend()
	}()
	seen := map[uint64]int{}
	last := uint64(0)
	for range many {
		id, result, err := s.answer(t)
		require.NoError(t, err)
		require.Contains(t, ops, id)
		delete(ops, id)
		require.EqualValues(t, 1, result.GetRows())
		require.False(t, result.GetReplayed())
		seen[result.GetVersion()]++
		last = max(last, result.GetVersion())
	}
	<-sent
	_, err := s.Recv()
	require.ErrorIs(t, err, io.EOF, "a session that its client ends, ends well")
	got := a.numbers(t, "a", "t")
	slices.Sort(got)
	require.Equal(t, numbers, got)
	require.Len(t, seen, int(last-1), "versions are dense")
	require.Less(t, len(seen), many, "appends of a session share versions, as others do")
}

func TestSessionsAndCallsAreTheSameOperations(t *testing.T) {
	a := start(t)
	made := a.create(t, "a", "t")
	s := a.session(t, t.Context(), "a", "t", lake.Incarnation{})
	o := newOp(t, "a", "t", 1)
	first, err := s.put(t, o)
	require.NoError(t, err)
	require.EqualValues(t, 2, first.GetVersion())
	require.Equal(t, made.GetSnapshot().GetIncarnation(), first.GetIncarnation())
	require.Contains(t, a.engine.published, lake.Version(2))

	called := newOp(t, "a", "t", 2)
	_, err = a.put(t.Context(), called)
	require.NoError(t, err)
	again, err := s.put(t, called)
	require.NoError(t, err)
	require.True(t, again.GetReplayed(), "what a call has applied, a session repeats")
	require.EqualValues(t, 3, again.GetVersion())
	again, err = a.put(t.Context(), o)
	require.NoError(t, err)
	require.True(t, again.GetReplayed(), "and the other way round")
	require.EqualValues(t, 2, again.GetVersion())

	other := newOp(t, "a", "t", 9)
	other.command.Operation = o.command.Operation
	_, err = s.put(t, other)
	require.Equal(t, lake.AlreadyExists, lake.KindOf(err), "%v", err)
	require.Equal(t, []int64{1, 2}, a.numbers(t, "a", "t"))
}

// TestSessionsRefuseOneByOne: what is wrong with one append is told of that one,
// as by a call, and the others go on.
func TestSessionsRefuseOneByOne(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	s := a.session(t, t.Context(), "a", "t", lake.Incarnation{})
	changed := func(change func(*op)) op {
		o := newOp(t, "a", "t", 1)
		change(&o)
		return o
	}
	ofBatches := func(batch arrow.RecordBatch, opts ...ipc.Option) op {
		return opOf("a", "t", encode(t, ints, []arrow.RecordBatch{batch}, opts...))
	}
	good := newOp(t, "a", "t", 1).messages
	for label, tc := range map[string]struct {
		op       op
		kind     lake.Kind
		contains string
	}{
		"digest":        {changed(func(o *op) { o.command.Digest[0]++ }), lake.Invalid, "sha256"},
		"future":        {changed(func(o *op) { o.command.Operation = lake.NewIDAt(time.Now().Add(time.Hour)) }), lake.Invalid, "future"},
		"too old":       {changed(func(o *op) { o.command.Operation = lake.NewIDAt(time.Now().Add(-8 * 24 * time.Hour)) }), lake.Precondition, "old"},
		"not a UUIDv7":  {changed(func(o *op) { o.command.Operation[6] = 0x40 }), lake.Invalid, "operation"},
		"compressed":    {ofBatches(rowsOf(make([]int64, 500)...), ipc.WithZstd()), lake.Invalid, "compressed"},
		"no rows":       {ofBatches(rowsOf()), lake.Invalid, "no rows"},
		"second schema": {opOf("a", "t", []*flight.FlightData{good[0], good[0]}), lake.Invalid, "schema"},
		"garbage":       {opOf("a", "t", []*flight.FlightData{good[0], {DataHeader: []byte("garbage")}}), lake.Invalid, "Arrow IPC"},
		"body cut off":  {opOf("a", "t", []*flight.FlightData{good[0], {DataHeader: good[1].DataHeader, DataBody: good[1].DataBody[:8]}}), lake.Invalid, "body"},
	} {
		_, err := s.put(t, tc.op)
		require.Equal(t, tc.kind, lake.KindOf(err), "%s: %v", label, err)
		require.ErrorContains(t, err, tc.contains, label)
		_, err = s.put(t, newOp(t, "a", "t", 7))
		require.NoError(t, err, "after %s", label)
	}
	require.NotContains(t, a.numbers(t, "a", "t"), int64(1))
}

func TestSessionsThatDoNotOpen(t *testing.T) {
	a := start(t, func(o *metasrv.Options) { o.Append.Sessions = 2 })
	a.create(t, "shared", "t")
	table := lake.TableName{Namespace: "shared", Name: "t"}
	schema := newOp(t, "shared", "t", 1).messages[0]
	red := as(t.Context(), "red")

	_, err := a.trySession(red, appendwire.Opening{Table: lake.TableName{Namespace: "b", Name: "t"}}, schema)
	requireCode(t, codes.NotFound, err, "no table b.t")
	_, err = a.trySession(red, appendwire.Opening{Table: table}, &flight.FlightData{DataBody: make([]byte, appendwire.MaxSessionBytes)})
	requireCode(t, codes.InvalidArgument, err, "at most")
	_, err = a.trySession(red, appendwire.Opening{}, schema)
	requireCode(t, codes.InvalidArgument, err)
	_, err = a.put(metadata.AppendToOutgoingContext(red, appendwire.SessionHeader, "1"), newOp(t, "shared", "t", 1))
	requireCode(t, codes.InvalidArgument, err, "AppendSessionCommand")

	one := a.session(t, red, "shared", "t", lake.Incarnation{})
	a.session(t, red, "shared", "t", lake.Incarnation{})
	_, err = a.trySession(red, appendwire.Opening{Table: table}, schema)
	requireCode(t, codes.ResourceExhausted, err, "2 are open")
	one.end()
	require.Eventually(t, func() bool {
		again, err := a.trySession(red, appendwire.Opening{Table: table}, schema)
		if err == nil {
			t.Cleanup(again.end)
		}
		return err == nil
	}, 10*time.Second, time.Millisecond, "a session that has ended makes room")
}

// TestMessagesThatEndASession cannot be answered, or are not even read by a
// server that passes them on. What came before them is answered.
func TestMessagesThatEndASession(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	for says, m := range map[string]*flight.FlightData{
		"operation id":            {DataHeader: []byte("x")},
		"AppendSessionItem":       {AppMetadata: []byte("\xff\xff")},
		"larger appends go alone": {DataBody: make([]byte, appendwire.MaxSessionBytes)},
	} {
		s := a.session(t, t.Context(), "a", "t", lake.Incarnation{})
		o := newOp(t, "a", "t", 1)
		s.send(t, o)
		require.NoError(t, s.Send(m))
		id, _, err := s.answer(t)
		require.NoError(t, err, says)
		require.Equal(t, o.command.Operation, id)
		_, err = s.Recv()
		requireCode(t, codes.InvalidArgument, err, says)
	}
}

// TestASessionIsPinned: its appends are for one incarnation of the table, where
// it says so.
func TestASessionIsPinned(t *testing.T) {
	a := start(t)
	made := a.create(t, "a", "t")
	inc, err := lake.ParseID(made.GetSnapshot().GetIncarnation())
	require.NoError(t, err)
	pinned, free := a.session(t, t.Context(), "a", "t", inc), a.session(t, t.Context(), "a", "t", lake.Incarnation{})
	_, err = pinned.put(t, newOp(t, "a", "t", 1))
	require.NoError(t, err)
	_, err = a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "t"), Reason: "again"})
	require.NoError(t, err)
	for _, s := range []*session{pinned, free} {
		_, err = s.put(t, newOp(t, "a", "t", 2))
		require.Equal(t, lake.Precondition, lake.KindOf(err), "%v", err)
		require.ErrorContains(t, err, "dropped")
	}
	a.create(t, "a", "t")
	_, err = pinned.put(t, newOp(t, "a", "t", 3))
	require.Equal(t, lake.Precondition, lake.KindOf(err), "%v", err)
	_, err = free.put(t, newOp(t, "a", "t", 4))
	require.NoError(t, err)
	require.Equal(t, []int64{4}, a.numbers(t, "a", "t"))
}

// TestAppendsOutliveTheirSession: what was taken is applied, though nobody hears
// of it.
func TestAppendsOutliveTheirSession(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	entered, release := make(chan struct{}), make(chan struct{})
	a.engine.set(func(d *disturbed) {
		d.stageData = func(context.Context) error {
			close(entered)
			<-release
			return nil
		}
	})
	s := a.session(t, t.Context(), "a", "t", lake.Incarnation{})
	o := newOp(t, "a", "t", 1)
	s.send(t, o)
	<-entered
	s.end()
	a.engine.set(func(d *disturbed) { d.stageData = nil })
	close(release)
	result, err := a.put(t.Context(), o)
	require.NoError(t, err)
	require.True(t, result.GetReplayed())
	require.Equal(t, []int64{1}, a.numbers(t, "a", "t"))
}

// TestSessionsAreAdmittedAppendByAppend: a session holds no place of those that
// append, and its appends wait for theirs.
func TestSessionsAreAdmittedAppendByAppend(t *testing.T) {
	series := prometheus.NewRegistry()
	a := start(t, func(o *metasrv.Options) {
		o.Append.Concurrent, o.Append.Wait, o.Metrics = 1, 20*time.Millisecond, series
	})
	a.create(t, "a", "t")
	s := a.session(t, t.Context(), "a", "t", lake.Incarnation{})
	_, err := a.put(t.Context(), newOp(t, "a", "t", 1))
	require.NoError(t, err, "an open session takes no place")

	entered, release := make(chan struct{}), make(chan struct{})
	a.engine.set(func(d *disturbed) {
		d.stageData = func(context.Context) error {
			close(entered)
			<-release
			return nil
		}
	})
	first, second := newOp(t, "a", "t", 2), newOp(t, "a", "t", 3)
	s.send(t, first)
	<-entered
	size := appendwire.MessageSize(first.messages[0]) + appendwire.MessageSize(first.messages[1])
	require.EqualValues(t, size, valuesOf(t, series)["lake_metasrv_reserved_append_bytes"])
	s.send(t, second)
	id, _, err := s.answer(t)
	require.Equal(t, second.command.Operation, id, "a later append may be answered first")
	require.Equal(t, lake.Exhausted, lake.KindOf(err), "%v", err)
	a.engine.set(func(d *disturbed) { d.stageData = nil })
	close(release)
	id, _, err = s.answer(t)
	require.NoError(t, err)
	require.Equal(t, first.command.Operation, id)
	_, err = s.put(t, second)
	require.NoError(t, err)
}

// TestAStoppingServerEndsItsSessions, whether they are used or not, and answers
// what it took.
func TestAStoppingServerEndsItsSessions(t *testing.T) {
	a := start(t)
	a.create(t, "a", "t")
	entered, release := make(chan struct{}), make(chan struct{})
	idle, used := a.session(t, t.Context(), "a", "t", lake.Incarnation{}), a.session(t, t.Context(), "a", "t", lake.Incarnation{})
	a.engine.set(func(d *disturbed) {
		d.stageData = func(context.Context) error {
			close(entered)
			<-release
			return nil
		}
	})
	o := newOp(t, "a", "t", 1)
	used.send(t, o)
	<-entered
	began := time.Now()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		a.shutdown()
	}()
	require.Eventually(t, func() bool {
		_, err := a.put(t.Context(), newOp(t, "a", "t", 2))
		return grpcerr.FromStatus(err) != nil
	}, 10*time.Second, time.Millisecond, "the server takes no more")
	close(release)
	id, _, err := used.answer(t)
	require.NoError(t, err)
	require.Equal(t, o.command.Operation, id)
	for _, s := range []*session{idle, used} {
		_, err := s.Recv()
		require.ErrorIs(t, err, io.EOF)
	}
	<-stopped
	require.Less(t, time.Since(began), 5*time.Second, "it waits for no session to become idle")
}

// TestASessionLetsGoOfADeafClient: one that reads no answers keeps its place no
// longer than it may take to read them. (Its connection ends with the grace of a
// server that stops, as that of everybody who reads nothing.)
func TestASessionLetsGoOfADeafClient(t *testing.T) {
	series := prometheus.NewRegistry()
	a := start(t, func(o *metasrv.Options) { o.Append.Concurrent, o.Metrics = 64, series })
	a.create(t, "a", "t")
	s := a.session(t, t.Context(), "a", "t", lake.Incarnation{})
	open := func() float64 { return valuesOf(t, series)["lake_metasrv_append_sessions"] }
	require.InDelta(t, 1, open(), 0)
	full := make(chan struct{})
	var sent atomic.Int64
	go func() { // until gRPC has no room for more, in either direction
		defer close(full)
		o := newOp(t, "a", "t", 1)
		m, err := appendwire.Item(o.messages[1], o.command.Operation, o.command.Digest)
		for err == nil {
			err = s.Send(m)
			sent.Add(1)
		}
	}()
	before := int64(-1)
	require.Eventually(t, func() bool { // it is stuck
		last := before
		before = sent.Load()
		return before > 0 && before == last
	}, 20*time.Second, 250*time.Millisecond)
	stopped := make(chan struct{})
	go func() { defer close(stopped); a.shutdown() }()
	require.Eventually(t, func() bool { return open() == 0 }, 10*time.Second, 10*time.Millisecond)
	s.end()
	<-stopped
	<-full
}

// TestSessionsThroughAFollower reach the leader, and end with its leadership.
func TestSessionsThroughAFollower(t *testing.T) {
	g := newGroup(t)
	leader := g.join(t)
	require.Eventually(t, leader.Leading, 20*time.Second, time.Millisecond)
	follower := g.join(t)
	require.Eventually(t, follower.Ready, 20*time.Second, time.Millisecond)
	red := as(t.Context(), "red")
	_, err := follower.catalog.CreateTable(red, &lakepb.CreateTableRequest{Name: nameOf("shared", "t"), Schema: schemaBytes(ints)})
	require.NoError(t, err)
	s := follower.session(t, red, "shared", "t", lake.Incarnation{})
	o := newOp(t, "shared", "t", 1)
	_, err = s.put(t, o)
	require.NoError(t, err)
	_, err = leader.records.Operation(t.Context(), "red", lake.TableName{Namespace: "shared", Name: "t"}, o.command.Operation)
	require.NoError(t, err, "the operation is the caller's tenant's")

	leader.stop()
	_, err = s.Recv()
	require.Error(t, err, "the session ends with the leader")
	require.Eventually(t, follower.Leading, 20*time.Second, time.Millisecond)
	again := follower.session(t, red, "shared", "t", lake.Incarnation{})
	result, err := again.put(t, o)
	require.NoError(t, err)
	require.True(t, result.GetReplayed())
	require.Equal(t, []int64{1}, follower.numbers(t, "shared", "t"))
}
