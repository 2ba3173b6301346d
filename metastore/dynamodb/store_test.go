// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/dynamodb/dynamotest"
	"github.com/lakeplane/lake/metastore/metastoretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(service *dynamotest.Server) Options {
	return Options{
		Table: "lake", Endpoint: service.URL(), Logger: slog.New(slog.DiscardHandler),
		Credentials: credentials.NewStaticCredentialsProvider("lake", "secret", ""),
	}
}

func openOn(tb testing.TB, service *dynamotest.Server) *Store {
	tb.Helper()
	s, err := Open(tb.Context(), options(service))
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// nasty is a service that does what Amazon's may do at any time: transactions
// take a while and are seen item by item, reads that do not ask for more lag
// behind, and pages are short.
func nasty(tb testing.TB) *dynamotest.Server {
	return dynamotest.Start(tb, dynamotest.Options{
		TransactionTime: time.Millisecond, ReplicaLag: time.Hour, PageItems: 3, TableTime: 10 * time.Millisecond,
	})
}

func openTemp(tb testing.TB) metastore.Store { return openOn(tb, nasty(tb)) }

func TestConformance(t *testing.T) { metastoretest.Run(t, openTemp) }

func TestHistories(t *testing.T) {
	metastoretest.RunHistories(t, openTemp, metastoretest.Histories{})
}

func TestModel(t *testing.T) {
	metastoretest.RunModel(t, func(tb testing.TB) metastore.Store {
		return openOn(tb, dynamotest.Start(tb, dynamotest.Options{PageItems: 2}))
	})
}

// TestRequests holds what calls cost.
func TestRequests(t *testing.T) {
	service := dynamotest.Start(t, dynamotest.Options{})
	s := openOn(t, service)
	counted := func(call func()) map[dynamotest.Call]int {
		service.ResetRequests()
		call()
		calls := service.Requests()
		for c := range calls {
			if c.Table == "" {
				delete(calls, c)
			}
		}
		return calls
	}
	requests := func(operation string, n int) map[dynamotest.Call]int {
		return map[dynamotest.Call]int{{Operation: operation, Table: "lake_prefix_v2"}: n}
	}
	for i := range 20 {
		for _, family := range []string{"tbl", "drop", "append-operation"} {
			require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create(fmt.Sprintf("%s/ns/%02d", family, i), []byte("x"))}}))
		}
	}
	require.Equal(t, requests("TransactWriteItems", 1), counted(func() {
		require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("a/b", nil), metastore.Guard("tbl/ns/00", []byte("x"))}}))
	}))
	require.Equal(t, requests("GetItem", 1), counted(func() {
		_, err := s.Get(t.Context(), "a/b")
		require.NoError(t, err)
	}))
	for prefix, shards := range map[string]int{"tbl/": 8, "tbl/ns/0": 8, "append-operation/ns/": 64} {
		require.Equal(t, requests("Query", shards), counted(func() {
			page, err := s.Scan(t.Context(), prefix, "", 1000)
			require.NoError(t, err)
			require.NotEmpty(t, page.Records)
			require.Empty(t, page.Next)
		}), prefix)
	}
	require.Equal(t, requests("Scan", 1), counted(func() {
		page, err := s.Scan(t.Context(), "tbl", "", 1000)
		require.NoError(t, err)
		require.Len(t, page.Records, 20)
	}))
}

// TestAPageEvaluatesNoMoreThanItsLimit, whatever pages the service makes.
func TestAPageEvaluatesNoMoreThanItsLimit(t *testing.T) {
	for _, cap := range []int{0, 1, 3} {
		s := openOn(t, dynamotest.Start(t, dynamotest.Options{PageItems: cap}))
		for i := range 30 {
			require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create(fmt.Sprintf("tbl/%02d", i), nil)}}))
		}
		seen := map[string]int{}
		for cursor, pages := "", 0; ; pages++ {
			page, err := s.Scan(t.Context(), "tbl/", cursor, 7)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Records), 7)
			require.Less(t, pages, 20)
			for _, r := range page.Records {
				seen[r.Key]++
			}
			if cursor = page.Next; cursor == "" {
				break
			}
			require.Len(t, page.Records, 7, "a page that is not the last is full")
		}
		require.Len(t, seen, 30)
		for key, n := range seen {
			require.Equal(t, 1, n, key)
		}
	}
}

// TestALargeScanIsBounded: pages of large records end before their limit.
func TestALargeScanIsBounded(t *testing.T) {
	s := openOn(t, dynamotest.Start(t, dynamotest.Options{}))
	value := make([]byte, metastore.MaxValueBytes)
	const records = 64
	for i := range records {
		require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create(fmt.Sprintf("tbl/%03d", i), value)}}))
	}
	total := 0
	for cursor, pages := "", 0; ; pages++ {
		page, err := s.Scan(t.Context(), "tbl/", cursor, metastore.MaxPage)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Records)*metastore.MaxValueBytes, 16<<20)
		total += len(page.Records)
		if cursor = page.Next; cursor == "" {
			require.Positive(t, pages)
			break
		}
	}
	require.Equal(t, records, total)
}
