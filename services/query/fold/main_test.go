// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package fold_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The reference is slow; -rapid.checks=1000 asks for more.
	if err := flag.Set("rapid.checks", "150"); err != nil {
		panic(err)
	}
	flag.Parse()
	goleak.VerifyTestMain(m)
}
