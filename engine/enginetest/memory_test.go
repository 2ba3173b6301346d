// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package enginetest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lakeplane/lake/engine/enginetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	enginetest.Run(t, func(*testing.T) enginetest.Fixture {
		m := enginetest.NewMemory()
		return enginetest.Fixture{Engine: m, Erase: m.Erase}
	})
}
