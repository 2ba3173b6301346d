// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"fmt"
	"testing"

	driver "github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore/metastoretest"
)

// rawCommit is the peer: the same records in one synced batch, without checks,
// tokens or locks.
func rawCommit(s *Store, puts ...string) error {
	batch := s.db.NewBatchWithSize(len(puts) * (len(metastoretest.BenchValue) + 96))
	for _, key := range puts {
		if err := batch.Set(recordKey(nil, key), metastoretest.BenchValue, nil); err != nil {
			return err
		}
	}
	if err := batch.Commit(driver.Sync); err != nil {
		return err
	}
	return batch.Close()
}

// TestSpeed compares commits with raw ones of Pebble:
//
//	LAKE_SPEED=1 go test -run TestSpeed -v ./metastore/pebble
func TestSpeed(t *testing.T) {
	metastoretest.NeedSpeed(t)
	for _, writers := range []int{1, 8, 32} {
		t.Run(fmt.Sprintf("create/writers=%d", writers), func(t *testing.T) {
			subject, peer := openTemp(t), openTemp(t).(*Store)
			speed := metastoretest.Comparison{Writers: writers}.Run(t, metastoretest.Creates(t, subject),
				func(_, i int) error { return rawCommit(peer, fmt.Sprintf("bench/%010d", i)) })
			t.Log(speed)
			require.GreaterOrEqual(t, speed.Ratio, 0.8)
		})
		t.Run(fmt.Sprintf("append/writers=%d", writers), func(t *testing.T) {
			subject, peer := openTemp(t), openTemp(t).(*Store)
			speed := metastoretest.Comparison{Writers: writers}.Run(t, metastoretest.Appends(t, subject, writers),
				func(w, i int) error {
					return rawCommit(peer, fmt.Sprint("tbl/ns/", w), fmt.Sprintf("lance-manifest/ns/%d/%020d", w, i),
						fmt.Sprintf("append-operation/v1/default/ns/%d/%d", w, i))
				})
			t.Log(speed)
			require.GreaterOrEqual(t, speed.Ratio, 0.8)
		})
	}
}
