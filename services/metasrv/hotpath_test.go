// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package metasrv_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/services/metasrv"
)

// counting counts the calls of a metastore.
type counting struct {
	metastore.Store
	calls atomic.Int64
}

func (c *counting) Get(ctx context.Context, key string) (metastore.Record, error) {
	c.calls.Add(1)
	return c.Store.Get(ctx, key)
}

func (c *counting) Scan(ctx context.Context, prefix, cursor string, limit int) (metastore.Page, error) {
	c.calls.Add(1)
	return c.Store.Scan(ctx, prefix, cursor, limit)
}

func (c *counting) Commit(ctx context.Context, txn metastore.Txn) error {
	c.calls.Add(1)
	return c.Store.Commit(ctx, txn)
}

// TestAnAppendTakesTwoTripsToTheMetastore: one that asks whether the operation
// is known, one that commits. A group shares the second.
func TestAnAppendTakesTwoTripsToTheMetastore(t *testing.T) {
	store := &counting{Store: memory.New()}
	defer store.Close()
	a := startOn(t, store, enginetest.NewMemory())
	a.create(t, "a", "t")
	_, err := a.put(t.Context(), newOp(t, "a", "t", 0))
	require.NoError(t, err, "the first one reads the table")
	before := store.calls.Load()
	const n = 50
	for i := range int64(n) {
		_, err := a.put(t.Context(), newOp(t, "a", "t", i+1))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, store.calls.Load()-before, int64(2*n))
	requireEach(t, a, n+1)
}

// TestAKeptTableIsOnlyAGuess: whatever another process does to the table, the
// next append is decided by what is there.
func TestAKeptTableIsOnlyAGuess(t *testing.T) {
	store := memory.New()
	defer store.Close()
	storage := enginetest.NewMemory()
	a := startOn(t, store, storage)
	a.create(t, "a", "t")
	_, err := a.put(t.Context(), newOp(t, "a", "t", 0))
	require.NoError(t, err)

	b := startOn(t, store, storage) // takes over at once
	_, err = b.put(t.Context(), newOp(t, "a", "t", 1))
	require.NoError(t, err)
	_, err = b.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "t")})
	require.NoError(t, err)
	b.create(t, "a", "t")

	_, err = a.put(t.Context(), newOp(t, "a", "t", 9))
	require.Error(t, err, "a leader that was replaced")
	c := startOn(t, store, storage)
	for _, m := range []*authority{c, b, c} {
		_, err = m.put(t.Context(), newOp(t, "a", "t", 9))
		if m == b {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
	}
	require.Len(t, c.numbers(t, "a", "t"), 2)
}

// TestAnnouncedSize: a client that says how much it sends is admitted by that.
func TestAnnouncedSize(t *testing.T) {
	a := start(t, func(o *metasrv.Options) {
		o.Append = metasrv.AppendOptions{StreamBytes: 1 << 20, BufferedBytes: 1 << 20, Wait: 50 * time.Millisecond}
	})
	a.create(t, "a", "t")
	o := newOp(t, "a", "t", 0)
	var size int64
	for _, m := range o.messages {
		size += appendwire.MessageSize(m)
	}
	announce := func(text string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), appendwire.SizeHeader, text)
	}
	for text, contains := range map[string]string{
		"x": "want one number", "0": "want one number", "-1": "want one number",
		fmt.Sprint(1<<20 + 1): "over the 1048576", fmt.Sprint(size - 1): "over",
	} {
		_, err := a.put(announce(text), o)
		requireCode(t, codes.InvalidArgument, err, contains)
	}

	// Seven of eight slots are receiving; one that may be the largest would not
	// fit beside them, small ones do.
	release := make(chan struct{})
	var slow sync.WaitGroup
	defer slow.Wait()
	defer close(release)
	for range 7 {
		slow.Go(func() {
			ctx, cancel := context.WithCancel(announce(fmt.Sprint(100 << 10)))
			defer cancel()
			_, err := a.flight.DoPut(ctx)
			if err != nil {
				t.Error(err)
			}
			<-release
		})
	}
	require.Eventually(t, func() bool {
		_, err := a.put(t.Context(), newOp(t, "a", "t", 5))
		return err != nil
	}, 20*time.Second, time.Millisecond, "the room is taken")
	_, err := a.put(announce(fmt.Sprint(size)), o)
	require.NoError(t, err)
	_, err = a.put(t.Context(), newOp(t, "a", "t", 1))
	requireCode(t, codes.ResourceExhausted, err, "reserved")
}

// TestOneBadMemberDoesNotSpoilItsGroup: an append that no version can take in
// fails alone.
func TestOneBadMemberDoesNotSpoilItsGroup(t *testing.T) {
	storage := &spoiled{Engine: enginetest.NewMemory()}
	store := memory.New()
	defer store.Close()
	a := startOn(t, store, storage)
	a.create(t, "a", "t")
	hold, holding := make(chan struct{}), make(chan struct{})
	a.store.OnCommit(func(_ metastore.Txn, next func() error) error {
		a.store.OnCommit(nil)
		close(holding)
		<-hold
		return next()
	})
	results := make(chan error, 8)
	send := func(o op) { _, err := a.put(t.Context(), o); results <- err }
	go send(newOp(t, "a", "t", 0))
	<-holding
	bad := newOp(t, "a", "t", 666)
	storage.bad.Store(&bad.command.Operation)
	for i := range int64(6) {
		go send(newOp(t, "a", "t", i+1))
	}
	go send(bad)
	require.Eventually(t, func() bool { a.engine.mu.Lock(); defer a.engine.mu.Unlock(); return a.engine.staged == 8 }, 20*time.Second, time.Millisecond)
	time.Sleep(20 * time.Millisecond) // from staged to waiting
	close(hold)
	var failed []error
	for range 8 {
		if err := <-results; err != nil {
			failed = append(failed, err)
		}
	}
	require.Len(t, failed, 1)
	requireCode(t, codes.InvalidArgument, failed[0], "spoiled")
	require.ElementsMatch(t, []int64{0, 1, 2, 3, 4, 5, 6}, a.numbers(t, "a", "t"))
}

