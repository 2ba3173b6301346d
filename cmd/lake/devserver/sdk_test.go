// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

// The SDK's own tests use a server in memory; these hold it against a real one.
func TestSDKAgainstARealServer(t *testing.T) {
	s := start(t, t.TempDir())
	defer s.Stop()
	c := connect(t, s)
	t.Run("parameters", func(t *testing.T) { parameters(t, c) })
	t.Run("appends", func(t *testing.T) { appends(t, c) })
	t.Run("large appends", func(t *testing.T) { largeAppends(t, c) })
	t.Run("errors", func(t *testing.T) { typedErrors(t, c) })
}

func parameters(t *testing.T, c *sdk.Client) {
	when := time.Date(2024, 2, 29, 1, 2, 3, 456_000, time.UTC)
	for _, test := range []struct {
		value any
		want  string
	}{
		{nil, "(null)"},
		{true, "true"},
		{-7, "-7"},
		{uint64(math.MaxUint64), "18446744073709551615"},
		{0.5, "0.5"},
		{"it's; --", "it's; --"},
		{[]byte{1, 2}, "AQI="},
		{when, "2024-02-29T01:02:03.000456Z"},
	} {
		r, err := c.Query(t.Context(), "SELECT ? AS x", test.value)
		require.NoError(t, err, "%T", test.value)
		var got []string
		for b, err := range r.Batches() {
			require.NoError(t, err)
			got = append(got, b.Column(0).ValueStr(0))
		}
		require.Equal(t, []string{test.want}, got, "%T", test.value)
	}
}

func numbers(from, n int64) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(from + i)
	}
	return b.NewRecordBatch()
}

func appends(t *testing.T, c *sdk.Client) {
	name := lake.TableName{Namespace: "sdk", Name: "appends"}
	_, err := c.CreateTable(t.Context(), name, numbers(0, 1).Schema())
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range int64(12) {
		wg.Go(func() {
			p, err := c.PrepareAppend(name, numbers(i*100, 100))
			if err != nil {
				t.Error(err)
				return
			}
			var results [2]sdk.AppendResult
			for k := range results { // the second is a replay
				var e error
				results[k], e = p.Resume(t.Context())
				err = errors.Join(err, e)
			}
			if err != nil || results[0].Version != results[1].Version || !results[1].Replayed {
				t.Errorf("%v %+v", err, results)
			}
		})
	}
	wg.Wait()
	require.Equal(t, "1200 1200", one(t, c, "SELECT count(*) || ' ' || count(DISTINCT n) FROM sdk.appends"))
}

func one(t *testing.T, c *sdk.Client, sql string) (text string) {
	t.Helper()
	r, err := c.Query(t.Context(), sql)
	require.NoError(t, err)
	for b, err := range r.Batches() {
		require.NoError(t, err)
		text += b.Column(0).ValueStr(0)
	}
	return text
}

func largeAppends(t *testing.T, c *sdk.Client) {
	name := lake.TableName{Namespace: "sdk", Name: "large"}
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	_, err := c.CreateTable(t.Context(), name, schema)
	require.NoError(t, err)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range 10_000 {
		b.Field(0).(*array.StringBuilder).Append(strings.Repeat("x", 4000) + fmt.Sprint(i))
	}
	result, err := c.Append(t.Context(), name, b.NewRecordBatch())
	require.NoError(t, err)
	require.Equal(t, uint64(10_000), result.Rows)
	require.Equal(t, "10000", one(t, c, "SELECT count(DISTINCT s) FROM sdk.large"))
}

func typedErrors(t *testing.T, c *sdk.Client) {
	name := lake.TableName{Namespace: "sdk", Name: "errors"}
	_, err := c.CreateTable(t.Context(), name, numbers(0, 1).Schema())
	require.NoError(t, err)
	other := arrow.NewSchema([]arrow.Field{{Name: "m", Type: arrow.PrimitiveTypes.Int64}}, nil)
	for want, err := range map[lake.Kind]error{
		lake.AlreadyExists: second(c.CreateTable(t.Context(), name, other)),
		lake.NotFound:      second(c.Append(t.Context(), lake.TableName{Namespace: "sdk", Name: "none"}, numbers(0, 1))),
		lake.Invalid:       second(c.Append(t.Context(), name, array.NewRecordBatch(other, numbers(0, 1).Columns(), 1))),
	} {
		require.Equal(t, want, lake.KindOf(err), "%v", err)
		var pending *sdk.PendingAppend
		require.False(t, errors.As(err, &pending))
	}
	_, err = c.Query(t.Context(), "SELECT nothing FROM sdk.errors")
	require.Equal(t, lake.Invalid, lake.KindOf(err), "%v", err)
	_, err = c.Query(t.Context(), "SELECT 1", 5)
	require.Equal(t, lake.Invalid, lake.KindOf(err), "a parameter too many: %v", err)
}

func second[T any](_ T, err error) error { return err }
