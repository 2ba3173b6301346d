// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/dynamodb/dynamotest"
)

// ops are guards of keys, in their order.
func ops(keys ...string) (all []metastore.Op) {
	for _, key := range keys {
		all = append(all, metastore.GuardAbsent(key))
	}
	return all
}

func TestTurnsComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		var mu sync.Mutex
		var order []int
		end := turns.take(t.Context(), ops("a", "b"))
		turns.take(t.Context(), ops("c"))() // another key, at once
		for i := range 20 {
			go func() {
				defer turns.take(t.Context(), ops("a", fmt.Sprint("z", i%3)))()
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
			}()
			synctest.Wait()
		}
		require.Empty(t, order)
		end()
		synctest.Wait()
		require.Len(t, order, 20)
		require.IsIncreasing(t, order)
		require.Empty(t, turns.keys, "nothing is kept of keys that nobody wants")
	})
}

func TestATurnIsLostInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		began := time.Now()
		end := turns.take(t.Context(), ops("a")) // and no answer
		ctx, cancel := context.WithTimeout(t.Context(), maxTurn/2)
		defer cancel()
		turns.take(ctx, ops("a"))()
		require.Equal(t, maxTurn/2, time.Since(began), "nobody waits longer than it wants to")
		turns.take(t.Context(), ops("a"))()
		require.Equal(t, maxTurn, time.Since(began))
		end()
		require.Empty(t, turns.keys)
	})
}

// TestCommitsOfAProcessDoNotMeet: of many that keep the same key nearly each is
// sent once; a machine that stands still may lose one its turn. Without turns
// there are several times as many.
func TestCommitsOfAProcessDoNotMeet(t *testing.T) {
	service := dynamotest.Start(t, dynamotest.Options{TransactionTime: time.Millisecond})
	s := openOn(t, service)
	fence := metastore.Guard("election/leader/00", []byte("1"))
	require.NoError(t, s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create(fence.Key, fence.Expect)}}))
	service.ResetRequests()
	const writers, commits = 16, 4
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range commits {
				err := s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{fence, metastore.Create(fmt.Sprintf("tbl/%d/%d", w, i), nil)}})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Less(t, service.Requests()[dynamotest.Call{Operation: "TransactWriteItems"}], writers*commits*5/4)
}
