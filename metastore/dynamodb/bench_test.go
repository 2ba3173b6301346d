// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"testing"
	"time"

	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/dynamodb/dynamotest"
	"github.com/lakeplane/lake/metastore/metastoretest"
)

// BenchmarkStore measures what the client does to a service whose transactions
// take about as long as Amazon's.
func BenchmarkStore(b *testing.B) {
	metastoretest.Bench(b, func(tb testing.TB) metastore.Store {
		return openOn(tb, dynamotest.Start(tb, dynamotest.Options{TransactionTime: 5 * time.Millisecond}))
	})
}
