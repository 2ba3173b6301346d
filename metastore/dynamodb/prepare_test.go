// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/dynamodb/dynamotest"
)

// bare is the SDK's client for a service.
func bare(t *testing.T, service *dynamotest.Server) *dynamodb.Client {
	t.Helper()
	o := options(service).withDefaults()
	h := o.http()
	t.Cleanup(h.CloseIdleConnections)
	c, err := o.client(t.Context(), h)
	require.NoError(t, err)
	return c
}

func put(t *testing.T, c *dynamodb.Client, table string, item attributes) {
	t.Helper()
	_, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item})
	require.NoError(t, err)
}

// TestTheFirstProcessMakesTheTables, and many first processes make them once.
func TestTheFirstProcessMakesTheTables(t *testing.T) {
	service := nasty(t)
	var opening sync.WaitGroup
	stores := make([]*Store, 8)
	for i := range stores {
		opening.Go(func() { stores[i] = openOn(t, service) })
	}
	opening.Wait()
	require.Equal(t, []map[string]any{
		{"pk": barrierKey, "val": []byte("locked-v1")}, {"pk": markerKey, "val": []byte("complete-v1")},
	}, sortedByKey(service.Items("lake")))
	require.Empty(t, service.Items("lake_prefix_v2"))
	require.NoError(t, stores[0].Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Create("tbl/a/b", []byte("1"))}}))
	got, err := stores[1].Get(t.Context(), "tbl/a/b")
	require.NoError(t, err)
	require.Equal(t, "1", string(got.Value))
	require.Equal(t, []map[string]any{{"bucket": bucketOf("tbl/a/b"), "pk": "tbl/a/b", "val": []byte("1")}}, service.Items("lake_prefix_v2"))
	again := openOn(t, service)
	_, err = again.Get(t.Context(), "tbl/a/b")
	require.NoError(t, err)
}

func sortedByKey(items []map[string]any) []map[string]any {
	if len(items) == 2 && items[0]["pk"].(string) < items[1]["pk"].(string) {
		items[0], items[1] = items[1], items[0]
	}
	return items
}

func TestTablesOfOthersAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		prepare    func(t *testing.T, c *dynamodb.Client)
		kind       lake.Kind
		says       string
		companions int // that the case has made, or that are made with reason
	}{
		"records of the first layout": {func(t *testing.T, c *dynamodb.Client) {
			makeTable(t, c, "lake", "pk")
			put(t, c, "lake", attributes{attrKey: text("tbl/a/b"), attrValue: binary([]byte("x"))})
		}, lake.Precondition, "table lake holds records of another layout", 0},
		"records without a mark": {func(t *testing.T, c *dynamodb.Client) {
			makeTable(t, c, "lake_prefix_v2", "bucket", "pk")
			put(t, c, "lake_prefix_v2", attributes{attrBucket: text("tbl#00"), attrKey: text("tbl/a/b"), attrValue: binary([]byte("x"))})
		}, lake.Precondition, "table lake_prefix_v2 holds records of another layout", 1},
		"a barrier alone": {func(t *testing.T, c *dynamodb.Client) {
			makeTable(t, c, "lake", "pk")
			put(t, c, "lake", attributes{attrKey: text(barrierKey), attrValue: binary([]byte(barrierValue))})
		}, lake.Precondition, "a change of its layout is under way", 1},
		"a newer layout": {func(t *testing.T, c *dynamodb.Client) {
			makeTable(t, c, "lake", "pk")
			put(t, c, "lake", attributes{attrKey: text(markerKey), attrValue: binary([]byte("complete-v2"))})
		}, lake.Unsupported, `table lake has the layout "complete-v2": want "complete-v1"`, 0},
		"a mark that is no binary": {func(t *testing.T, c *dynamodb.Client) {
			makeTable(t, c, "lake", "pk")
			put(t, c, "lake", attributes{attrKey: text(markerKey), attrValue: text("complete-v1")})
		}, lake.Corrupt, "table lake has no binary val", 0},
		"a companion that was lost": {func(t *testing.T, c *dynamodb.Client) {
			makeTable(t, c, "lake", "pk")
			put(t, c, "lake", attributes{attrKey: text(markerKey), attrValue: binary([]byte(markerValue))})
		}, lake.Precondition, "table lake_prefix_v2 is missing, which holds the records of lake", 0},
		"other keys": {func(t *testing.T, c *dynamodb.Client) {
			makeTable(t, c, "lake", "id")
		}, lake.Precondition, "table lake has the keys [id]: want [pk]", 0},
		"a key too many": {func(t *testing.T, c *dynamodb.Client) {
			makeTable(t, c, "lake", "pk", "sort")
		}, lake.Precondition, "table lake has the keys [pk sort]: want [pk]", 0},
	} {
		t.Run(name, func(t *testing.T) {
			service := dynamotest.Start(t, dynamotest.Options{})
			c.prepare(t, bare(t, service))
			before := service.Items("lake")
			opts := options(service)
			opts.RetryTime = 200 * time.Millisecond
			_, err := Open(t.Context(), opts)
			require.True(t, lake.Is(err, c.kind), "%v", err)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, before, service.Items("lake"), "nothing was written")
			require.Equal(t, c.companions, service.Requests()[dynamotest.Call{Operation: "CreateTable", Table: "lake_prefix_v2"}], "nothing was made")
		})
	}
}

