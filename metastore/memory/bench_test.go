// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"testing"

	"github.com/lakeplane/lake/metastore/metastoretest"
)

func BenchmarkStore(b *testing.B) { metastoretest.Bench(b, open) }
