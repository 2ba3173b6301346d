// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// A query is planned once and read by several readers with clients of their own,
// each from another replica than the one before, which get the parts as bytes,
// while the table goes on.
func TestReadersShareAQuery(t *testing.T) {
	cluster := newCluster(t)
	cluster.writeKeys(t, 1)
	meta := cluster.start(t, "meta", "--listen", "127.0.0.1:0", "--metastore", "pebble://"+cluster.file("metastore"))
	var replicas []*sdk.Client
	for range 2 {
		query := cluster.start(t, "query", "--listen", "127.0.0.1:0", "--meta", meta.address, "--query-endpoint-rows", "100", "--query-ticket-keys-file", cluster.file("keys.json"))
		replica, err := sdk.Connect(t.Context(), query.awaitReady(t).address)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, replica.Close()) })
		replicas = append(replicas, replica)
	}
	c := replicas[0]
	name := lake.TableName{Namespace: "robots", Name: "episodes"}
	_, err := c.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	const fragments, each = 8, 200
	next := int64(0)
	for range fragments {
		var some []int64
		for range each {
			some = append(some, next)
			next++
		}
		_, err := c.Append(t.Context(), name, batchOf(some...))
		require.NoError(t, err)
	}
	parts, err := c.Parts(t.Context(), "SELECT * FROM robots.episodes", 3)
	require.NoError(t, err)
	require.Len(t, parts, 3)
	_, err = c.Append(t.Context(), name, batchOf(-1))
	require.NoError(t, err)

	var mu sync.Mutex
	seen := map[int64]int{}
	var readers sync.WaitGroup
	for i, p := range parts {
		require.False(t, p.Expires.IsZero())
		sent, err := p.MarshalBinary()
		require.NoError(t, err)
		reader := replicas[i%2]
		readers.Go(func() {
			var p sdk.Part
			assert.NoError(t, p.UnmarshalBinary(sent))
			rows, err := reader.ReadPart(t.Context(), &p)
			if !assert.NoError(t, err) {
				return
			}
			for b, err := range rows.Batches() {
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				for _, n := range b.Column(0).(*array.Int64).Int64Values() {
					seen[n]++
				}
				mu.Unlock()
			}
		})
	}
	readers.Wait()
	require.Len(t, seen, int(next))
	for n, times := range seen {
		require.Equal(t, 1, times, n)
		require.NotEqual(t, int64(-1), n, "what was appended later")
	}
	one, err := c.Parts(t.Context(), "SELECT count(*) AS n FROM robots.episodes", 3)
	require.NoError(t, err)
	require.Len(t, one, 1)
}
