// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package directory

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/lake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authority is a Source whose answers the test writes.
type authority struct {
	mu         sync.Mutex
	generation string
	tables     []*lakepb.Table
	fail       error
	calls      int
	// unversioned sends no generation, as before a migration is finalized.
	unversioned bool
	entered     chan struct{} // when set, told of each call
	hold        chan struct{} // when set, calls wait for it
}

type answers struct {
	grpc.ClientStream
	msgs []*lakepb.CatalogSnapshotResponse
}

func (a *answers) Recv() (*lakepb.CatalogSnapshotResponse, error) {
	if len(a.msgs) == 0 {
		return nil, io.EOF
	}
	m := a.msgs[0]
	a.msgs = a.msgs[1:]
	return m, nil
}

func (a *authority) CatalogSnapshot(ctx context.Context, req *lakepb.CatalogSnapshotRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[lakepb.CatalogSnapshotResponse], error) {
	a.mu.Lock()
	a.calls++
	entered, hold := a.entered, a.hold
	a.mu.Unlock()
	if entered != nil {
		entered <- struct{}{}
	}
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail != nil {
		return nil, a.fail
	}
	if req.GetKnownGeneration() == a.generation && !a.unversioned {
		return &answers{msgs: []*lakepb.CatalogSnapshotResponse{{Generation: a.generation, NotModified: true}}}, nil
	}
	out := &answers{msgs: []*lakepb.CatalogSnapshotResponse{{Generation: a.generation}}}
	for _, t := range a.tables { // one table a message: the stream has parts
		out.msgs = append(out.msgs, &lakepb.CatalogSnapshotResponse{Tables: []*lakepb.Table{t}})
	}
	return out, nil
}

func (a *authority) set(generation string, tables ...*lakepb.Table) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.generation, a.tables = generation, tables
}

func (a *authority) setFail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fail = err
}

func (a *authority) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls
}

var fields = arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)

func table(ns, name, incarnation string) *lakepb.Table {
	return &lakepb.Table{
		Name:     &lakepb.TableName{Namespace: ns, Name: name},
		Snapshot: &lakepb.Snapshot{Incarnation: incarnation},
		Schema:   flight.SerializeSchema(fields, memory.DefaultAllocator),
	}
}

func names(s *Snapshot) (out []string) {
	for _, e := range s.Entries {
		out = append(out, e.Name.String())
	}
	return out
}

func TestCurrentSeesWhatHappenedBeforeTheCall(t *testing.T) {
	a := &authority{}
	a.set("g1", table("a", "x", "1"))
	d := New(a, Options{})
	defer d.Close()
	require.False(t, d.Ready())
	first, err := d.Current(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a.x"}, names(first))
	require.True(t, d.Ready())

	same, err := d.Current(t.Context())
	require.NoError(t, err)
	require.Same(t, first, same, "a conditional check replaces nothing")

	a.set("g2", table("a", "x", "1"), table("b", "y", "2"))
	second, err := d.Current(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a.x", "b.y"}, names(second))
	require.Same(t, first.Entries[0], second.Entries[0], "an unchanged entry is kept with its decoded schema")
	got, err := second.Entries[1].Schema()
	require.NoError(t, err)
	require.True(t, got.Equal(fields))

	a.set("g3", table("a", "x", "3"))
	third, err := d.Current(t.Context())
	require.NoError(t, err)
	require.NotSame(t, second.Entries[0], third.Entries[0], "a recreated table is another entry")
}

func TestAJoinerWaitsForARefreshThatStartsAfterIt(t *testing.T) {
	// There is room for each joiner's own refresh, where none shares one.
	a := &authority{entered: make(chan struct{}, 30), hold: make(chan struct{})}
	a.set("g1", table("a", "x", "1"))
	d := New(a, Options{})
	defer d.Close()
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = d.Current(context.Background()) })
	<-a.entered // the first refresh asked before g2 existed
	results := make(chan *Snapshot, 20)
	for range 20 {
		wg.Go(func() {
			s, err := d.Current(context.Background())
			if err == nil {
				results <- s
			}
		})
	}
	require.Eventually(t, func() bool { d.mu.Lock(); defer d.mu.Unlock(); return d.next != nil }, 20*time.Second, time.Millisecond)
	close(a.hold)
	wg.Wait()
	close(results)
	n := 0
	for range results {
		n++
	}
	require.Equal(t, 20, n)
	require.LessOrEqual(t, a.count(), 22)
}

