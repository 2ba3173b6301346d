// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package lance_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/engine/enginetest"
	"github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/internal/s3test"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore/s3"
)

// bucket runs an S3 server for the test and returns a way to open stores in it,
// each in a folder of its own.
func bucket(t *testing.T) func(transport http.RoundTripper) *s3.Store {
	t.Helper()
	server, err := s3test.Start()
	if errors.Is(err, s3test.ErrMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	var folders atomic.Int64
	return func(transport http.RoundTripper) *s3.Store {
		s, err := s3.Open(t.Context(), s3.Options{
			Bucket: s3test.Bucket, Prefix: fmt.Sprintf("f%d/", folders.Add(1)), Endpoint: server.URL(), PathStyle: true, Transport: transport,
			Credentials: credentials.NewStaticCredentialsProvider(s3test.AccessKey, s3test.SecretKey, ""),
		})
		require.NoError(t, err)
		return s
	}
}

func TestConformanceInABucket(t *testing.T) {
	open := bucket(t)
	enginetest.Run(t, func(t *testing.T) enginetest.Fixture {
		store := open(nil)
		e, err := lance.New(lance.Options{Store: store})
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, e.Close())
			require.NoError(t, store.Close())
		})
		return enginetest.Fixture{Engine: e, Erase: func(ctx context.Context, loc lake.Location) error { return erase(ctx, store, loc) }}
	})
}

// depths counts requests, and how many of them had to wait for one another.
type depths struct {
	transport http.Transport
	mu        sync.Mutex
	ended     int // the longest chain of requests that have ended
	requests  int
}

// tripTime is how long a request takes at least: those that are made together
// must all have begun before the first of them ends, on a busy machine too.
const tripTime = 100 * time.Millisecond

func (d *depths) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	depth := d.ended + 1
	d.requests++
	d.mu.Unlock()
	answer, err := d.transport.RoundTrip(r)
	time.Sleep(tripTime)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = max(d.ended, depth)
	return answer, err
}

func (d *depths) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended, d.requests = 0, 0
}

// TestColdReadIsThreeTrips: manifest, footer, pages. Each is one trip to the
// bucket, whatever the number of columns.
func TestColdReadIsThreeTrips(t *testing.T) {
	trips := new(depths)
	defer trips.transport.CloseIdleConnections()
	store := bucket(t)(trips)
	writer, err := lance.New(lance.Options{Store: store})
	require.NoError(t, err)
	inc := lake.NewID()
	loc := lake.Place(lake.TableName{Namespace: "n", Name: "t"}, inc)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Float64}, {Name: "c", Type: arrow.PrimitiveTypes.Int32},
	}, nil)
	first, err := writer.Create(t.Context(), loc, inc, schema)
	require.NoError(t, err)
	require.NoError(t, writer.Publish(t.Context(), first.Snapshot))
	next, err := writer.StageAppend(t.Context(), first.Snapshot, []engine.Append{{Data: stageNumbers(t, writer, loc, schema, 100_000)}})
	require.NoError(t, err)
	require.NoError(t, writer.Publish(t.Context(), next.Snapshot))
	require.NoError(t, writer.Close()) // which ends what it deletes beside

	cold, err := lance.New(lance.Options{Store: store})
	require.NoError(t, err)
	defer cold.Close()
	trips.reset()
	d, err := cold.Open(t.Context(), next.Snapshot)
	require.NoError(t, err)
	defer d.Close()
	s, err := d.Scan(t.Context(), engine.ScanOptions{Columns: []int{0, 2}, BatchRows: 8192})
	require.NoError(t, err)
	defer s.Close()
	batch, err := s.Next(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, batch.NumCols())
	batch.Release()
	t.Logf("%d requests, %d of them one after the other", trips.requests, trips.ended)
	require.LessOrEqual(t, trips.ended, 3)
}

func stageNumbers(t *testing.T, e *lance.Engine, loc lake.Location, schema *arrow.Schema, n int) engine.Data {
	t.Helper()
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Float64Builder).Append(float64(i))
		b.Field(2).(*array.Int32Builder).Append(int32(i))
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	rows, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
	require.NoError(t, err)
	defer rows.Release()
	data, err := e.StageData(t.Context(), loc, schema, rows)
	require.NoError(t, err)
	return data
}
