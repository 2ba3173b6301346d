// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/faultproxy"
	"github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/metastore/remote"
)

func newStore(tb testing.TB) *memory.Store {
	s := memory.New()
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func TestOpenRefusals(t *testing.T) {
	addr, stop := serve(t, newStore(t))
	for name, c := range map[string]struct {
		token string
		opts  remote.Options
		kind  lake.Kind
	}{
		"a user":         {userToken, remote.Options{}, lake.Denied},
		"nobody":         {"unknown-0123456789abcdef", remote.Options{}, lake.Unauthenticated},
		"other cluster":  {workerToken, remote.Options{Cluster: lake.NewID()}, lake.Precondition},
		"bad patience":   {workerToken, remote.Options{Patience: time.Hour}, lake.Invalid},
		"bad time limit": {workerToken, remote.Options{CallTimeout: -1}, lake.Invalid},
	} {
		_, err := remote.Open(t.Context(), dial(t, addr, c.token), c.opts)
		require.Equal(t, c.kind, lake.KindOf(err), "%s: %v", name, err)
	}
	_, err := remote.Open(t.Context(), nil, remote.Options{})
	require.True(t, lake.Is(err, lake.Invalid))

	s := openAt(t, addr, remote.Options{})
	require.Equal(t, s.Cluster(), openAt(t, addr, remote.Options{Cluster: s.Cluster()}).Cluster())
	stop()
	_, err = remote.Open(t.Context(), dial(t, addr, workerToken), impatient)
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
}

// TestAnotherClusterIsRefused leads a client to another cluster behind its back.
func TestAnotherClusterIsRefused(t *testing.T) {
	here, there := newStore(t), newStore(t)
	addr, _ := serve(t, here)
	other, _ := serve(t, there)
	p := proxied(t, addr, "")
	s := openAt(t, p.Addr(), patient)
	require.NoError(t, s.Commit(t.Context(), createA("t")))
	require.NotEqual(t, s.Cluster(), openAt(t, other, remote.Options{}).Cluster())
	p.Retarget(other)
	p.CutAll()
	require.True(t, lake.Is(getErr(t.Context(), s, "a"), lake.Precondition), "a read is repeated on the new connection")
	for name, err := range map[string]error{
		"commit": s.Commit(t.Context(), createA("u")),
		"get":    getErr(t.Context(), s, "a"),
		"scan":   scanErr(t.Context(), s, "a"),
	} {
		require.True(t, lake.Is(err, lake.Precondition), "%s: %v", name, err)
		require.NotErrorIs(t, err, metastore.ErrRetryable)
	}
	require.ErrorIs(t, getErr(t.Context(), there, "a"), metastore.ErrNotFound)
}

func getErr(ctx context.Context, s metastore.Store, key string) error {
	_, err := s.Get(ctx, key)
	return err
}

func scanErr(ctx context.Context, s metastore.Store, prefix string) error {
	_, err := s.Scan(ctx, prefix, "", 1)
	return err
}

// observed remembers what reaches the server's store.
type observed struct {
	metastore.Store
	mu        sync.Mutex
	tokens    []string
	deadlines []time.Duration
	hang      bool
	ended     chan struct{}
}

func (o *observed) Commit(ctx context.Context, txn metastore.Txn) error {
	o.mu.Lock()
	hang := o.hang
	if deadline, ok := ctx.Deadline(); ok {
		o.deadlines = append(o.deadlines, time.Until(deadline))
	}
	o.tokens = append(o.tokens, txn.Token)
	o.mu.Unlock()
	if hang {
		<-ctx.Done()
		close(o.ended)
		return fmt.Errorf("%w: %w", metastore.ErrRetryable, ctx.Err())
	}
	return o.Store.Commit(ctx, txn)
}

func (o *observed) set(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
}

func TestATokenIsMadeAndKept(t *testing.T) {
	o := &observed{Store: newStore(t)}
	addr, _ := serve(t, o)
	p := proxied(t, addr, "a-key-of-its-own")
	s := openAt(t, p.Addr(), remote.Options{})
	p.Harm(faultproxy.First(2, faultproxy.DropAnswer))
	o.set(func() { o.tokens = nil })
	require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("a-key-of-its-own", nil)}}))
	require.Len(t, o.tokens, 3)
	require.Len(t, slices.Compact(o.tokens), 1, "every attempt has the same")
	_, err := lake.ParseID(o.tokens[0])
	require.NoError(t, err)
	require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("b", nil)}}))
	require.NotEqual(t, o.tokens[0], o.tokens[1], "another transaction has another")
}

