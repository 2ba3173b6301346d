// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slot

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// maxFiles is how many descriptors a slot may have: the socket, those of the Go
// runtime, and spill files.
const maxFiles = 512

// confine gives up for good what a slot has no use for. What the replica took
// away before: the environment, new privileges and, where the kernel has
// Landlock, the files. The memory it bounds itself, because it can see it.
//
// It reports whether the filter of system calls is in place: a kernel without
// one is no reason not to serve.
func confine(s slotwire.Setup) (filtered bool, err error) {
	for _, l := range []struct {
		resource int
		most     uint64
	}{
		{unix.RLIMIT_CORE, 0}, // a core would hold rows
		{unix.RLIMIT_NOFILE, maxFiles},
		{unix.RLIMIT_FSIZE, uint64(max(s.SpillBytes, 0))},
	} {
		rl := unix.Rlimit{Cur: l.most, Max: l.most}
		if err := unix.Setrlimit(l.resource, &rl); err != nil {
			return false, lake.Errorf(lake.Unknown, "limit %d: %w", l.resource, err)
		}
	}
	return protect()
}

// protect installs the filter of system calls, in every thread.
func protect() (bool, error) {
	runtime.LockOSThread() // both calls must be made by one thread
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return false, lake.Errorf(lake.Unknown, "no new privileges: %w", err)
	}
	program := filter(uint32(os.Getpid()))
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	switch errno {
	case 0:
		return true, nil
	case unix.ENOSYS, unix.EINVAL:
		return false, nil
	}
	return false, lake.Errorf(lake.Unknown, "system call filter: %w", errno)
}
