// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/sdk/sdktest"
)

var wider = arrow.NewSchema([]arrow.Field{
	schema.Field(0), {Name: "reward", Type: arrow.PrimitiveTypes.Float32, Nullable: true}, {Name: "x", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
}, nil)

func widerRow() arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, wider)
	defer b.Release()
	b.Field(0).AppendValueFromString("a")
	b.Field(1).AppendNull()
	b.Field(2).AppendNull()
	return b.NewRecordBatch()
}

// another is a second client of the same server, which the first does not know
// of.
func another(t *testing.T, s *sdktest.Server, opts ...sdk.Option) *sdk.Client {
	t.Helper()
	c, err := sdk.Connect(t.Context(), s.Addr(), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// recreate makes the table episodes again with a schema.
func recreate(t *testing.T, c *sdk.Client, schema *arrow.Schema) lake.Incarnation {
	t.Helper()
	_, err := c.DropTable(t.Context(), episodes, sdk.DropOptions{})
	require.NoError(t, err)
	made, err := c.CreateTable(t.Context(), episodes, schema)
	require.NoError(t, err)
	return made.Snapshot.Incarnation
}

func TestAppendsNeverAskForTheTable(t *testing.T) {
	s, _ := withTable(t)
	c := another(t, s)
	for range 3 {
		_, err := c.Append(t.Context(), episodes, rows(1, "a"))
		require.NoError(t, err)
	}
	require.Zero(t, s.Lookups())
	a := s.Attempts()
	require.True(t, a[0].Incarnation.IsZero(), "the first knows nothing to be pinned to")
	require.False(t, a[1].Incarnation.IsZero(), "the next know the table from the acknowledgement")
	require.Equal(t, a[1].Incarnation, a[2].Incarnation)
}

func TestRowsOfAnotherSchemaAreNotSentToAKnownTable(t *testing.T) {
	s, c := withTable(t)
	_, err := c.Append(t.Context(), episodes, widerRow())
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	require.ErrorContains(t, err, `append to robots.episodes: field 1, "reward", has type float32, the table has float64`)
	require.Empty(t, s.Attempts())
	require.Equal(t, 1, s.Lookups(), "memory alone refuses nothing")
}

func TestRecreateInBetweenFailsClosedOnce(t *testing.T) {
	s, c := withTable(t)
	other := another(t, s)
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	require.NoError(t, err)
	made := recreate(t, other, schema)
	_, err = c.Append(t.Context(), episodes, rows(1, "a"))
	require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	require.Zero(t, s.Rows(episodes), "nothing was written into the other table")
	got, err := c.Append(t.Context(), episodes, rows(1, "a"))
	require.NoError(t, err, "the caller was told and goes on")
	require.Equal(t, made, got.Incarnation)
}

func TestPinnedAppendsFailClosedAlways(t *testing.T) {
	s, c := withTable(t, sdk.WithSchemaTTL(0))
	before, err := c.Table(t.Context(), episodes)
	require.NoError(t, err)
	recreate(t, another(t, s), schema)
	for range 2 {
		p, err := c.PrepareAppend(episodes, rows(1, "a"))
		require.NoError(t, err)
		_, err = p.WithIncarnation(before.Snapshot.Incarnation).Resume(t.Context())
		require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	}
	require.Zero(t, s.Rows(episodes))
}

func TestRowsOfTheNewTableAreNotRefusedForTheOldOne(t *testing.T) {
	s, c := withTable(t)
	made := recreate(t, another(t, s), wider)
	got, err := c.Append(t.Context(), episodes, widerRow())
	require.NoError(t, err)
	require.Equal(t, made, got.Incarnation)
	require.Equal(t, made, s.Attempts()[0].Incarnation)
}

func TestSchemaIsRememberedForItsTTLAndNoLongerThanTrue(t *testing.T) {
	s, c := withTable(t, sdk.WithSchemaTTL(100*time.Millisecond))
	reads := func() (*arrow.Schema, int) {
		t.Helper()
		got, err := c.Schema(t.Context(), episodes)
		require.NoError(t, err)
		return got, s.Lookups()
	}
	got, n := reads()
	require.True(t, got.Equal(schema))
	require.Zero(t, n, "known from its creation")
	require.Eventually(t, func() bool { _, n := reads(); return n == 1 }, 10*time.Second, 10*time.Millisecond)

	_, err := c.DropTable(t.Context(), episodes, sdk.DropOptions{})
	require.NoError(t, err)
	_, err = c.Schema(t.Context(), episodes)
	require.True(t, lake.Is(err, lake.NotFound), "%v", err)

	off := another(t, s, sdk.WithSchemaTTL(0))
	recreate := func() { _, err := off.CreateTable(t.Context(), episodes, wider); require.NoError(t, err) }
	recreate()
	before := s.Lookups()
	for range 2 {
		_, err := off.Schema(t.Context(), episodes)
		require.NoError(t, err)
	}
	require.Equal(t, before+2, s.Lookups())
}

func TestSchemaLookupsAreShared(t *testing.T) {
	s, _ := withTable(t)
	c := another(t, s)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := c.Schema(t.Context(), episodes); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Less(t, s.Lookups(), 10)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := another(t, s).Schema(ctx, episodes)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
}

// TestAnAnswerFromBeforeARecreateIsNotLearned holds an answer about a table up
// while this client makes another of its name.
func TestAnAnswerFromBeforeARecreateIsNotLearned(t *testing.T) {
	s, _ := withTable(t)
	answered, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hold := func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := next(ctx, method, req, reply, conn, opts...)
		if strings.HasSuffix(method, "/GetTable") {
			once.Do(func() { close(answered); <-goOn })
		}
		return err
	}
	c := another(t, s, sdk.WithDialOptions(grpc.WithChainUnaryInterceptor(hold)))
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = c.Table(t.Context(), episodes) })
	<-answered
	made := recreate(t, c, wider)
	close(goOn)
	wg.Wait()
	lookups := s.Lookups()
	got, err := c.Schema(t.Context(), episodes)
	require.NoError(t, err)
	require.True(t, got.Equal(wider))
	require.Equal(t, lookups, s.Lookups(), "known from its creation")
	result, err := c.Append(t.Context(), episodes, widerRow())
	require.NoError(t, err)
	require.Equal(t, made, result.Incarnation)
}
