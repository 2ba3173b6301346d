// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// run is the life of a slot. Its result is the exit status.
func run(open Open) int {
	var s session
	err := s.live(open)
	s.sweep()
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return 0 // the parent is gone, or wants this slot no more
	}
	fmt.Fprintln(os.Stderr, "lake: engine slot:", err)
	return 1
}

// A slot's heap is small and made of large, short-lived batches: with the usual
// setting the collector would run for every other batch. It may wait until
// there are some tens of MiB to collect, but no more.
const (
	collectPercent = 800
	collectAt      = 128 << 20
)

// live never ends well: what ends it is an error, io.EOF as a rule.
func (s *session) live(open Open) error {
	debug.SetGCPercent(collectPercent)
	debug.SetMemoryLimit(collectAt)
	if err := s.inherit(); err != nil {
		return err
	}
	if err := s.conn.Send(slotwire.KindHello, 0, slotwire.JSON(slotwire.Hello{Version: slotwire.Version})); err != nil {
		return err
	}
	ready, err := s.setup(open)
	if err != nil {
		return err
	}
	if err := s.conn.Send(slotwire.KindReady, 0, slotwire.JSON(ready)); err != nil {
		return err
	}
	return s.serve()
}

// inherit takes over what the parent left open.
func (s *session) inherit() error {
	file := os.NewFile(slotwire.SocketFD, "replica")
	conn, err := net.FileConn(file)
	_ = file.Close() // FileConn has a copy
	if err != nil {
		return lake.Errorf(lake.Invalid, "%s is started by a query replica, not by hand: %w", Argument, err)
	}
	rows, err := syscall.Mmap(slotwire.ScanArenaFD, 0, slotwire.ScanArenaBytes, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return lake.Errorf(lake.Unknown, "shared memory of scans: %w", err)
	}
	results, err := syscall.Mmap(slotwire.ResultArenaFD, 0, slotwire.ResultArenaBytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return lake.Errorf(lake.Unknown, "shared memory of results: %w", err)
	}
	for _, fd := range []int{slotwire.ScanArenaFD, slotwire.ResultArenaFD} {
		_ = syscall.Close(fd) // the mapping stays
	}
	s.conn, s.rows, s.results = slotwire.NewConn(conn), rows, slotwire.NewArena(results)
	return nil
}

// sweep removes spill files. As a rule the replica does, but it may have been
// killed, and then nobody else will. The empty directory is not the slot's to
// remove.
func (s *session) sweep() {
	files, _ := os.ReadDir(s.spill)
	for _, f := range files {
		_ = os.RemoveAll(filepath.Join(s.spill, f.Name())) // nobody is left to tell
	}
}

// setup confines the process and opens the engine. The first statement of an
// engine is slow, so the slot runs one before it says that it is ready.
func (s *session) setup(open Open) (ready slotwire.Ready, err error) {
	f, err := s.conn.Receive()
	if err != nil {
		return ready, err
	}
	var setup slotwire.Setup
	if f.Kind != slotwire.KindSetup {
		return ready, lake.Errorf(lake.Corrupt, "frame %d where the setup was expected", f.Kind)
	}
	if err := slotwire.ReadJSON(f.Body, &setup); err != nil {
		return ready, err
	}
	if ready.Filtered, err = confine(setup); err != nil {
		return ready, err
	}
	s.threads, s.spill = setup.Threads, setup.SpillDir
	if s.engine, err = open(setup); err != nil {
		return ready, err
	}
	_, err = s.engine.Plan(context.Background(), engine.Request{SQL: "SELECT 1"})
	return ready, err
}