func TestDeadlinesAndCancellationTravel(t *testing.T) {
	o := &observed{Store: newStore(t), ended: make(chan struct{})}
	s := openOver(t, o, remote.Options{CallTimeout: 20 * time.Second})
	o.set(func() { o.deadlines = nil })
	require.NoError(t, s.Commit(t.Context(), createA("t")))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	require.NoError(t, s.Commit(ctx, createA("t")))
	require.Len(t, o.deadlines, 2)
	require.InDelta(t, 20, o.deadlines[0].Seconds(), 5)
	require.InDelta(t, 3, o.deadlines[1].Seconds(), 2)

	o.set(func() { o.hang = true })
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := s.Commit(ctx, createA("u"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	select {
	case <-o.ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the call goes on in the server")
	}
}

// silent does not answer about one key until it is released, whatever becomes
// of the call.
type silent struct {
	metastore.Store
	released chan struct{}
}

func (s silent) Get(ctx context.Context, key string) (metastore.Record, error) {
	if key == "a" {
		<-s.released
	}
	return s.Store.Get(ctx, key)
}

func (s silent) Commit(ctx context.Context, txn metastore.Txn) error {
	if txn.Ops[0].Key == "a" {
		<-s.released
	}
	return s.Store.Commit(ctx, txn)
}

// TestASilentServerIsGivenUp ends attempts that get no answer at all.
func TestASilentServerIsGivenUp(t *testing.T) {
	quiet := silent{newStore(t), make(chan struct{})}
	s := openOver(t, quiet, remote.Options{CallTimeout: 200 * time.Millisecond, Patience: 300 * time.Millisecond})
	t.Cleanup(func() { close(quiet.released) })
	require.ErrorIs(t, s.Commit(t.Context(), createA("t")), metastore.ErrUnknownOutcome)
	err := getErr(t.Context(), s, "a")
	require.ErrorIs(t, err, metastore.ErrRetryable)
	require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's own context goes on")
}

func TestLargeRecordsTakeSmallerPages(t *testing.T) {
	backing := newStore(t)
	s := openOver(t, backing, remote.Options{})
	for i := range 5 {
		var ops []metastore.Op
		for j := range 8 {
			ops = append(ops, metastore.Create(fmt.Sprintf("big/%d%d", i, j), make([]byte, metastore.MaxValueBytes)))
		}
		require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: ops}))
	}
	whole, err := backing.Scan(t.Context(), "big/", "", 100)
	require.NoError(t, err)
	require.Len(t, whole.Records, 40, "the store's own page has 14 MB")

	found, pages := 0, 0
	for cursor := ""; ; pages++ {
		page, err := s.Scan(t.Context(), "big/", cursor, 100)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Records)*metastore.MaxValueBytes, 4<<20)
		found += len(page.Records)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	require.Equal(t, 40, found)
	require.LessOrEqual(t, pages, 5)

	var keys []string
	for _, rec := range whole.Records {
		keys = append(keys, rec.Key)
	}
	all, err := s.GetAll(t.Context(), keys[:20])
	require.NoError(t, err)
	require.Len(t, all, 20)
	_, err = s.GetAll(t.Context(), keys)
	require.ErrorIs(t, err, metastore.ErrInvalid, "one moment is not cut in two")
}

// TestTheClusterRecordIsTheServersOwn keeps clients from the identity of the
// store they share.
func TestTheClusterRecordIsTheServersOwn(t *testing.T) {
	const key = "__lake_internal/cluster"
	backing := newStore(t)
	s := openOver(t, backing, remote.Options{})
	rec, err := backing.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, s.Cluster().String(), string(rec.Value))
	require.ErrorIs(t, getErr(t.Context(), s, key), metastore.ErrInvalid)
	require.ErrorIs(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Remove(key, rec.Value)}}), metastore.ErrInvalid)
	_, err = s.GetAll(t.Context(), []string{"a", key})
	require.ErrorIs(t, err, metastore.ErrInvalid)
	require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("__lake_internal/clusters", nil)}}))
	page, err := s.Scan(t.Context(), "__lake_internal/", "", 1)
	require.NoError(t, err)
	require.Len(t, page.Records, 1)
	require.Equal(t, "__lake_internal/clusters", page.Records[0].Key)
}

// plain has none of the optional abilities.
type plain struct{ metastore.Store }

type watching struct {
	metastore.Store
	metastore.Watcher
}

type snapping struct {
	metastore.Store
	metastore.Snapshotter
}

func TestAbilitiesAreTheServers(t *testing.T) {
	backing := newStore(t)
	for name, c := range map[string]struct {
		store         metastore.Store
		watch, getAll bool
	}{
		"both":      {backing, true, true},
		"none":      {plain{backing}, false, false},
		"watches":   {watching{backing, backing}, true, false},
		"snapshots": {snapping{backing, backing}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := openOver(t, c.store, remote.Options{})
			_, watches := s.Exact().(metastore.Watcher)
			_, snapshots := s.Exact().(metastore.Snapshotter)
			require.Equal(t, c.watch, watches)
			require.Equal(t, c.getAll, snapshots)
			_, err := s.Watch(t.Context(), "a/")
			require.Equal(t, !c.watch, lake.Is(err, lake.Unsupported))
			_, err = s.GetAll(t.Context(), []string{"a"})
			require.Equal(t, !c.getAll, lake.Is(err, lake.Unsupported))
			require.ErrorIs(t, getErr(t.Context(), s.Exact(), "a"), metastore.ErrNotFound)
		})
	}
}

func TestAWatchSurvivesItsConnection(t *testing.T) {
	backing := newStore(t)
	addr, stop := serve(t, backing)
	p := proxied(t, addr, "")
	s := openAt(t, p.Addr(), remote.Options{})
	signals, err := s.Watch(t.Context(), "a/")
	require.NoError(t, err)
	put := func(key string) {
		require.NoError(t, backing.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create(key, nil)}}))
	}
	wake := func(what string) {
		t.Helper()
		select {
		case _, open := <-signals:
			require.True(t, open)
		case <-time.After(10 * time.Second):
			t.Fatal("no signal: " + what)
		}
	}
	put("a/1")
	wake("a change")
	p.CutAll()
	wake("something may have been missed")
	put("a/2")
	wake("a change after that")
	stop()
	other, _ := serve(t, backing)
	p.Retarget(other)
	wake("another server")
	put("a/3")
	wake("a change there")
}

func TestBadCursors(t *testing.T) {
	s := openOver(t, newStore(t), remote.Options{})
	for _, cursor := range []string{"\xff", "!!", strings.Repeat("x", 9<<10), "AAAA"} {
		_, err := s.Scan(t.Context(), "a/", cursor, 1)
		require.ErrorIs(t, err, metastore.ErrInvalid, "%.10q", cursor)
	}
}
