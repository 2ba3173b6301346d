// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/sdk/sdktest"
)

func TestAppendIsAppliedOnceWhateverFails(t *testing.T) {
	for name, test := range map[string]struct {
		faults   []sdktest.Fault
		replayed bool
	}{
		"nothing fails":             {nil, false},
		"server absent, then there": {[]sdktest.Fault{sdktest.Refuse, sdktest.Refuse}, false},
		"server busy, then free":    {[]sdktest.Fault{sdktest.Busy}, false},
		"acknowledgement lost":      {[]sdktest.Fault{sdktest.LoseAck}, true},
		"lost twice":                {[]sdktest.Fault{sdktest.LoseAck, sdktest.LoseAck}, true},
		"stream ends early":         {[]sdktest.Fault{sdktest.EndEarly}, true},
		"lost, absent, busy":        {[]sdktest.Fault{sdktest.LoseAck, sdktest.Refuse, sdktest.Busy}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := withTable(t)
			s.Plan(test.faults...)
			got, err := c.Append(t.Context(), episodes, rows(2, "a"), rows(1, "b"))
			require.NoError(t, err)
			require.Equal(t, lake.Version(2), got.Version)
			require.Equal(t, uint64(3), got.Rows)
			require.Equal(t, test.replayed, got.Replayed)
			require.Equal(t, int64(3), s.Rows(episodes))
			attempts := s.Attempts()
			require.Len(t, attempts, len(test.faults)+1)
			for _, a := range attempts {
				require.Equal(t, attempts[0], a, "every attempt carries the same id and digest")
			}
			require.Equal(t, got.Operation, attempts[0].Operation)
		})
	}
}

func TestAppendsHaveIdsOfTheirOwn(t *testing.T) {
	s, c := withTable(t)
	for range 2 {
		_, err := c.Append(t.Context(), episodes, rows(1, "same"))
		require.NoError(t, err)
	}
	a := s.Attempts()
	require.NotEqual(t, a[0].Operation, a[1].Operation)
	require.Equal(t, a[0].Digest, a[1].Digest)
	require.Equal(t, int64(2), s.Rows(episodes))
}

func TestAppendOfUnknownOutcomeIsPendingAndResumes(t *testing.T) {
	s, c := withTable(t, sdk.WithRetryWindow(150*time.Millisecond))
	s.Plan(sdktest.Silence)
	_, err := c.Append(t.Context(), episodes, rows(2, "a"))
	var pending *sdk.PendingAppend
	require.ErrorAs(t, err, &pending)
	require.True(t, lake.Is(err, lake.Undetermined), "%v", err)
	require.ErrorContains(t, err, pending.Operation().String())
	require.Equal(t, episodes, pending.Table())
	require.Equal(t, int64(2), pending.Rows())

	for range 2 { // resuming after success is harmless
		got, err := pending.Resume(t.Context())
		require.NoError(t, err)
		require.True(t, got.Replayed)
		require.Equal(t, pending.Operation(), got.Operation)
	}
	require.Equal(t, int64(2), s.Rows(episodes))
}

