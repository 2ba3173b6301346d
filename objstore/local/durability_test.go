// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// recorder notes which files and folders are synced, and can fail.
type recorder struct {
	root string
	mu   sync.Mutex
	seen []string
	fail func(name string) error
	// apart lets fail be called by several at once.
	apart bool
}

func (r *recorder) fsync(fd int) error {
	name := r.nameOf(fd)
	r.mu.Lock()
	r.seen = append(r.seen, name)
	if r.apart {
		r.mu.Unlock()
	} else {
		defer r.mu.Unlock()
	}
	if r.fail != nil {
		if err := r.fail(name); err != nil {
			return err
		}
	}
	return unix.Fsync(fd)
}

// nameOf finds the path of a descriptor by its identity: "." for the root, "*"
// for a scratch file.
func (r *recorder) nameOf(fd int) string {
	var want unix.Stat_t
	if unix.Fstat(fd, &want) != nil {
		return "?"
	}
	name := "*"
	_ = filepath.Walk(r.root, func(path string, _ os.FileInfo, err error) error {
		var st unix.Stat_t
		if err == nil && unix.Lstat(path, &st) == nil && st.Ino == want.Ino {
			if rel, _ := filepath.Rel(r.root, path); !strings.HasPrefix(rel, scratchName) {
				name = rel
			}
		}
		return nil
	})
	return name
}

func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

func TestEverythingAPutReliesOnIsSynced(t *testing.T) {
	r := &recorder{root: t.TempDir()}
	s := openAt(t, r.root, r.fsync)
	put := func(key string) []string {
		require.NoError(t, s.Put(t.Context(), key, []byte("x")))
		return r.take()
	}
	require.Equal(t, []string{"*", ".", "a", "a/b"}, put("a/b/1"), "file, then each parent of a new folder, then the folder")
	require.Equal(t, []string{"*", "a/b"}, put("a/b/2"), "known folders need no sync")
	require.Equal(t, []string{"*", "a", "a/c"}, put("a/c/1"))
	require.Equal(t, []string{"*", "."}, put("top"))

	other := openAt(t, r.root, r.fsync)
	require.NoError(t, other.Put(t.Context(), "a/b/3", nil))
	require.Equal(t, []string{"*", ".", "a", "a/b"}, r.take(), "a folder somebody else made may not be durable yet")

	require.ErrorIs(t, s.Put(t.Context(), "a/b/1", nil), objstore.ErrExists)
	require.Equal(t, []string{"*", "a/b"}, r.take(), "the loser may rely on the winner's object")
}

// eachScratch runs a test with files that have no name at first, where there are
// such, and with scratch files.
func eachScratch(t *testing.T, test func(t *testing.T, openAt func(*testing.T, string, func(int) error) *Store)) {
	t.Run("unnamed", func(t *testing.T) { test(t, openAt) })
	t.Run("named", func(t *testing.T) {
		test(t, func(t *testing.T, root string, fsync func(int) error) *Store {
			s := openAt(t, root, fsync)
			s.scratch.unnamed = false
			return s
		})
	})
}

func TestWhatIsStagedIsSyncedAtOnce(t *testing.T) { eachScratch(t, testStageIsSynced) }

func testStageIsSynced(t *testing.T, openAt func(*testing.T, string, func(int) error) *Store) {
	r := &recorder{root: t.TempDir()}
	s := openAt(t, r.root, r.fsync)
	require.NoError(t, s.Stage(t.Context(), "a/b/1", []byte("x")))
	require.ElementsMatch(t, []string{".", "a", "a/b", "a/b/1"}, r.take(), "the bytes, and every name on the way")
	require.NoError(t, s.Stage(t.Context(), "a/b/2", []byte("x")))
	require.ElementsMatch(t, []string{"a/b", "a/b/2"}, r.take())
	require.ErrorIs(t, s.Stage(t.Context(), "a/b/2", []byte("x")), objstore.ErrExists)
	require.ElementsMatch(t, []string{"a/b", "a/b/2"}, r.take(), "an attempt before may not have come so far")

	for _, at := range []string{"a/b", "a/b/3"} {
		r.fail = func(name string) error {
			if name == at {
				return unix.EIO
			}
			return nil
		}
		require.True(t, lake.Is(s.Stage(t.Context(), "a/b/3", []byte("x")), lake.Unavailable), at)
		require.Equal(t, []string{"1", "2"}, entriesOf(t, filepath.Join(r.root, "a/b")), "what is not durable does not stay")
		require.Empty(t, scratchFiles(t, r.root))
	}
	r.fail = nil
	require.NoError(t, s.Stage(t.Context(), "a/b/3", []byte("x")), "a retry is safe")

	// Both syncs are under way at the same time: neither returns before the
	// other has begun.
	var both sync.WaitGroup
	both.Add(2)
	r.fail = func(string) error { both.Done(); both.Wait(); return nil }
	r.mu.Lock()
	r.apart = true
	r.mu.Unlock()
	require.NoError(t, s.Stage(t.Context(), "a/b/4", []byte("x")))
}

