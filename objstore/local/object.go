// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// Open implements [objstore.Store]. The object is mapped into memory and then
// is an [objstore.Mapped]; where it cannot be mapped it is read by system
// calls. Objects never change, so a mapping cannot lose its pages, short of a
// failing disk or somebody truncating the file by hand.
func (s *Store) Open(ctx context.Context, key string) (objstore.Object, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	fd, size, err := s.openFile(key)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), key)
	data, err := mapFile(fd, size)
	if err != nil {
		return &fileObject{ctx: ctx, file: file, size: size}, nil
	}
	// The mapping outlives the descriptor.
	if err := file.Close(); err != nil {
		return nil, systemError("open", key, errors.Join(err, unmap(data)))
	}
	return &mappedObject{ctx: ctx, key: key, data: data}, nil
}

// openFile opens a regular file. The open does not block on a pipe that
// somebody put there.
func (s *Store) openFile(key string) (fd int, size int64, err error) {
	folder, base := split(key)
	dir, err := s.folders.open(folder)
	if err == nil {
		defer release(dir)
		fd, err = openat(dir, base, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC)
	}
	if missing(err) {
		return -1, 0, notFound(key)
	}
	if err != nil {
		return -1, 0, systemError("open", key, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, 0, systemError("open", key, errors.Join(err, unix.Close(fd)))
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return -1, 0, errors.Join(notFound(key), unix.Close(fd))
	}
	return fd, st.Size, nil
}

// mapFile maps a file. An empty one has nothing to map.
func mapFile(fd int, size int64) ([]byte, error) {
	if size == 0 {
		return []byte{}, nil
	}
	if int64(int(size)) != size {
		return nil, unix.EFBIG // a 32-bit address space
	}
	return unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
}

func unmap(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	return unix.Munmap(data)
}

// mappedObject is an object in memory. The lock keeps a read from touching
// pages that Close has given back.
type mappedObject struct {
	ctx  context.Context
	key  string
	mu   sync.RWMutex
	data []byte // nil when closed
}

var _ objstore.Mapped = (*mappedObject)(nil)

// ReadAt implements io.ReaderAt.
func (o *mappedObject) ReadAt(p []byte, off int64) (n int, err error) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.data == nil {
		return 0, os.ErrClosed
	}
	if err := checkRead(o.ctx, o.key, off); err != nil {
		return 0, err
	}
	if off >= int64(len(o.data)) {
		return 0, atEnd(len(p))
	}
	if n, err = o.copyOut(p, o.data[off:]); err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// copyOut turns the fault of a page that cannot be loaded into an error.
func (o *mappedObject) copyOut(p, from []byte) (n int, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			n, err = 0, lake.Errorf(lake.Corrupt, "read object %q: its pages cannot be loaded: %v", o.key, fault)
		}
	}()
	return copy(p, from), nil
}

// Bytes implements [objstore.Mapped].
func (o *mappedObject) Bytes() []byte {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.data
}

// Size implements [objstore.Object].
func (o *mappedObject) Size() int64 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return int64(len(o.data))
}

// Close implements [objstore.Object]. It waits for reads in flight.
func (o *mappedObject) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	data := o.data
	o.data = nil
	return systemError("close", o.key, unmap(data))
}

// fileObject is an object that is read by system calls.
type fileObject struct {
	ctx  context.Context
	file *os.File
	size int64
}

// ReadAt implements io.ReaderAt.
func (o *fileObject) ReadAt(p []byte, off int64) (int, error) {
	if err := checkRead(o.ctx, o.file.Name(), off); err != nil {
		return 0, err
	}
	if off >= o.size {
		return 0, atEnd(len(p))
	}
	n, err := o.file.ReadAt(p, off)
	if err == io.EOF || errors.Is(err, os.ErrClosed) {
		return n, err
	}
	return n, systemError("read", o.file.Name(), err)
}

// Size implements [objstore.Object].
func (o *fileObject) Size() int64 { return o.size }

// Close implements [objstore.Object].
func (o *fileObject) Close() error { return o.file.Close() }

// checkRead refuses a negative offset and a read after the context's end.
func checkRead(ctx context.Context, key string, off int64) error {
	if off < 0 {
		return lake.Errorf(lake.Invalid, "read object %q: offset %d, want 0 or more", key, off)
	}
	return ctx.Err()
}

// atEnd is the answer to a read of n bytes at or past the end.
func atEnd(n int) error {
	if n == 0 {
		return nil
	}
	return io.EOF
}