func TestAppendGivenUpByItsCallerIsPending(t *testing.T) {
	s, c := withTable(t)
	s.Plan(sdktest.Silence)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := c.Append(ctx, episodes, rows(1, "a"))
	var pending *sdk.PendingAppend
	require.ErrorAs(t, err, &pending)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestRefusedAppendIsNotRetriedNorPending(t *testing.T) {
	s, c := withTable(t)
	s.Plan(sdktest.Forget)
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	require.True(t, lake.Is(err, lake.AlreadyExists), "%v", err)
	var pending *sdk.PendingAppend
	require.False(t, errors.As(err, &pending))
	require.Len(t, s.Attempts(), 1)

	_, err = c.Append(t.Context(), lake.TableName{Namespace: "robots", Name: "nothing"}, rows(1, "a"))
	require.True(t, lake.Is(err, lake.NotFound), "%v", err)
}

func TestRefusalAfterALostAckLeavesTheOutcomeOpen(t *testing.T) {
	s, c := withTable(t)
	s.Plan(sdktest.LoseAck, sdktest.Forget)
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	var pending *sdk.PendingAppend
	require.ErrorAs(t, err, &pending)
	require.ErrorContains(t, err, "another digest")
	require.True(t, lake.Is(err, lake.Undetermined))
}

func TestBusyServerIsReportedAsBusy(t *testing.T) {
	s, c := withTable(t, sdk.WithRetryWindow(0))
	s.Plan(sdktest.Busy)
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	require.True(t, lake.Is(err, lake.Exhausted), "%v", err)
	require.Len(t, s.Attempts(), 1)
}

func TestAppendChecksItsLimitsBeforeSending(t *testing.T) {
	s, c := withTable(t)
	other := arrow.NewSchema([]arrow.Field{schema.Field(0), {Name: "reward", Type: arrow.PrimitiveTypes.Float32, Nullable: true}}, nil)
	for name, test := range map[string]struct {
		batches []arrow.RecordBatch
		want    string
	}{
		"no batches":    {nil, "no rows were given"},
		"no rows":       {[]arrow.RecordBatch{rows(0, "")}, "0 rows: one append takes 1 to 10000"},
		"too many rows": {[]arrow.RecordBatch{rows(10_000, "a"), rows(1, "a")}, "10001 rows"},
		"too many bytes": {
			[]arrow.RecordBatch{rows(70, strings.Repeat("x", 1<<20))},
			"more than 64 MiB encoded",
		},
		"mixed schemas": {
			[]arrow.RecordBatch{rows(1, "a"), array.NewRecordBatch(other, []arrow.Array{array.MakeArrayOfNull(mem, schema.Field(0).Type, 1), array.MakeArrayOfNull(mem, arrow.PrimitiveTypes.Float32, 1)}, 1)},
			"batch 1 has another schema than the first: field 1, \"reward\", has type float32, the first has float64",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Append(t.Context(), episodes, test.batches...)
			require.True(t, lake.Is(err, lake.Invalid), "%v", err)
			require.ErrorContains(t, err, test.want)
		})
	}
	coded := arrow.NewSchema([]arrow.Field{{Name: "tag", Type: arrow.ListOf(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String})}}, nil)
	_, err := c.Append(t.Context(), episodes, array.NewRecordBatch(coded, []arrow.Array{array.MakeArrayOfNull(mem, coded.Field(0).Type, 1)}, 1))
	require.ErrorContains(t, err, "column tag has type list<item: dictionary")
	_, err = c.Append(t.Context(), lake.TableName{Namespace: "..", Name: "x"}, rows(1, "a"))
	require.ErrorContains(t, err, "reserved")
	require.Empty(t, s.Attempts())
}

func TestLargeAppendTravelsInSmallMessages(t *testing.T) {
	s, c := withTable(t)
	text := strings.Repeat("x", 1000)
	batch := rows(10_000, text)
	got, err := c.Append(t.Context(), episodes, batch.NewSlice(0, 1), batch.NewSlice(1, 10_000))
	require.NoError(t, err)
	require.Equal(t, uint64(10_000), got.Rows)
	batches := s.Batches(episodes)
	require.Greater(t, len(batches), 4, "10 MB in messages of at most 2 MiB")
	require.Less(t, len(batches), 20)
	next := 0.0
	for _, b := range batches {
		for i := range int(b.NumRows()) {
			require.Equal(t, next, b.Column(1).(*array.Float64).Value(i))
			require.Len(t, b.Column(0).(*array.String).Value(i), len(text))
			next++
		}
	}
}

func TestOneLargeRowTravelsWhole(t *testing.T) {
	s, c := withTable(t)
	_, err := c.Append(t.Context(), episodes, rows(3, strings.Repeat("x", 5<<20)))
	require.NoError(t, err)
	require.Len(t, s.Batches(episodes), 3)
}

func TestAppendsRunConcurrently(t *testing.T) {
	s, c := withTable(t)
	s.Plan(sdktest.LoseAck, sdktest.Refuse, sdktest.LoseAck, sdktest.Busy)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_, err := c.Append(t.Context(), episodes, rows(5, "a"))
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(80), s.Rows(episodes))
}