func TestAMoveIsSyncedOnce(t *testing.T) {
	r := &recorder{root: t.TempDir()}
	s := openAt(t, r.root, r.fsync)
	require.NoError(t, s.Put(t.Context(), "a/old", []byte("x")))
	r.take()
	require.NoError(t, s.Move(t.Context(), "a/old", "a/new"))
	require.Equal(t, []string{"a"}, r.take(), "the bytes are durable already")

	r.fail = func(string) error { return unix.EIO }
	require.True(t, lake.Is(s.Move(t.Context(), "a/new", "a/newer"), lake.Unavailable))
	r.fail = nil
	require.Equal(t, []string{"new"}, entriesOf(t, filepath.Join(r.root, "a")), "a move that is not durable did not happen")
	require.NoError(t, s.Move(t.Context(), "a/new", "a/newer"), "a retry is safe")
}

func TestRemovalsAreSynced(t *testing.T) {
	r := &recorder{root: t.TempDir()}
	s := openAt(t, r.root, r.fsync)
	for _, key := range []string{"a/b/1", "a/b/2", "c/d/1"} {
		require.NoError(t, s.Put(t.Context(), key, nil))
	}
	r.take()
	for _, c := range []struct {
		key  string
		want []string
	}{
		{"a/b/1", []string{"a/b"}},
		{"a/b/1", []string{"a/b"}}, // the attempt before may have failed there
		{"a/b/2", []string{"."}},   // a/b and a are gone
		{"none/x", []string{"."}},  // a failed attempt may have removed the folder
	} {
		require.NoError(t, s.Delete(t.Context(), c.key))
		require.Equal(t, c.want, r.take(), c.key)
	}
	require.NoError(t, s.Put(t.Context(), "a/b/1", nil))
	require.Equal(t, []string{"*", ".", "a", "a/b"}, r.take(), "removed folders are not durable any more")
}

func TestAFailedSyncLeavesNoObject(t *testing.T) { eachScratch(t, testFailedSync) }

func testFailedSync(t *testing.T, openAt func(*testing.T, string, func(int) error) *Store) {
	for _, at := range []string{"*", ".", "a", "a/b"} {
		t.Run(at, func(t *testing.T) {
			r := &recorder{root: t.TempDir()}
			s := openAt(t, r.root, r.fsync)
			r.fail = func(name string) error {
				if name == at {
					return unix.ENOSPC
				}
				return nil
			}
			err := s.Put(t.Context(), "a/b/1", []byte("x"))
			require.True(t, lake.Is(err, lake.Exhausted), "%v", err)
			require.ErrorIs(t, err, unix.ENOSPC)
			_, err = s.Open(t.Context(), "a/b/1")
			require.ErrorIs(t, err, objstore.ErrNotFound)
			require.Empty(t, scratchFiles(t, r.root))

			r.fail = nil
			require.NoError(t, s.Put(t.Context(), "a/b/1", []byte("x")), "a retry is safe")
			if at != "*" {
				require.Contains(t, r.take()[2:], at, "the folder whose sync failed is synced again")
			}
		})
	}
}

