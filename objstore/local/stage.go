// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/objstore"
)

var _ objstore.Stager = (*Store)(nil)

// Stage implements [objstore.Stager]. A put syncs the file, links it and syncs
// the folder; here the file is linked first, and both are synced at once.
func (s *Store) Stage(ctx context.Context, key string, data []byte) error {
	err := s.write(ctx, key, data, (*writer).stage)
	if errors.Is(err, objstore.ErrExists) {
		// An attempt before this one, perhaps, of which only the name is durable.
		return errors.Join(err, s.syncObject(key))
	}
	return err
}

// stage links the file and makes it and its name durable.
func (w *writer) stage() error {
	if err := w.store.enter(w.ctx); err != nil {
		return err
	}
	defer w.store.leave()
	file := int(w.file.Fd())
	return w.store.publish(w.source(), w.key, func(folder int) error {
		return w.store.syncBoth(file, folder)
	})
}

// syncBoth syncs a file and its folder at the same time. The file takes longer,
// so it begins at once: where all processors wait for system calls, the scheduler
// lets a new goroutine wait for a while.
func (s *Store) syncBoth(file, folder int) error {
	synced := make(chan error, 1)
	go func() { synced <- s.folders.syncs.sync(folder) }()
	err := retryInterrupted(func() error { return s.folders.syncs.fsync(file) })
	return errors.Join(err, <-synced)
}

// syncObject syncs the bytes of an object that is there.
func (s *Store) syncObject(key string) error {
	fd, _, err := s.openFile(key)
	if err != nil {
		return err
	}
	err = retryInterrupted(func() error { return s.folders.syncs.fsync(fd) })
	return systemError("sync", key, errors.Join(err, unix.Close(fd)))
}
