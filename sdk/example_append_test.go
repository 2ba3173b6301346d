// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// newTable makes an empty table for an example.
func newTable(ctx context.Context, client *sdk.Client, name string) lake.TableName {
	table := lake.TableName{Namespace: "examples", Name: name}
	_, err := client.CreateTable(ctx, table, schema)
	check(err)
	return table
}

func someRows(json string) arrow.RecordBatch {
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(json))
	check(err)
	return batch
}

// Several replicas of one deployment: the first that serves takes the calls.
func ExampleConnect_endpoints() {
	ctx := context.Background()
	replicas := os.Getenv("LAKE_ADDR") + ",127.0.0.1:1" // the second is down
	client, err := sdk.Connect(ctx, replicas)
	check(err)
	defer client.Close()
	for _, err := range client.ListTables(ctx, "nothing") {
		check(err)
	}
	fmt.Println("connected")
	// Output: connected
}

// A consumer of a queue appends each message under an id that it derives from
// the message, so that a message delivered twice is appended once.
func ExamplePendingAppend_WithOperation() {
	ctx := context.Background()
	client, err := sdk.Connect(ctx, os.Getenv("LAKE_ADDR"))
	check(err)
	defer client.Close()
	table := newTable(ctx, client, "keyed")

	message := lake.NewIDAt(time.Now()) // the message's own UUIDv7
	for range 2 {
		p, err := client.PrepareAppend(table, someRows(`[{"robot_id": "arm-1", "reward": 0.5}]`))
		check(err)
		result, err := p.WithOperation(message).Resume(ctx)
		check(err)
		fmt.Println(result.Version, result.Replayed)
	}
	// Output:
	// 2 false
	// 2 true
}

// A recorder keeps its appends on disk until they are known to be committed,
// and begins by finishing what its previous run left.
func ExampleClient_PendingAppends() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lake-checkpoints-")
	check(err)
	defer os.RemoveAll(dir)
	client, err := sdk.Connect(ctx, os.Getenv("LAKE_ADDR"), sdk.WithCheckpoints(dir))
	check(err)
	defer client.Close()

	for pending, err := range client.PendingAppends(ctx) {
		var file *sdk.CheckpointError
		switch {
		case errors.As(err, &file):
			log.Print(err) // somebody should look at it; the others go on
		case err != nil:
			log.Fatal(err)
		default:
			_, err := pending.Resume(ctx)
			check(err)
		}
	}
	_, err = client.Append(ctx, newTable(ctx, client, "recorded"), someRows(`[{"robot_id": "arm-1"}]`))
	check(err)
	fmt.Println("everything is committed")
	// Output: everything is committed
}

// counters is an observer for a few metrics.
type counters struct {
	attempts, retries, rows, failures atomic.Int64
}

// Attempt implements sdk.Observer.
func (c *counters) Attempt(sdk.AttemptEvent) { c.attempts.Add(1) }

// Retry implements sdk.Observer.
func (c *counters) Retry(sdk.RetryEvent) { c.retries.Add(1) }

// Outcome implements sdk.Observer.
func (c *counters) Outcome(e sdk.OutcomeEvent) {
	if e.Err != nil {
		c.failures.Add(1)
		return
	}
	c.rows.Add(e.Rows)
}

func ExampleWithObserver() {
	ctx := context.Background()
	metrics := new(counters)
	client, err := sdk.Connect(ctx, os.Getenv("LAKE_ADDR"), sdk.WithObserver(metrics))
	check(err)
	defer client.Close()
	_, err = client.Append(ctx, newTable(ctx, client, "observed"), someRows(`[{"robot_id": "a"}, {"robot_id": "b"}]`))
	check(err)
	fmt.Println(metrics.attempts.Load(), metrics.retries.Load(), metrics.rows.Load(), metrics.failures.Load())
	// Output: 1 0 2 0
}

// Schema says what rows a table takes; asking again within the TTL is free.
func ExampleClient_Schema() {
	ctx := context.Background()
	client, err := sdk.Connect(ctx, os.Getenv("LAKE_ADDR"), sdk.WithSchemaTTL(time.Minute))
	check(err)
	defer client.Close()
	table := newTable(ctx, client, "described")
	s, err := client.Schema(ctx, table)
	check(err)
	fmt.Println(s.Field(0).Name, s.Field(0).Type)
	// Output: robot_id utf8
}