func TestSystemErrorsAreClassified(t *testing.T) {
	for errno, kind := range map[error]lake.Kind{
		unix.ENOSPC: lake.Exhausted, unix.EDQUOT: lake.Exhausted, unix.EMFILE: lake.Exhausted,
		unix.EIO: lake.Unavailable, unix.ESTALE: lake.Unavailable,
		unix.EACCES: lake.Denied, unix.EROFS: lake.Denied, unix.ENAMETOOLONG: lake.Invalid,
	} {
		err := systemError("put", "a", fmt.Errorf("wrapped: %w", errno))
		require.Equal(t, kind, lake.KindOf(err), errno)
		require.ErrorIs(t, err, errno)
	}
	require.NoError(t, systemError("put", "a", nil))
}

func TestABatchSyncsEachFolderOnce(t *testing.T) {
	r := &recorder{root: t.TempDir()}
	s := openAt(t, r.root, r.fsync)
	keys := []string{"t/a/1", "t/a/2", "t/a/3", "t/b/1", "t/b/2", "t/c/x/1", "t/c/y/1", "t/top", "u/1"}
	for _, key := range append(keys, "t/a/stays") {
		require.NoError(t, s.Put(t.Context(), key, nil))
	}
	r.take()
	batch := append([]string{"t/none/1", "t/a/1", "t/a/no", "nowhere/x/y"}, keys...)
	n, err := s.DeleteAll(t.Context(), batch)
	require.NoError(t, err)
	require.Equal(t, len(batch), n)
	// u, t/b and t/c are gone; what they were in is synced instead.
	require.Equal(t, []string{"t/a", "t", "."}, r.take())
	require.Equal(t, []string{scratchName, "t"}, entriesOf(t, r.root))
	require.Equal(t, []string{"a"}, entriesOf(t, filepath.Join(r.root, "t")))
	require.NoError(t, s.Put(t.Context(), "t/b/1", nil))
	require.Equal(t, []string{"*", "t", "t/b"}, r.take(), "removed folders are not durable any more")
}

func TestABatchNamesWhatMayBeLeft(t *testing.T) {
	r := &recorder{root: t.TempDir()}
	s := openAt(t, r.root, r.fsync)
	keys := []string{"a/b/1", "c/1", "a/2", "c/2", "d/1"}
	for _, key := range append(keys, "c/stays") {
		require.NoError(t, s.Put(t.Context(), key, nil))
	}
	for _, c := range []struct {
		at   string
		left []string
	}{
		{".", []string{"a/b/1", "a/2", "d/1"}}, // ride on the root: a and d were removed
		{".", []string{"a/b/1", "a/2", "d/1"}}, // missing now, and still not durable
		{"c", []string{"c/1", "c/2"}},
		{"", nil},
	} {
		r.fail = func(name string) error {
			if name == c.at {
				return unix.EIO
			}
			return nil
		}
		n, err := s.DeleteAll(t.Context(), keys)
		require.Equal(t, len(keys)-len(c.left), n)
		if c.left == nil {
			require.NoError(t, err)
			continue
		}
		var failed *objstore.DeleteError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, c.left, failed.Failed)
		require.ErrorIs(t, err, unix.EIO)
		require.True(t, lake.Is(err, lake.Unavailable))
	}
}

// TestSyncsAreShared holds the first sync of a folder back until others wait
// for the same folder: one more sync serves all of them.
func TestSyncsAreShared(t *testing.T) {
	const others = 10
	var calls int
	started, release := make(chan struct{}), make(chan struct{})
	s := syncer{fsync: func(int) error {
		calls++
		if calls == 1 {
			close(started)
			<-release
		}
		return nil
	}}
	dir, err := os.Open(t.TempDir())
	require.NoError(t, err)
	defer dir.Close()
	var all sync.WaitGroup
	all.Go(func() { _ = s.sync(int(dir.Fd())) })
	<-started
	for range others {
		all.Go(func() { _ = s.sync(int(dir.Fd())) })
	}
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, q := range s.queues {
			return q.asked == others+1
		}
		return false
	}, 10e9, 1e5)
	close(release)
	all.Wait()
	require.Equal(t, 2, calls)
	require.Empty(t, s.queues)

	failing := syncer{fsync: func(int) error { return errors.New("no") }}
	require.Error(t, failing.sync(int(dir.Fd())))
}
