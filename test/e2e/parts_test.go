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
// which get the parts as bytes, while the table goes on.
func TestReadersShareAQuery(t *testing.T) {
	d := startDev(t, t.TempDir(), "--no-temporal", "--query-endpoint-rows", "100")
	c := d.client(t)
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
	for _, p := range parts {
		require.False(t, p.Expires.IsZero())
		sent, err := p.MarshalBinary()
		require.NoError(t, err)
		reader := d.client(t)
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
