// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package remote_test

import (
	"testing"

	"github.com/lakeplane/lake/metastore/metastoretest"
)

func TestConformance(t *testing.T) { metastoretest.Run(t, openTemp) }

func TestModel(t *testing.T) { metastoretest.RunModel(t, openTemp) }

func TestHistories(t *testing.T) {
	metastoretest.RunHistories(t, openTemp, metastoretest.Histories{})
}

func BenchmarkStore(b *testing.B) { metastoretest.Bench(b, openTemp) }
