// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"log"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

func Example() {
	ctx := context.Background()
	client, err := sdk.Connect(ctx, os.Getenv("LAKE_ADDR")) // such as 127.0.0.1:50051
	check(err)
	defer client.Close()

	episodes := lake.TableName{Namespace: "robots", Name: "episodes"}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "robot_id", Type: arrow.BinaryTypes.String},
		{Name: "reward", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	_, err = client.CreateTable(ctx, episodes, schema)
	check(err)

	rows, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(
		`[{"robot_id": "arm-1", "reward": 0.5}, {"robot_id": "arm-1", "reward": 1.5}, {"robot_id": "arm-2"}]`))
	check(err)
	_, err = client.Append(ctx, episodes, rows) // once, whatever the network does
	check(err)

	result, err := client.Query(ctx, "SELECT robot_id, avg(reward) AS reward FROM robots.episodes GROUP BY ALL ORDER BY ALL")
	check(err)
	for batch, err := range result.Batches() {
		check(err)
		check(array.RecordToJSON(batch, os.Stdout))
	}
	// Output:
	// {"reward":1,"robot_id":"arm-1"}
	// {"reward":null,"robot_id":"arm-2"}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
