// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
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
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	fields  = flight.SerializeSchema(arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil), memory.DefaultAllocator)
	name    = lake.TableName{Namespace: "a", Name: "t"}
	created = lake.NewID()
)

// authority is a Source with a version counter. A call reads the version, or
// its failure, when it starts and answers when release lets it.
type authority struct {
	version atomic.Uint64
	calls   atomic.Int64
	fail    atomic.Pointer[lake.Error]
	release chan struct{}
	started chan struct{}
}

func (a *authority) GetTable(ctx context.Context, req *lakepb.GetTableRequest, _ ...grpc.CallOption) (*lakepb.Table, error) {
	a.calls.Add(1)
	version, fail := a.version.Load(), a.fail.Load()
	if a.started != nil {
		a.started <- struct{}{}
	}
	if a.release != nil {
		select {
		case <-a.release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if fail != nil {
		return nil, grpcerr.ToStatus(fail)
	}
	return &lakepb.Table{Name: req.GetName(), Schema: fields, Snapshot: &lakepb.Snapshot{
		Engine: "lance", Location: "a/t/x.lance", Incarnation: created.String(), Version: version,
		Manifest: &lakepb.Manifest{Path: "m", Size: 3, Sha256: make([]byte, 32)},
	}}, nil
}

func version(t *testing.T, c *Cache, min lake.Version) lake.Version {
	t.Helper()
	reg, err := c.Get(t.Context(), name, min)
	require.NoError(t, err)
	require.Equal(t, name, reg.Name)
	require.Equal(t, created, reg.Snapshot.Incarnation)
	require.Equal(t, "x", reg.Schema.Field(0).Name)
	return reg.Snapshot.Version
}

func TestAResolutionIsKeptForItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &authority{}
		a.version.Store(1)
		c := New(a, Options{})
		defer c.Close()
		for range 10 {
			require.EqualValues(t, 1, version(t, c, 0))
		}
		require.EqualValues(t, 1, a.calls.Load())
		a.version.Store(2)
		time.Sleep(time.Second + time.Millisecond)
		require.EqualValues(t, 2, version(t, c, 0))
	})
}

func TestOneCallServesAllWhoAskMeanwhile(t *testing.T) {
	a := &authority{release: make(chan struct{})}
	a.version.Store(1)
	c := New(a, Options{})
	defer c.Close()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := c.Get(context.Background(), name, 0); err != nil {
				t.Error(err)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	close(a.release)
	wg.Wait()
	require.EqualValues(t, 1, a.calls.Load())
}

func TestAFillFromBeforeAWriteIsNeitherJoinedNorKept(t *testing.T) {
	a := &authority{release: make(chan struct{}), started: make(chan struct{}, 10)}
	a.version.Store(1)
	c := New(a, Options{TTL: time.Hour})
	defer c.Close()
	old := make(chan Registration, 1)
	go func() { r, _ := c.Get(context.Background(), name, 0); old <- r }()
	<-a.started // it read version 1
	a.version.Store(2)
	c.Evict(name) // the write was acknowledged here
	fresh := make(chan Registration, 1)
	go func() { r, _ := c.Get(context.Background(), name, 0); fresh <- r }()
	<-a.started
	close(a.release)
	require.EqualValues(t, 1, (<-old).Snapshot.Version)
	require.EqualValues(t, 2, (<-fresh).Snapshot.Version)
	require.EqualValues(t, 2, version(t, c, 0), "the older fill must not overwrite the newer")
	require.EqualValues(t, 2, a.calls.Load())
}

// TestAFailureIsNoOlderThanTheQuestion: a table that was created before somebody
// asks for it is found, although a call that began earlier did not find it.
func TestAFailureIsNoOlderThanTheQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &authority{release: make(chan struct{})}
		a.fail.Store(lake.Errorf(lake.NotFound, "no table"))
		c := New(a, Options{})
		defer c.Close()
		first, others := make(chan error, 1), make(chan error, 10)
		go func() { _, err := c.Get(t.Context(), name, 0); first <- err }()
		synctest.Wait() // it has not found the table
		a.version.Store(1)
		a.fail.Store(nil)
		for range cap(others) {
			go func() { _, err := c.Get(t.Context(), name, 1); others <- err }()
		}
		synctest.Wait()
		close(a.release)
		require.True(t, lake.Is(<-first, lake.NotFound))
		for range cap(others) {
			require.NoError(t, <-others)
		}
		require.EqualValues(t, 2, a.calls.Load(), "one more call serves all of them")
	})
}

func TestAMinimumVersionIsFetchedOrWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &authority{}
		a.version.Store(1)
		c := New(a, Options{TTL: time.Hour})
		defer c.Close()
		require.EqualValues(t, 1, version(t, c, 0))
		a.version.Store(5)
		require.EqualValues(t, 1, version(t, c, 1), "new enough")
		require.EqualValues(t, 5, version(t, c, 3), "the kept one is too old")
		go func() { time.Sleep(500 * time.Millisecond); a.version.Store(9) }()
		require.EqualValues(t, 9, version(t, c, 8))
		start := time.Now()
		_, err := c.Get(t.Context(), name, 100)
		require.True(t, lake.Is(err, lake.Precondition), "%v", err)
		require.ErrorContains(t, err, "at version 9: version 100 was asked for")
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}

func TestFailuresAreNotKept(t *testing.T) {
	a := &authority{}
	a.version.Store(1)
	a.fail.Store(lake.Errorf(lake.NotFound, "no such table"))
	c := New(a, Options{TTL: time.Hour})
	defer c.Close()
	_, err := c.Get(t.Context(), name, 0)
	require.True(t, lake.Is(err, lake.NotFound))
	a.fail.Store(nil)
	require.EqualValues(t, 1, version(t, c, 0))
}

func TestTheCacheIsBounded(t *testing.T) {
	a := &authority{}
	a.version.Store(1)
	c := New(a, Options{Entries: 10, TTL: time.Hour})
	defer c.Close()
	for i := range 100 {
		_, err := c.Get(t.Context(), lake.TableName{Namespace: "a", Name: fmt.Sprint(i)}, 0)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(c.kept), 10)
	require.Empty(t, c.fills)
}

func TestCloseEndsCallsInFlight(t *testing.T) {
	a := &authority{release: make(chan struct{}), started: make(chan struct{}, 1)}
	c := New(a, Options{})
	done := make(chan error, 1)
	go func() { _, err := c.Get(context.Background(), name, 0); done <- err }()
	<-a.started
	c.Close()
	require.Error(t, <-done)
	_, err := c.Get(t.Context(), name, 0)
	require.True(t, lake.Is(err, lake.Unavailable))
}
