// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slot

import "golang.org/x/sys/unix"

const (
	machine = unix.AUDIT_ARCH_AARCH64
	// firstForeign is above every number.
	firstForeign = 1<<32 - 1
)

// refusedHere are calls that only this machine has: none.
var refusedHere []uint32
