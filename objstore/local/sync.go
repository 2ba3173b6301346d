// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// syncer syncs folders and lets callers that wait for the same folder share
// one sync: a sync that starts after a change covers it.
type syncer struct {
	fsync func(fd int) error

	mu     sync.Mutex
	queues map[fileID]*syncQueue
}

// fileID identifies a file while somebody has it open.
type fileID struct{ device, inode uint64 }

type syncQueue struct {
	running sync.Mutex
	users   int    // guarded by syncer.mu
	asked   uint64 // guarded by syncer.mu
	covered uint64 // guarded by running: requests that a finished sync covers
}

// sync returns when the entries of the folder, as of the call, are durable.
func (s *syncer) sync(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	id := fileID{uint64(st.Dev), st.Ino} //nolint:unconvert // Darwin has an int32
	q, ticket := s.join(id)
	defer s.leave(id, q)

	q.running.Lock()
	defer q.running.Unlock()
	if q.covered >= ticket {
		return nil
	}
	s.mu.Lock()
	upTo := q.asked
	s.mu.Unlock()
	if err := retryInterrupted(func() error { return s.fsync(fd) }); err != nil {
		return err // the others try for themselves
	}
	q.covered = upTo
	return nil
}

func (s *syncer) join(id fileID) (*syncQueue, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues == nil {
		s.queues = map[fileID]*syncQueue{}
	}
	q := s.queues[id]
	if q == nil {
		q = &syncQueue{}
		s.queues[id] = q
	}
	q.users++
	q.asked++
	return q, q.asked
}

func (s *syncer) leave(id fileID, q *syncQueue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(s.queues, id)
	}
}

func retryInterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