func makeTable(t *testing.T, c *dynamodb.Client, name string, keys ...string) {
	t.Helper()
	s := &Store{client: c, opts: Options{Logger: slog.New(slog.DiscardHandler)}.withDefaults()}
	require.NoError(t, s.ensureTable(t.Context(), name, keys...))
}

// TestAKeyOfAnotherTypeIsRefused: such a table could hold no key.
func TestAKeyOfAnotherTypeIsRefused(t *testing.T) {
	table := &types.TableDescription{
		TableName:            aws.String("lake"),
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeB}},
	}
	require.ErrorContains(t, checkKeys(table, []string{"pk"}), "table lake: key pk has the type B: want S")
}

func TestWhoMayNotIsTold(t *testing.T) {
	service := dynamotest.Start(t, dynamotest.Options{AccessKey: "somebody"})
	_, err := Open(t.Context(), options(service))
	require.True(t, lake.Is(err, lake.Denied), "%v", err)

	// Not to make tables is a right of its own.
	service = dynamotest.Start(t, dynamotest.Options{})
	service.SetFault(func(r dynamotest.Request) dynamotest.Fault {
		if r.Operation == "CreateTable" {
			return dynamotest.Fault{Harm: dynamotest.Refuse, Error: "AccessDeniedException"}
		}
		return dynamotest.Fault{}
	})
	_, err = Open(t.Context(), options(service))
	require.True(t, lake.Is(err, lake.Denied), "%v", err)
	require.ErrorContains(t, err, "want a table lake with the keys [pk] (text) and on-demand capacity")
}

func TestOpenWithoutAService(t *testing.T) {
	service := dynamotest.Start(t, dynamotest.Options{})
	service.Cut(true)
	opts := options(service)
	opts.RetryTime = 100 * time.Millisecond
	_, err := Open(t.Context(), opts)
	require.ErrorIs(t, err, metastore.ErrRetryable)

	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	_, err = Open(t.Context(), Options{Table: "lake"})
	require.ErrorContains(t, err, "a region is needed")
	require.True(t, lake.Is(err, lake.Invalid))
}

// TestATableThatIsNeverReady ends with the caller's patience.
func TestATableThatIsNeverReady(t *testing.T) {
	service := dynamotest.Start(t, dynamotest.Options{TableTime: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, options(service))
	require.True(t, lake.Is(err, lake.Unavailable), "%v", err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
