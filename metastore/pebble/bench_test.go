// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"fmt"
	"testing"

	driver "github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore/metastoretest"
)

func BenchmarkStore(b *testing.B) { metastoretest.Bench(b, openTemp) }

// BenchmarkRaw is the peer of BenchmarkStore/create: synced batches of one
// record in the same database without any checks.
func BenchmarkRaw(b *testing.B) {
	for _, writers := range metastoretest.BenchWriters {
		b.Run(fmt.Sprintf("create/writers=%d", writers), func(b *testing.B) {
			s, err := Open(b.TempDir(), Options{})
			require.NoError(b, err)
			defer s.Close()
			metastoretest.BenchCommits(b, writers, func(_, i int) error {
				batch := s.db.NewBatch()
				if err := batch.Set(recordKey(nil, fmt.Sprintf("bench/%010d", i)), metastoretest.BenchValue, nil); err != nil {
					return err
				}
				if err := batch.Commit(driver.Sync); err != nil {
					return err
				}
				return batch.Close()
			})
		})
	}
}
