// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// openAt opens a store under root, closed at the end of the test.
func openAt(t *testing.T, root string, fsync func(int) error) *Store {
	t.Helper()
	s, err := open(root, fsync)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestObjectsAreFilesUnderTheRoot(t *testing.T) {
	root := t.TempDir()
	s := openAt(t, root, unix.Fsync)
	require.NoError(t, s.Put(t.Context(), "ns/t.lance/data/x", []byte("hello")))
	data, err := os.ReadFile(filepath.Join(root, "ns/t.lance/data/x"))
	require.NoError(t, err)
	require.Equal(t, "hello", string(data))
	require.Empty(t, scratchFiles(t, root), "a finished put leaves no scratch file")

	require.NoError(t, s.Delete(t.Context(), "ns/t.lance/data/x"))
	require.Equal(t, []string{scratchName}, entriesOf(t, root), "emptied folders are removed up to the root")
}

// TestAFileHasNoNameBeforeThatOfItsKey looks while an object is written.
func TestAFileHasNoNameBeforeThatOfItsKey(t *testing.T) {
	root := t.TempDir()
	s := openAt(t, root, unix.Fsync)
	if !s.scratch.unnamed {
		t.Skip("this system or its file system has no files without a name")
	}
	w, err := s.Create(t.Context(), "a/b")
	require.NoError(t, err)
	_, err = w.Write([]byte("hello"))
	require.NoError(t, err)
	require.Empty(t, scratchFiles(t, root))
	require.NoError(t, w.Commit())
	data, err := os.ReadFile(filepath.Join(root, "a/b"))
	require.NoError(t, err)
	require.Equal(t, "hello", string(data))
	info, err := os.Stat(filepath.Join(root, "a/b"))
	require.NoError(t, err)
	s.scratch.unnamed = false
	require.NoError(t, s.Put(t.Context(), "a/c", []byte("hello")))
	other, err := os.Stat(filepath.Join(root, "a/c"))
	require.NoError(t, err)
	require.Equal(t, other.Mode(), info.Mode(), "as a scratch file has it")
}

func entriesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// scratchFiles returns what is in the scratch folders of all processes.
func scratchFiles(t *testing.T, root string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, scratchName, "*", "*"))
	require.NoError(t, err)
	return files
}

func TestReservedFolder(t *testing.T) {
	s := openAt(t, t.TempDir(), unix.Fsync)
	for _, key := range []string{scratchName, scratchName + "/x"} {
		require.ErrorIs(t, s.Put(t.Context(), key, nil), objstore.ErrInvalid)
		require.ErrorIs(t, s.Delete(t.Context(), key), objstore.ErrInvalid)
		_, err := s.Open(t.Context(), key)
		require.ErrorIs(t, err, objstore.ErrInvalid)
	}
	require.NoError(t, s.Put(t.Context(), "a/"+scratchName+"/x", nil), "only the first segment is reserved")
	w, err := s.Create(t.Context(), "open")
	require.NoError(t, err)
	defer w.Abort()
	infos, _, err := s.List(t.Context(), "", "", 10)
	require.NoError(t, err)
	require.Len(t, infos, 1, "scratch files are not listed")
}

func TestAKeyCannotBeTheFolderOfAnother(t *testing.T) {
	s := openAt(t, t.TempDir(), unix.Fsync)
	require.NoError(t, s.Put(t.Context(), "a/b/c", nil))
	for _, key := range []string{"a", "a/b", "a/b/c/d", "a/b/c/d/e"} {
		err := s.Put(t.Context(), key, nil)
		require.True(t, lake.Is(err, lake.Precondition), "%s: %v", key, err)
		require.ErrorContains(t, err, "cannot be the folder of another")
	}
	require.NoError(t, s.Delete(t.Context(), "a/b/c"))
	require.NoError(t, s.Put(t.Context(), "a", nil))
}

func TestPutReplacesFoldersLeftByACrash(t *testing.T) {
	root := t.TempDir()
	s := openAt(t, root, unix.Fsync)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a/b/c"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a/d"), 0o755))
	infos, more, err := s.List(t.Context(), "", "", 10)
	require.NoError(t, err)
	require.Empty(t, infos)
	require.False(t, more)
	require.NoError(t, s.Put(t.Context(), "a", []byte("x")))
}

