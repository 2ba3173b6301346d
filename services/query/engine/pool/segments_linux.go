// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// segments are the shared memory of a slot: the rows that go to it, and the
// results that come back. They outlive their process as long as somebody
// reads what it left.
type segments struct {
	rows, results         []byte
	rowsFile, resultsFile *os.File

	mu     sync.Mutex
	users  int
	closed bool
}

func newSegments() (s *segments, err error) {
	s = &segments{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.rowsFile, s.rows, err = segment("lake-rows", slotwire.ScanArenaBytes, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return nil, err
	}
	s.resultsFile, s.results, err = segment("lake-results", slotwire.ResultArenaBytes, unix.PROT_READ)
	return s, err
}

// segment makes memory that both processes map. Its size is sealed: whoever
// could shrink it could make the other fault.
func segment(name string, size int64, access int) (*os.File, []byte, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, lake.Errorf(lake.Unknown, "shared memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), name)
	if err := file.Truncate(size); err != nil {
		return file, nil, lake.Errorf(lake.Unknown, "shared memory: %w", err)
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return file, nil, lake.Errorf(lake.Unknown, "seal shared memory: %w", err)
	}
	mem, err := unix.Mmap(fd, 0, int(size), access, unix.MAP_SHARED)
	if err != nil {
		return file, nil, lake.Errorf(lake.Unknown, "map shared memory: %w", err)
	}
	return file, mem, nil
}

// keep is how much of a segment stays resident between statements.
const keep = 16 << 20

// trim gives pages back that a statement used beyond what most need.
func (s *segments) trim(rows, results int) {
	for _, part := range []struct {
		file *os.File
		high int
	}{{s.rowsFile, rows}, {s.resultsFile, results}} {
		if part.high > keep {
			// Pages that stay cost memory, nothing else.
			_ = unix.Fallocate(int(part.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, keep, int64(part.high-keep))
		}
	}
}

// enter keeps the memory mapped until leave. It fails when the memory has been
// given back.
func (s *segments) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.users++
	return true
}

func (s *segments) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 && s.closed {
		s.unmap()
	}
}

// close gives the memory back, as soon as nobody uses it.
func (s *segments) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if s.closed = true; s.users == 0 {
		s.unmap()
	}
}

func (s *segments) unmap() {
	var errs []error
	for _, mem := range [][]byte{s.rows, s.results} {
		if mem != nil {
			errs = append(errs, unix.Munmap(mem))
		}
	}
	for _, file := range []*os.File{s.rowsFile, s.resultsFile} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		panic(err) // a second unmapping could hit somebody else's memory
	}
}
