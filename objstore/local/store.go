// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// Store is an [objstore.Store] under one root directory. It is safe for
// concurrent use by several goroutines and processes.
type Store struct {
	root    *os.File
	scratch *scratch
	folders *folders
	window  int // how many names of a folder Pages holds; List a tenth

	gate   sync.RWMutex // held shared by every call, exclusively by Close
	closed bool
}

var (
	_ objstore.Store        = (*Store)(nil)
	_ objstore.BatchDeleter = (*Store)(nil)
	_ objstore.Pager        = (*Store)(nil)
)

// Open opens the store under root, which it makes if it is missing, and
// removes the scratch files of processes that died.
func Open(root string) (*Store, error) { return open(root, fsync) }

// open takes the system call that syncs a file or folder, for tests.
func open(root string, fsync func(fd int) error) (*Store, error) {
	if err := makeRoot(root); err != nil {
		return nil, lake.Errorf(lake.Unavailable, "make object root %q: %w", root, err)
	}
	dir, err := os.Open(root)
	if err != nil {
		return nil, lake.Errorf(lake.Unavailable, "open object root %q: %w", root, err)
	}
	tmp, err := openScratch(filepath.Join(root, scratchName))
	if err != nil {
		return nil, errors.Join(lake.Errorf(lake.Unavailable, "open scratch folder of %q: %w", root, err), dir.Close())
	}
	return &Store{root: dir, scratch: tmp, folders: newFolders(int(dir.Fd()), fsync), window: defaultWindow}, nil
}

// makeRoot makes the root and syncs its parent, in case the root is new.
func makeRoot(root string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(filepath.Clean(root)))
	if err != nil {
		return nil //nolint:nilerr // a parent that cannot be read is not ours to sync
	}
	return errors.Join(parent.Sync(), parent.Close())
}

// enter admits a call until leave.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.gate.RLock()
	if s.closed {
		s.gate.RUnlock()
		return errClosed
	}
	return nil
}

func (s *Store) leave() { s.gate.RUnlock() }

// Put implements [objstore.Store].
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	return s.write(ctx, key, data, (*writer).Commit)
}

// write makes an object of data; finish gives it its name.
func (s *Store) write(ctx context.Context, key string, data []byte, finish func(*writer) error) error {
	w, err := s.create(ctx, key)
	if err != nil {
		return err
	}
	defer w.giveUp()
	if _, err := w.Write(data); err != nil {
		return err
	}
	return finish(w)
}

// Close gives up the root. Objects that are open stay good; writers fail. It
// waits for the calls in flight. A second Close does nothing.
func (s *Store) Close() error {
	s.gate.Lock()
	defer s.gate.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.scratch.close(), s.root.Close())
}
