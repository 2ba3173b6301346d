// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// writer streams into a scratch file and links it at Commit.
type writer struct {
	ctx   context.Context
	store *Store
	key   string
	name  string   // of the scratch file, empty where it has none
	file  *os.File // nil when the writer has ended
}

// Create implements [objstore.Store].
func (s *Store) Create(ctx context.Context, key string) (objstore.Writer, error) {
	w, err := s.create(ctx, key)
	if err != nil {
		return nil, err // not a nil *writer in an interface
	}
	return w, nil
}

func (s *Store) create(ctx context.Context, key string) (*writer, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	file, name, err := s.scratch.create()
	if err != nil {
		return nil, systemError("create", key, err)
	}
	return &writer{ctx: ctx, store: s, key: key, name: name, file: file}, nil
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if w.file == nil {
		return 0, w.ended()
	}
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.file.Write(p)
	return n, systemError("write", w.key, err)
}

func (w *writer) ended() error {
	return lake.Errorf(lake.Precondition, "object %q: the writer has ended", w.key)
}

// Commit implements [objstore.Writer].
func (w *writer) Commit() error {
	if w.file == nil {
		return w.ended()
	}
	defer w.giveUp() // the scratch file's name, whatever happens
	if err := w.store.enter(w.ctx); err != nil {
		return err
	}
	defer w.store.leave()
	if err := retryInterrupted(func() error { return w.store.folders.syncs.fsync(int(w.file.Fd())) }); err != nil {
		return systemError("sync", w.key, err)
	}
	return w.store.publish(w.source(), w.key, w.store.folders.syncs.sync)
}

// Abort implements [objstore.Writer].
func (w *writer) Abort() error {
	if w.file == nil {
		return nil
	}
	file := w.file
	w.file = nil
	err := file.Close()
	w.store.gate.RLock()
	defer w.store.gate.RUnlock()
	if w.store.closed {
		return err // Close removed the scratch folder
	}
	return errors.Join(err, systemError("abort", w.key, w.store.scratch.remove(w.name)))
}

// giveUp aborts where the outcome is decided already. A scratch file that it
// cannot remove goes with the store's Close, or the next Open if it crashes.
func (w *writer) giveUp() { _ = w.Abort() }

// publishAttempts bounds the retries of a put whose folder another process
// keeps removing, or whose name others keep taking and giving up.
const publishAttempts = 100

// source is a file that gets another name: the first arguments of linkat.
type source struct {
	dir   int
	name  string
	flags int
}

func (w *writer) source() source {
	if w.name == "" {
		return unnamed(int(w.file.Fd()))
	}
	return source{dir: w.store.scratch.fd(), name: w.name}
}

// publish links a file under its key. durable gets the folder of the key with
// the new link and makes the object durable.
func (s *Store) publish(from source, key string, durable func(dir int) error) error {
	var err error
	for range publishAttempts {
		var again bool
		if again, err = s.tryPublish(from, key, durable); !again {
			return err
		}
	}
	return systemError("put", key, err)
}

func (s *Store) tryPublish(from source, key string, durable func(dir int) error) (again bool, err error) {
	folder, base := split(key)
	dir, err := s.link(from, folder, base)
	if dir >= 0 {
		defer release(dir)
	}
	switch {
	case err == nil:
		return false, s.makeDurable(dir, base, key, durable)
	case dir < 0 && errors.Is(err, unix.ENOTDIR):
		return false, clash(key, folder)
	case dir >= 0 && errors.Is(err, unix.EEXIST):
		return s.taken(dir, base, key)
	case errors.Is(err, unix.ENOENT):
		return true, err
	}
	return false, systemError("put", key, err)
}

// link walks to the folder and links into it. The descriptor is -1 when the
// folder could not be reached.
func (s *Store) link(from source, folder, base string) (int, error) {
	s.folders.prune.RLock()
	defer s.folders.prune.RUnlock()
	dir, err := s.folders.reach(folder)
	if err != nil {
		return -1, err
	}
	return dir, unix.Linkat(from.dir, from.name, dir, base, from.flags)
}

// makeDurable makes a new link durable. If that fails, the object must not
// stay, since a repeated attempt would take it for durable.
func (s *Store) makeDurable(dir int, base, key string, durable func(dir int) error) error {
	err := durable(dir)
	if err == nil {
		return nil
	}
	if undo := unix.Unlinkat(dir, base, 0); undo != nil {
		return lake.Errorf(lake.Undetermined, "put object %q: %w", key, errors.Join(err, undo))
	}
	return systemError("put", key, err)
}

// taken decides about a name that is in use. The loser of a race may go on to
// rely on the winner's object, so that is made durable first.
func (s *Store) taken(dir int, base, key string) (again bool, err error) {
	if !isFolder(dir, base) {
		if err := s.folders.syncs.sync(dir); err != nil {
			return false, systemError("put", key, err)
		}
		return false, exists(key)
	}
	if s.folders.clear(dir, base, key) {
		return true, unix.EEXIST
	}
	return false, clash(key, key+"/…")
}
