// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
)

func create(key string) metastore.Txn {
	return metastore.Txn{Ops: []metastore.Op{metastore.Create(key, []byte(key))}}
}

func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on", "the", "way")
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	withToken := create("a")
	withToken.Token = "t"
	require.NoError(t, s.Commit(t.Context(), withToken))
	require.NoError(t, s.Close())
	require.NoFileExists(t, filepath.Join(dir, infoFile))

	s, err = Open(dir, Options{})
	require.NoError(t, err)
	defer s.Close()
	rec, err := s.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "a", string(rec.Value))
	require.NoError(t, s.Commit(t.Context(), withToken), "tokens survive")
}

func TestOneProcessAtATime(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	defer s.Close()

	_, err = Open(dir, Options{})
	var locked *LockedError
	require.ErrorAs(t, err, &locked)
	require.Equal(t, os.Getpid(), locked.Holder.PID)
	require.Equal(t, dir, locked.Dir)
	require.True(t, lake.Is(err, lake.Precondition))
	require.ErrorContains(t, err, fmt.Sprintf("in use by process %d", os.Getpid()))

	require.NoError(t, s.Commit(t.Context(), create("a")), "the holder is not disturbed")
	require.NoError(t, s.Close())
	s, err = Open(dir, Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestOpenRefusals(t *testing.T) {
	for name, opts := range map[string]Options{
		"cache":        {CacheBytes: 1},
		"memtable":     {MemTableBytes: 1 << 20},
		"token window": {TokenWindow: time.Minute},
	} {
		_, err := Open(t.TempDir(), opts)
		require.True(t, lake.Is(err, lake.Invalid), name)
		require.ErrorContains(t, err, name)
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := Open(file, Options{})
	require.True(t, lake.Is(err, lake.Unavailable))
}

func TestAnotherLayoutIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	require.NoError(t, s.db.Set(layoutKey, []byte("lake-metastore-9"), driver.Sync))
	require.NoError(t, s.Close())
	_, err = Open(dir, Options{})
	require.True(t, lake.Is(err, lake.Unsupported), "%v", err)
	require.ErrorContains(t, err, "lake-metastore-9")
	_, err = Open(dir, Options{})
	require.True(t, lake.Is(err, lake.Unsupported), "a refused open gives the lock back: %v", err)
}

func TestTokensLiveOneToTwoWindows(t *testing.T) {
	s, err := Open(t.TempDir(), Options{})
	require.NoError(t, err)
	defer s.Close()
	turn := func() { require.NoError(t, s.tokens.turn(s.db, s.tokens.state.Load().number+1)) }
	attempt := create("a")
	attempt.Token = "t"
	require.NoError(t, s.Commit(t.Context(), attempt))
	turn()
	require.NoError(t, s.Commit(t.Context(), attempt), "known for a whole window after the turn")
	require.Equal(t, 1, countTokens(t, s))
	turn()
	require.ErrorAs(t, s.Commit(t.Context(), attempt), new(*metastore.ConflictError), "forgotten")
	require.Zero(t, countTokens(t, s), "and its space is free")
}

func countTokens(t *testing.T, s *Store) (n int) {
	t.Helper()
	iter, err := s.db.NewIter(&driver.IterOptions{LowerBound: []byte{tokenFamily}, UpperBound: []byte{tokenFamily + 1}})
	require.NoError(t, err)
	for ok := iter.First(); ok; ok = iter.Next() {
		n++
	}
	require.NoError(t, iter.Close())
	return n
}

func TestTokensTurnByThemselves(t *testing.T) {
	opts := Options{}.withDefaults()
	opts.TokenWindow = time.Millisecond // not through Validate
	s, err := open(t.TempDir(), opts)
	require.NoError(t, err)
	defer s.Close()
	before := s.tokens.state.Load().number
	require.Eventually(t, func() bool { return s.tokens.state.Load().number > before }, 10*time.Second, 10*time.Millisecond)
}

// crowded reports a volume with a chosen amount of free space.
type crowded struct {
	vfs.FS
	free *atomic.Uint64
}

func (c crowded) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: c.free.Load()}, nil
}

func TestCommitsStopBeforeTheDiskIsFull(t *testing.T) {
	var free atomic.Uint64
	free.Store(1 << 30)
	s, err := Open(t.TempDir(), Options{fs: crowded{vfs.Default, &free}})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Commit(t.Context(), create("a")))

	free.Store(1 << 20)
	s.measure()
	err = s.Commit(t.Context(), create("b"))
	require.True(t, lake.Is(err, lake.Exhausted), "%v", err)
	require.ErrorIs(t, err, metastore.ErrRetryable)
	_, err = s.Get(t.Context(), "a")
	require.NoError(t, err, "reads go on")

	free.Store(1 << 30)
	s.measure()
	require.NoError(t, s.Commit(t.Context(), create("b")))
}

// brokenSync fails the syncs of log files when told to.
type brokenSync struct {
	vfs.FS
	broken *atomic.Bool
}

func (fs brokenSync) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := fs.FS.Create(name, category)
	if filepath.Ext(name) == ".log" {
		file = brokenFile{file, fs.broken}
	}
	return file, err
}

type brokenFile struct {
	vfs.File
	broken *atomic.Bool
}

var errBroken = errors.New("the disk is broken")

func (f brokenFile) Sync() error     { return f.or(f.File.Sync) }
func (f brokenFile) SyncData() error { return f.or(f.File.SyncData) }

func (f brokenFile) or(sync func() error) error {
	if f.broken.Load() {
		return errBroken
	}
	return sync()
}

func TestAFailedSyncStopsTheStore(t *testing.T) {
	var broken atomic.Bool
	disk := vfs.NewMem()
	s, err := Open("store", Options{fs: brokenSync{disk, &broken}, MinFreeBytes: -1})
	require.NoError(t, err)
	require.NoError(t, s.Commit(t.Context(), create("a")))

	broken.Store(true)
	err = s.Commit(t.Context(), create("b"))
	require.ErrorIs(t, err, metastore.ErrUnknownOutcome)
	require.ErrorIs(t, err, errBroken)
	require.True(t, lake.Is(err, lake.Undetermined))

	broken.Store(false)
	for _, key := range []string{"a", "b"} {
		_, err = s.Get(t.Context(), key)
		require.True(t, lake.Is(err, lake.Unavailable), "the memtable may show what is lost: %v", err)
	}
	require.ErrorContains(t, s.Commit(t.Context(), create("c")), "restart")
	require.Error(t, s.Close())
	_ = s.db.Close() // for the leak check; the broken log makes it fail
}
