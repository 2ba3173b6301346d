// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/internal/grpcerr"
	"github.com/lakeplane/lake/lake"
)

// slowCatalog looks at its table when it is asked, and answers when it is let.
type slowCatalog struct {
	lakepb.CatalogClient
	table  *lakepb.Table // nil when there is none
	calls  int
	answer chan struct{}
}

func (c *slowCatalog) GetTable(context.Context, *lakepb.GetTableRequest, ...grpc.CallOption) (*lakepb.Table, error) {
	c.calls++
	table := c.table
	<-c.answer
	if table == nil {
		return nil, grpcerr.ToStatus(lake.Errorf(lake.NotFound, "no such table"))
	}
	return table, nil
}

// TestAFailedLookupIsNotSharedWithLaterCallers: who asks for a table that was
// created meanwhile finds it, although a lookup is under way that did not.
func TestAFailedLookupIsNotSharedWithLaterCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		catalog := &slowCatalog{answer: make(chan struct{})}
		c := &Client{catalog: catalog, memory: newMemory(time.Minute)}
		name := lake.TableName{Namespace: "a", Name: "t"}
		schema := func(answers chan<- error) { _, err := c.Schema(t.Context(), name); answers <- err }
		first, others := make(chan error, 1), make(chan error, 10)
		go schema(first)
		synctest.Wait() // it has not found the table
		catalog.table = &lakepb.Table{
			Name:   nameToProto(name),
			Schema: flight.SerializeSchema(arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil), memory.DefaultAllocator),
			Snapshot: &lakepb.Snapshot{
				Engine: "lance", Location: "a/t/x.lance", Incarnation: lake.NewID().String(), Version: 1,
				Manifest: &lakepb.Manifest{Path: "m", Size: 3, Sha256: make([]byte, 32)},
			},
		}
		for range cap(others) {
			go schema(others)
		}
		synctest.Wait()
		catalog.answer <- struct{}{}
		require.True(t, lake.Is(<-first, lake.NotFound))
		synctest.Wait()
		close(catalog.answer)
		for range cap(others) {
			require.NoError(t, <-others)
		}
		require.Equal(t, 2, catalog.calls, "those who ask later share one call")
	})
}
