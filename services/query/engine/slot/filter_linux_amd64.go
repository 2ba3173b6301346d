// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slot

import "golang.org/x/sys/unix"

const (
	machine = unix.AUDIT_ARCH_X86_64
	// firstForeign begins the numbers of the x32 calls, which would pass by
	// the list.
	firstForeign = 0x40000000
)

// refusedHere are calls that only this machine has.
var refusedHere = []uint32{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB}
