// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/test/tpch"
)

// twoReplicas is a cluster of a metadata server and two query replicas that
// redeem each other's tickets.
func twoReplicas(t *testing.T) (c *cluster, replicas [2]*server) {
	t.Helper()
	c, _, replicas = metaAndReplicas(t)
	return c, replicas
}

func metaAndReplicas(t *testing.T) (c *cluster, meta *server, replicas [2]*server) {
	t.Helper()
	c = newCluster(t)
	c.writeKeys(t, 'a')
	meta = c.start(t, "meta", "--metastore", "pebble://"+c.file("metastore"), "--listen", "127.0.0.1:0")
	for i := range replicas {
		replicas[i] = c.start(t, "query", "--meta", meta.address, "--listen", "127.0.0.1:0", "--query-ticket-keys-file", c.file("keys.json")).awaitReady(t)
	}
	return c, meta, replicas
}

// restart starts a replica that was killed, at its address.
func (c *cluster) restart(t *testing.T, s *server) *server {
	t.Helper()
	args := s.args[:len(s.args)-len(c.every)]
	for i, a := range args {
		if a == "--listen" {
			args[i+1] = s.address
		}
	}
	return c.start(t, s.name, args...).awaitReady(t)
}

// TestKilledReplicaIsNotNoticed kills one replica of two, and then the other,
// while a program appends and reads through a client that knows both. It sees
// no error, and every row of its own, once.
func TestKilledReplicaIsNotNoticed(t *testing.T) {
	c, replicas := twoReplicas(t)
	client := c.user(t, replicas[0].address+","+replicas[1].address)
	name := lake.TableName{Namespace: "pair", Name: "t"}
	_, err := client.CreateTable(t.Context(), name, numbers)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var appended, looked atomic.Int64
	wg.Go(func() {
		for n := int64(0); ctx.Err() == nil; n++ {
			if _, err := client.Append(t.Context(), name, batchOf(n)); err != nil {
				t.Errorf("append %d: %v", n, err)
				return
			}
			appended.Add(1)
			if rows := countRows(t, client, "pair.t"); rows != n+1 {
				t.Errorf("%d rows right after the append of number %d", rows, n)
				return
			}
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := client.Table(t.Context(), name); err != nil {
				t.Error(err)
				return
			}
			looked.Add(1)
		}
	})
	moves := func() {
		t.Helper()
		a, l := appended.Load()+10, looked.Load()+10
		require.Eventually(t, func() bool { return t.Failed() || appended.Load() > a && looked.Load() > l }, waitLong, time.Millisecond)
		require.False(t, t.Failed())
	}
	for range 2 {
		for i := range replicas {
			moves()
			replicas[i].kill()
			moves()
			replicas[i] = c.restart(t, replicas[i])
			if i == 0 { // the client returns to it; only then may the other one go
				seen := replicas[0].gauge(t, "lake_query_admission_total")
				require.Eventually(t, func() bool { return replicas[0].gauge(t, "lake_query_admission_total") > seen }, waitLong, tick)
			} else {
				time.Sleep(6 * time.Second) // above the longest wait between attempts to connect
			}
		}
	}
	cancel()
	wg.Wait()
	require.Equal(t, appended.Load(), countRows(t, client, "pair.t"))
	t.Logf("%d appends, each read back", appended.Load())
}

func countRows(t *testing.T, c *sdk.Client, table string) int64 {
	t.Helper()
	r, err := c.Query(t.Context(), "SELECT count(*) AS n, count(DISTINCT n) AS d FROM "+table)
	if err != nil {
		t.Error(err)
		return -1
	}
	for b, err := range r.Batches() {
		if err != nil {
			t.Error(err)
			return -1
		}
		if n, d := b.Column(0).ValueStr(0), b.Column(1).ValueStr(0); n == d {
			var rows int64
			_, _ = fmt.Sscan(n, &rows)
			return rows
		}
	}
	return -1
}

// TestIngestSurvivesItsReplica kills the replica that an ingest uses.
func TestIngestSurvivesItsReplica(t *testing.T) {
	c, replicas := twoReplicas(t)
	file := filepath.Join(t.TempDir(), "lineitem.parquet")
	require.NoError(t, tpch.WriteParquet(file, resumedRows, 12))
	k := killer{T: t, state: filepath.Join(t.TempDir(), "state")}
	done := make(chan result, 1)
	go func() {
		done <- runLake(t, "ingest", "demo.lineitem", file, "--state", k.state, "--addr", replicas[0].address+","+replicas[1].address)
	}()
	require.Eventually(t, func() bool { return k.appends() > 2 }, waitLong, time.Millisecond)
	replicas[0].kill()
	r := <-done
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "200,000 rows in 20 appends")
	sums := query(t, c.user(t, replicas[1].address), "SELECT count(*) AS n, sum(l_orderkey)::BIGINT AS k FROM demo.lineitem")
	require.Equal(t, []int64{resumedRows, sum(readParquet(t, file), "l_orderkey")}, integers(sums))
}
