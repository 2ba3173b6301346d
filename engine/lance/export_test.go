// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

// Settle waits for the deletes of superseded manifests.
func Settle(e *Engine) { e.discarding.Wait() }