func TestStartIsStrictAndLaterFailuresServeTheLastGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &authority{fail: errors.New("down")}
		var outcomes []Outcome
		d := New(a, Options{OnRefresh: func(o Outcome, _ error) { outcomes = append(outcomes, o) }})
		defer d.Close()
		_, err := d.Current(t.Context())
		require.ErrorContains(t, err, "down")
		go func() {
			time.Sleep(2 * time.Second)
			a.setFail(nil)
			a.set("g1", table("a", "x", "1"))
		}()
		require.NoError(t, d.Start(t.Context()))
		require.Less(t, a.count(), 8, "failures back off")

		a.setFail(errors.New("down again"))
		before := a.count()
		for range 100 {
			s, err := d.Current(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"a.x"}, names(s))
		}
		require.Equal(t, before+1, a.count(), "one failure, then the pause serves the last good")
		a.setFail(nil)
		a.set("g2")
		time.Sleep(time.Second)
		s, err := d.Current(t.Context())
		require.NoError(t, err)
		require.Empty(t, s.Entries)
		require.Equal(t, Replaced, outcomes[len(outcomes)-1])
	})
}

func TestACallerMayLeaveWithoutEndingTheRefresh(t *testing.T) {
	a := &authority{hold: make(chan struct{})}
	a.set("g1")
	d := New(a, Options{})
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := d.Current(ctx)
	require.ErrorIs(t, err, context.Canceled)
	close(a.hold)
	require.Eventually(t, d.Ready, 20*time.Second, time.Millisecond)
}

func TestCloseEndsARefreshInFlight(t *testing.T) {
	a := &authority{entered: make(chan struct{}, 1), hold: make(chan struct{})}
	d := New(a, Options{})
	done := make(chan error, 1)
	go func() { _, err := d.Current(context.Background()); done <- err }()
	<-a.entered
	d.Close()
	require.Error(t, <-done)
	_, err := d.Current(t.Context())
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
}

func TestAnswersThatContradictThemselvesAreRefused(t *testing.T) {
	big := table("a", "x", "1")
	big.Schema = make([]byte, lake.MaxSchemaBytes+1)
	for name, c := range map[string]struct {
		generation string
		tables     []*lakepb.Table
		kind       lake.Kind
	}{
		"unchanged from nothing": {"", nil, lake.Corrupt},
		"not sorted":             {"g", []*lakepb.Table{table("b", "x", "1"), table("a", "x", "1")}, lake.Corrupt},
		"twice":                  {"g", []*lakepb.Table{table("a", "x", "1"), table("a", "x", "2")}, lake.Corrupt},
		"bad name":               {"g", []*lakepb.Table{table("a", "", "1")}, lake.Corrupt},
		"large schema":           {"g", []*lakepb.Table{big}, lake.Exhausted},
	} {
		t.Run(name, func(t *testing.T) {
			a := &authority{}
			a.set(c.generation, c.tables...)
			d := New(a, Options{})
			defer d.Close()
			_, err := d.Current(t.Context())
			require.True(t, lake.Is(err, c.kind), "%v", err)
		})
	}
}

func TestADirectoryWithoutAGenerationIsReadEachTime(t *testing.T) {
	a := &authority{}
	a.set("", table("a", "x", "1"))
	a.unversioned = true
	d := New(a, Options{})
	defer d.Close()
	for range 3 {
		s, err := d.Current(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"a.x"}, names(s))
	}
	require.Equal(t, 3, a.count())
}

func TestFind(t *testing.T) {
	a := &authority{}
	a.set("g", table("A", "x", "1"), table("a", "X", "2"), table("a", "y", "3"))
	d := New(a, Options{})
	defer d.Close()
	s, err := d.Current(t.Context())
	require.NoError(t, err)
	require.Equal(t, "2", s.Find(lake.TableName{Namespace: "a", Name: "X"}).Incarnation)
	require.Nil(t, s.Find(lake.TableName{Namespace: "a", Name: "x"}))
	require.Equal(t, "3", s.FindFold(lake.TableName{Namespace: "A", Name: "Y"}).Incarnation)
	require.Nil(t, s.FindFold(lake.TableName{Namespace: "a", Name: "x"}), "two tables differ only by case")
	require.Nil(t, s.FindFold(lake.TableName{Namespace: "z", Name: "y"}))
}
