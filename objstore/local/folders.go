// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"errors"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// folders makes, finds and removes the folders of keys, by file descriptors
// relative to the root, never through a symbolic link.
//
// A folder is durable when its entry in its parent is. Whoever makes one syncs
// the parent, but another writer may find the folder before that sync and must
// not rely on it. So every writer makes sure of every folder on its way,
// and a set remembers which ones this process has made sure of.
//
// Removing an empty folder must not race with that: a writer that found the
// folder durable could link into a new one of the same name which is not.
// Writers therefore hold prune shared from the walk to the link, and a removal
// holds it exclusively and takes the folder out of the set. Another process
// may still remove a folder under a writer, whose link then fails with ENOENT
// and is tried again.
type folders struct {
	root  int // descriptor of the root
	syncs syncer

	prune   sync.RWMutex
	mu      sync.Mutex // guards durable
	durable map[string]struct{}

	// stepwise is set once the system has refused to open a path by one call: an
	// old kernel, or a container that does not allow it.
	stepwise atomic.Bool
}

// maxDurable bounds the set; a full one is emptied, which costs syncs only.
const maxDurable = 1 << 16

const openFolder = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func newFolders(root int, fsync func(int) error) *folders {
	return &folders{root: root, syncs: syncer{fsync: fsync}, durable: map[string]struct{}{}}
}

// split returns the folder of a key, empty for the root, and its last segment.
func split(key string) (folder, base string) {
	folder, base = path.Split(key)
	return strings.TrimSuffix(folder, "/"), base
}

// open returns a descriptor of an existing folder, empty for the root.
func (f *folders) open(folder string) (int, error) {
	if fd, err := f.jump(folder); err == nil {
		return fd, nil
	}
	return f.walk(folder, func(parent int, name, _ string) (int, error) {
		return openat(parent, name, openFolder)
	})
}

// reach is open, except that it makes what is missing and syncs what may not
// be durable. The caller holds prune shared.
func (f *folders) reach(folder string) (int, error) {
	if f.allDurable(folder) {
		if fd, err := f.jump(folder); err == nil {
			return fd, nil
		}
	}
	return f.walk(folder, f.step)
}

// jump opens an existing folder by one system call, where a walk takes two a
// level. After any error the caller has to walk, which finds out what is the
// matter.
func (f *folders) jump(folder string) (int, error) {
	if folder == "" || f.stepwise.Load() {
		return -1, unix.ENOSYS
	}
	fd, err := openPath(f.root, folder)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		f.stepwise.Store(true)
	}
	return fd, err
}

// walk goes down a path by steps and closes the descriptors in between.
func (f *folders) walk(folder string, step func(parent int, name, path string) (int, error)) (int, error) {
	at, err := openat(f.root, ".", openFolder)
	if err != nil || folder == "" {
		return at, err
	}
	for end := 0; end < len(folder); end++ {
		start := end
		if n := strings.IndexByte(folder[start:], '/'); n >= 0 {
			end = start + n
		} else {
			end = len(folder)
		}
		next, err := step(at, folder[start:end], folder[:end])
		release(at)
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// release closes a folder. It was only read from, so a failure loses nothing.
func release(dir int) { _ = unix.Close(dir) }

func (f *folders) step(parent int, name, path string) (int, error) {
	fd, err := openat(parent, name, openFolder)
	if errors.Is(err, unix.ENOENT) {
		if err := unix.Mkdirat(parent, name, 0o755); err != nil && err != unix.EEXIST {
			return -1, err
		}
		f.forget(path) // another process may have removed it
		fd, err = openat(parent, name, openFolder)
	}
	if err != nil {
		return -1, err
	}
	if f.isDurable(path) {
		return fd, nil
	}
	if err := f.syncs.sync(parent); err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	f.remember(path)
	return fd, nil
}

// allDurable reports whether this process has made sure of a folder and of all
// above it.
func (f *folders) allDurable(folder string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for end := 1; end <= len(folder); end++ {
		if end < len(folder) && folder[end] != '/' {
			continue
		}
		if _, ok := f.durable[folder[:end]]; !ok {
			return false
		}
	}
	return true
}

func (f *folders) isDurable(path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.durable[path]
	return ok
}

func (f *folders) remember(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.durable) >= maxDurable {
		clear(f.durable)
	}
	f.durable[path] = struct{}{}
}

func (f *folders) forget(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.durable, path)
}

// clear removes a tree of folders without a single file in it, which an
// interrupted put leaves behind, and reports whether it is gone.
func (f *folders) clear(parent int, name, path string) bool {
	f.prune.Lock()
	defer f.prune.Unlock()
	return f.clearTree(parent, name, path)
}

func (f *folders) clearTree(parent int, name, path string) bool {
	f.forget(path)
	if err := unix.Unlinkat(parent, name, unix.AT_REMOVEDIR); err == nil || missing(err) {
		return true
	}
	fd, err := openat(parent, name, openFolder)
	if err != nil {
		return false
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if !entry.IsDir() || !f.clearTree(fd, entry.Name(), path+"/"+entry.Name()) {
			return false
		}
	}
	return unix.Unlinkat(parent, name, unix.AT_REMOVEDIR) == nil
}

// openat is the system call, made again when a signal interrupts it.
func openat(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// empty reports whether a folder has no entries. Its answer may be out of date
// at once; it only decides whether a removal is worth trying.
func empty(dir int) bool {
	fd, err := openat(dir, ".", openFolder) // an offset of its own
	if err != nil {
		return false
	}
	file := os.NewFile(uintptr(fd), ".")
	defer file.Close()
	names, _ := file.Readdirnames(1)
	return len(names) == 0
}

func isFolder(dir int, name string) bool { return isA(unix.S_IFDIR, dir, name) }

func isFile(dir int, name string) bool { return isA(unix.S_IFREG, dir, name) }

// isA reports whether there is something of the type under a name, without
// following a symbolic link.
func isA(mode uint32, dir int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && uint32(st.Mode)&unix.S_IFMT == mode //nolint:unconvert // Darwin has 16 bits
}