// spoiled is an engine that cannot take one operation in.
type spoiled struct {
	engine.Engine
	bad atomic.Pointer[lake.OperationID]
}

func (s *spoiled) StageAppend(ctx context.Context, base lake.Snapshot, adds []engine.Append) (engine.Staged, error) {
	for _, a := range adds {
		if bad := s.bad.Load(); bad != nil && a.Operation.ID == *bad {
			return engine.Staged{}, lake.Errorf(lake.Invalid, "the rows are spoiled")
		}
	}
	return s.Engine.StageAppend(ctx, base, adds)
}

// TestANewLeaderFinishesVersions: a version that was committed by a process
// that then died is published without anybody asking for it.
func TestANewLeaderFinishesVersions(t *testing.T) {
	store := memory.New()
	defer store.Close()
	storage := enginetest.NewMemory()
	a := startOn(t, store, storage)
	for i := range 5 {
		a.create(t, "a", fmt.Sprint("t", i))
	}
	a.engine.set(func(d *disturbed) {
		d.publish = func(lake.Snapshot) error { return errors.New("the process is dying") }
	})
	_, err := a.put(t.Context(), newOp(t, "a", "t3", 0))
	require.Error(t, err)
	a.stop()

	b := startOn(t, store, storage)
	require.Eventually(t, func() bool {
		b.engine.mu.Lock()
		defer b.engine.mu.Unlock()
		return len(b.engine.published) == 5
	}, 20*time.Second, time.Millisecond)
	require.Contains(t, b.engine.published, lake.Version(2))
}

// TestUnpublishedVersionsAreTriedAgain, but not those of a dropped table.
func TestUnpublishedVersionsAreTriedAgain(t *testing.T) {
	a := start(t)
	for _, n := range []string{"stays", "goes"} {
		a.create(t, "a", n)
		a.engine.set(func(d *disturbed) {
			d.publish = func(lake.Snapshot) error { return lake.Errorf(lake.Unavailable, "the object store is away") }
		})
		_, err := a.put(t.Context(), newOp(t, "a", n, 0))
		requireCode(t, codes.Unavailable, err)
		a.engine.set(func(d *disturbed) { d.publish = nil })
	}
	_, err := a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "goes")})
	require.NoError(t, err)
	a.engine.set(func(d *disturbed) { d.published = nil })
	require.Eventually(t, func() bool { a.engine.mu.Lock(); defer a.engine.mu.Unlock(); return len(a.engine.published) > 0 }, 15*time.Second, 10*time.Millisecond)
	time.Sleep(50 * time.Millisecond)
	a.engine.mu.Lock()
	defer a.engine.mu.Unlock()
	require.Equal(t, []lake.Version{2}, a.engine.published)
}

// TestADroppedTableGetsNoObjects: a process that was stopped between a commit
// and its publication does not bring an object back under a dropped table.
// Its clock does not matter: five minutes ahead, the record of the commit never
// looks old.
func TestADroppedTableGetsNoObjects(t *testing.T) {
	t.Parallel()
	store := memory.New()
	defer store.Close()
	a := startOn(t, store, enginetest.NewMemory(), func(o *metasrv.Options) {
		o.Catalog = catalog.New(o.Store, catalog.Options{Now: func() time.Time { return time.Now().Add(5 * time.Minute) }})
	})
	a.create(t, "a", "t")
	a.store.OnCommit(func(_ metastore.Txn, next func() error) error {
		a.store.OnCommit(nil)
		err := next()
		_, dropErr := a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "t")})
		time.Sleep(metasrv.PublishDoubt) // stopped
		return errors.Join(err, dropErr)
	})
	_, err := a.put(t.Context(), newOp(t, "a", "t", 0))
	requireCode(t, codes.Unavailable, err, "the table was dropped")
	a.engine.mu.Lock()
	defer a.engine.mu.Unlock()
	require.Equal(t, []lake.Version{1}, a.engine.published)
}

// TestADropThatOthersSeeIsSeenByReplays: while the commit of a drop has not
// answered yet, another request finds the table dropped and says so. From then
// on no append is taken for one of a table that is there.
func TestADropThatOthersSeeIsSeenByReplays(t *testing.T) {
	a := start(t)
	created := a.create(t, "a", "t")
	op := newOp(t, "a", "t", 0)
	_, err := a.put(t.Context(), op)
	require.NoError(t, err)
	drop := func() error {
		_, err := a.catalog.DropTable(t.Context(), &lakepb.DropTableRequest{Name: nameOf("a", "t"), Incarnation: created.GetSnapshot().GetIncarnation()})
		return err
	}
	var seen, replayed error
	a.store.OnCommit(func(_ metastore.Txn, next func() error) error {
		a.store.OnCommit(nil)
		err := next()
		seen = drop()
		_, replayed = a.put(t.Context(), op)
		return err
	})
	require.NoError(t, drop())
	require.NoError(t, seen)
	require.Error(t, replayed)
}
