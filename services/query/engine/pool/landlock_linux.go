// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// landlockVersion is the version of Landlock that the kernel has; 0 for none.
var landlockVersion = sync.OnceValue(func() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
})

const (
	readFile = unix.LANDLOCK_ACCESS_FS_READ_FILE
	runFile  = readFile | unix.LANDLOCK_ACCESS_FS_EXECUTE
	readAll  = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	spillAll = readAll | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// restrict takes from the calling thread, and so from the program it starts,
// all files but these: the program and its libraries, what the C library and
// the runtime ask the system, and the spill directory, the only one to write
// to. Under Landlock a process does not see into others either: neither into
// the environment nor into the memory of its parent. A kernel without Landlock
// leaves the files to their owners' permissions.
func restrict(spill string) error {
	dropCapabilities()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	version := landlockVersion()
	if version == 0 {
		return nil
	}
	attr := handled(version)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr.Handled_access_fs)*3, 0)
	if errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	defer func() { _ = unix.Close(int(fd)) }()
	paths, err := programFiles()
	if err != nil {
		return err
	}
	for path, access := range paths {
		permit(int(fd), path, access&attr.Handled_access_fs)
	}
	if spill != "" {
		permit(int(fd), spill, spillAll&attr.Handled_access_fs)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

// dropCapabilities leaves the thread, and what it starts, the powers of an
// ordinary user even where the replica runs as root: with them a slot could
// read its parent's environment in spite of Landlock. Where that fails there
// were none.
func dropCapabilities() {
	const last = 63
	for c := uintptr(0); c <= last; c++ {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var held [2]unix.CapUserData
	if unix.Capget(&header, &held[0]) == nil {
		held[0].Inheritable, held[1].Inheritable = 0, 0
		_ = unix.Capset(&header, &held[0])
	}
}

// handled is everything that the version can forbid.
func handled(version int) (a unix.LandlockRulesetAttr) {
	a.Handled_access_fs = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1 // version 1 has all bits up to there
	if version >= 2 {
		a.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		a.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 4 {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 5 {
		a.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 6 {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return a
}

// permit allows access to a path and what is below. A path that is not there
// needs no permission.
func permit(ruleset int, path string, access uint64) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, _ = unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
}

// programFiles are the files this program runs from: what it has mapped as
// code, wherever that lies.
var programFiles = sync.OnceValues(func() (map[string]uint64, error) {
	paths := map[string]uint64{
		"/proc/self/exe": runFile, "/etc/ld.so.cache": readFile, "/dev/null": readFile, "/dev/urandom": readFile,
		// Processor and memory sizes. Of other processes Landlock hides what
		// matters.
		"/proc": readAll, "/sys/devices/system": readAll, "/sys/fs/cgroup": readAll, "/sys/kernel/mm": readAll,
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	defer func() { _ = maps.Close() }()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 6 && strings.HasPrefix(fields[5], "/") && strings.Contains(fields[1], "x") {
			paths[fields[5]] = runFile
		}
	}
	return paths, nil
})
