// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/sdk/sdktest"
)

// TestMain runs a server for the example, which finds it as any program does.
func TestMain(m *testing.M) {
	if name := os.Getenv(crashEnv); name != "" {
		appendForever(name) // this process is to be killed
	}
	s, _, err := sdktest.Start() // ends with the process
	if err != nil {
		panic(err)
	}
	s.AnswerWith("SELECT robot_id, avg(reward) AS reward FROM robots.episodes GROUP BY ALL ORDER BY ALL", schema,
		func() []arrow.RecordBatch { return []arrow.RecordBatch{averages(s.Batches(episodes))} })
	if err := os.Setenv("LAKE_ADDR", s.Addr()); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

// averages is the mean of reward for each robot, by robot.
func averages(batches []arrow.RecordBatch) arrow.RecordBatch {
	sum, count := map[string]float64{}, map[string]int{}
	for _, b := range batches {
		for i := range int(b.NumRows()) {
			robot, reward := b.Column(0).(*array.String).Value(i), b.Column(1).(*array.Float64)
			if count[robot] += 0; reward.IsValid(i) {
				sum[robot], count[robot] = sum[robot]+reward.Value(i), count[robot]+1
			}
		}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, robot := range slices.Sorted(maps.Keys(count)) {
		b.Field(0).(*array.StringBuilder).Append(robot)
		if n := count[robot]; n > 0 {
			b.Field(1).(*array.Float64Builder).Append(sum[robot] / float64(n))
		} else {
			b.Field(1).AppendNull()
		}
	}
	return b.NewRecordBatch()
}

var episodes = lake.TableName{Namespace: "robots", Name: "episodes"}

var schema = arrow.NewSchema([]arrow.Field{
	{Name: "robot_id", Type: arrow.BinaryTypes.String},
	{Name: "reward", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
}, nil)

// rows makes a batch of n rows whose first column holds text.
func rows(n int, text string) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.StringBuilder).Append(text)
		b.Field(1).(*array.Float64Builder).Append(float64(i))
	}
	return b.NewRecordBatch()
}

func connect(t *testing.T, opts ...sdk.Option) (*sdktest.Server, *sdk.Client) {
	t.Helper()
	s := sdktest.New(t)
	c, err := sdk.Connect(t.Context(), s.Addr(), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return s, c
}

// withTable also makes the table episodes.
func withTable(t *testing.T, opts ...sdk.Option) (*sdktest.Server, *sdk.Client) {
	t.Helper()
	s, c := connect(t, opts...)
	_, err := c.CreateTable(t.Context(), episodes, schema)
	require.NoError(t, err)
	return s, c
}
