// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build !unix

package metastoretest

import "time"

// cpuTime is not known on this system.
func cpuTime() time.Duration { return 0 }
