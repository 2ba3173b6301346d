// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package enginetest holds what proves the engine port: an engine that keeps
// everything in memory, and the conformance suite that every engine passes.
//
//	func TestConformance(t *testing.T) {
//		enginetest.Run(t, func(t *testing.T) enginetest.Fixture { … })
//	}
package enginetest