func TestSymbolicLinksAreNotFollowed(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	s := openAt(t, root, unix.Fsync)
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("x"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "dir")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(root, "file")))

	for _, key := range []string{"dir/secret", "file"} {
		_, err := s.Open(t.Context(), key)
		require.Error(t, err, key)
	}
	require.Error(t, s.Put(t.Context(), "dir/new", nil))
	require.ErrorIs(t, s.Put(t.Context(), "file", nil), objstore.ErrExists)
	require.NoError(t, s.Delete(t.Context(), "dir/secret"))
	require.Equal(t, []string{"secret"}, entriesOf(t, outside), "nothing outside changed")
	infos, _, err := s.List(t.Context(), "", "", 10)
	require.NoError(t, err)
	require.Empty(t, infos)
}

func TestForeignFilesAreNoObjects(t *testing.T) {
	root := t.TempDir()
	s := openAt(t, root, unix.Fsync)
	require.NoError(t, unix.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	_, err := s.Open(t.Context(), "pipe") // must not block
	require.ErrorIs(t, err, objstore.ErrNotFound)
	if err := os.WriteFile(filepath.Join(root, "bad\xff"), nil, 0o600); err == nil { // some systems refuse the name
		require.NoError(t, s.Put(t.Context(), "good", nil))
		infos, _, err := s.List(t.Context(), "", "", 10)
		require.NoError(t, err)
		require.Len(t, infos, 1)
	}
}

func TestScratchOfTheDeadIsSwept(t *testing.T) {
	root := t.TempDir()
	first := openAt(t, root, unix.Fsync)
	w, err := first.Create(t.Context(), "a")
	require.NoError(t, err)
	_, err = w.Write([]byte("live"))
	require.NoError(t, err)

	dead := filepath.Join(root, scratchName, "dead")
	require.NoError(t, os.Mkdir(dead, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dead, "1"), []byte("left"), 0o600))
	require.NoError(t, os.WriteFile(dead+lockSuffix, nil, 0o600))

	second := openAt(t, root, unix.Fsync)
	require.NoDirExists(t, dead)
	require.NoFileExists(t, dead+lockSuffix)
	require.NoError(t, w.Commit(), "the scratch file of a living store stays")
	data, err := objstore.ReadAll(t.Context(), second, "a", 10)
	require.NoError(t, err)
	require.Equal(t, "live", string(data))
}

func TestClose(t *testing.T) {
	root := t.TempDir()
	s, err := Open(root)
	require.NoError(t, err)
	require.NoError(t, s.Put(t.Context(), "a", []byte("x")))
	obj, err := s.Open(t.Context(), "a")
	require.NoError(t, err)
	w, err := s.Create(t.Context(), "b")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())

	require.True(t, lake.Is(s.Put(t.Context(), "c", nil), lake.Unavailable))
	require.True(t, lake.Is(w.Commit(), lake.Unavailable))
	require.NoError(t, w.Abort())
	require.Equal(t, "x", string(obj.(objstore.Mapped).Bytes()), "open objects stay good")
	require.NoError(t, obj.Close())
	require.Empty(t, entriesOf(t, filepath.Join(root, scratchName)))
}

func TestReadWithoutMapping(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "a"), []byte("0123456789"), 0o600))
	file, err := os.Open(filepath.Join(root, "a"))
	require.NoError(t, err)
	obj := &fileObject{ctx: t.Context(), file: file, size: 10}
	for off, want := range map[int64]string{0: "0123", 8: "89", 10: "", 99: ""} {
		p := make([]byte, 4)
		n, err := obj.ReadAt(p, off)
		require.Equal(t, want, string(p[:n]))
		require.Equal(t, n < 4, err != nil)
	}
	_, err = obj.ReadAt(nil, -1)
	require.True(t, lake.Is(err, lake.Invalid))
	require.EqualValues(t, 10, obj.Size())
	require.NoError(t, obj.Close())
	_, err = obj.ReadAt(make([]byte, 1), 0)
	require.ErrorIs(t, err, os.ErrClosed)
}

func TestAFaultingPageIsAnError(t *testing.T) {
	root := t.TempDir()
	s := openAt(t, root, unix.Fsync)
	require.NoError(t, s.Put(t.Context(), "a", make([]byte, 1<<20)))
	obj, err := s.Open(t.Context(), "a")
	require.NoError(t, err)
	defer obj.Close()
	require.NoError(t, os.Truncate(filepath.Join(root, "a"), 0)) // somebody breaks the rules
	_, err = obj.ReadAt(make([]byte, 100), 1<<19)
	require.True(t, lake.Is(err, lake.Corrupt), "%v", err)
}
