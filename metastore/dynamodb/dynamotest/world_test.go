// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore/dynamodb/dynamotest"
)

// These variables run the facts that need no knobs against the service itself, in
// the account of the environment's credentials, or against another endpoint.
const (
	envAWS      = "LAKE_DYNAMODB_AWS"
	envEndpoint = "LAKE_DYNAMODB_CHECK_ENDPOINT"
)

func elsewhere() bool { return os.Getenv(envAWS) == "1" || os.Getenv(envEndpoint) != "" }

// world is a service with two tables: ranged has the hash key bucket and the range
// key pk, plain has the hash key pk.
type world struct {
	*testing.T
	client        *dynamodb.Client
	ranged, plain string
}

// service is the world of facts that hold for the service as well.
func service(t *testing.T) *world {
	t.Helper()
	w := &world{T: t}
	if elsewhere() {
		cfg, err := config.LoadDefaultConfig(t.Context())
		require.NoError(t, err)
		w.client = dynamodb.NewFromConfig(cfg, withEndpoint(os.Getenv(envEndpoint)))
	} else {
		w.client = clientOf(dynamotest.Start(t, dynamotest.Options{}), "AKTEST")
	}
	w.makeTables()
	return w
}

// emulated is the world of facts about the emulator's knobs.
func emulated(t *testing.T, opts dynamotest.Options) (*world, *dynamotest.Server) {
	t.Helper()
	if elsewhere() {
		t.Skipf("turns knobs of the emulator, so it says nothing of what %s or %s name", envAWS, envEndpoint)
	}
	server := dynamotest.Start(t, dynamotest.Options{})
	w := &world{T: t, client: clientOf(server, "AKTEST")}
	w.makeTables()
	server.Configure(func(o *dynamotest.Options) { *o = opts })
	server.ResetRequests()
	return w, server
}

func withEndpoint(url string) func(*dynamodb.Options) {
	return func(o *dynamodb.Options) {
		o.RetryMaxAttempts = 1
		if url != "" {
			o.BaseEndpoint = &url
		}
	}
}

func clientOf(s *dynamotest.Server, accessKey string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:      "eu-central-1",
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, "secret", ""),
	}, withEndpoint(s.URL()))
}

func (w *world) makeTables() {
	w.Helper()
	stamp := fmt.Sprintf("lake-check-%d-", time.Now().UnixNano())
	w.ranged, w.plain = stamp+"ranged", stamp+"plain"
	w.makeTable(w.ranged, "bucket", "pk")
	w.makeTable(w.plain, "pk")
}

func (w *world) makeTable(name string, keys ...string) {
	w.Helper()
	_, err := w.client.CreateTable(w.Context(), tableInput(name, keys...))
	require.NoError(w, err)
	w.Cleanup(func() {
		if elsewhere() {
			_, err := w.client.DeleteTable(context.WithoutCancel(w.Context()), &dynamodb.DeleteTableInput{TableName: &name})
			assert.NoError(w, err)
		}
	})
	for {
		out, err := w.client.DescribeTable(w.Context(), &dynamodb.DescribeTableInput{TableName: &name})
		require.NoError(w, err)
		if out.Table.TableStatus == types.TableStatusActive {
			return
		}
		time.Sleep(100 * time.Millisecond) // the service tells nobody when it is done
	}
}

func tableInput(name string, keys ...string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
	for i, key := range keys {
		kind := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i]
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &key, KeyType: kind})
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &key, AttributeType: types.ScalarAttributeTypeS})
	}
	return in
}

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
func binary(b ...byte) types.AttributeValue {
	return &types.AttributeValueMemberB{Value: append([]byte{}, b...)}
}

// key is a key of the ranged table.
func key(hash, rng string) attributes { return attributes{"bucket": text(hash), "pk": text(rng)} }

// with adds an attribute to a copy of an item.
func with(it attributes, name string, v types.AttributeValue) attributes {
	more := attributes{name: v}
	for n, w := range it {
		if n != name {
			more[n] = w
		}
	}
	return more
}

// condition is a condition of a write.
type condition struct {
	text   string
	names  map[string]string
	values attributes
	tell   bool
}

func (c condition) expression() *string {
	if c.text == "" {
		return nil
	}
	return &c.text
}

func (c condition) told() types.ReturnValuesOnConditionCheckFailure {
	if c.tell {
		return types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return types.ReturnValuesOnConditionCheckFailureNone
}

// absent is the condition that there is no item.
var absent = condition{text: "attribute_not_exists(pk)"}

func (w *world) put(it attributes, c condition) error {
	_, err := w.client.PutItem(w.Context(), &dynamodb.PutItemInput{
		TableName: &w.ranged, Item: it,
		ConditionExpression: c.expression(), ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
		ReturnValuesOnConditionCheckFailure: c.told(),
	})
	return err
}

func (w *world) mustPut(items ...attributes) {
	w.Helper()
	for _, it := range items {
		require.NoError(w, w.put(it, condition{}))
	}
}

func (w *world) get(k attributes) attributes {
	w.Helper()
	out, err := w.client.GetItem(w.Context(), &dynamodb.GetItemInput{TableName: &w.ranged, Key: k, ConsistentRead: aws.Bool(true)})
	require.NoError(w, err)
	return out.Item
}

// putOp, deleteOp and checkOp are operations of transactions on the ranged table.
func (w *world) putOp(it attributes, c condition) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &w.ranged, Item: it,
		ConditionExpression: c.expression(), ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
		ReturnValuesOnConditionCheckFailure: c.told(),
	}}
}

func (w *world) deleteOp(k attributes) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: &types.Delete{TableName: &w.ranged, Key: k}}
}

func (w *world) checkOp(k attributes, c condition) types.TransactWriteItem {
	return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &w.ranged, Key: k,
		ConditionExpression: c.expression(), ExpressionAttributeNames: c.names, ExpressionAttributeValues: c.values,
		ReturnValuesOnConditionCheckFailure: c.told(),
	}}
}

func (w *world) transact(token string, ops ...types.TransactWriteItem) error {
	in := &dynamodb.TransactWriteItemsInput{TransactItems: ops}
	if token != "" {
		in.ClientRequestToken = &token
	}
	_, err := w.client.TransactWriteItems(w.Context(), in)
	return err
}

// queryOf is a consistent query of a hash key in the ranged table.
func (w *world) queryOf(hash string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &w.ranged, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#b = :b"),
		ExpressionAttributeNames:  map[string]string{"#b": "bucket"},
		ExpressionAttributeValues: attributes{":b": text(hash)},
	}
}

// where adds a condition on the range key.
func where(in *dynamodb.QueryInput, rng string, values ...string) *dynamodb.QueryInput {
	in.KeyConditionExpression = aws.String("#b = :b AND " + rng)
	for i, v := range values {
		in.ExpressionAttributeValues[fmt.Sprintf(":%d", i)] = text(v)
	}
	return in
}

// ranges are the range keys of items.
func ranges(items []attributes) string {
	keys := []string{}
	for _, it := range items {
		keys = append(keys, it["pk"].(*types.AttributeValueMemberS).Value)
	}
	return strings.Join(keys, " ")
}

func (w *world) query(in *dynamodb.QueryInput) *dynamodb.QueryOutput {
	w.Helper()
	out, err := w.client.Query(w.Context(), in)
	require.NoError(w, err)
	return out
}

// refused holds that an error has the code and that its message has the part.
func refused(t testing.TB, err error, code, part string) {
	t.Helper()
	var api smithy.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, code, api.ErrorCode(), "%v", err)
	require.Contains(t, api.ErrorMessage(), part)
}

// invalid holds that a request was refused with a ValidationException.
func invalid(t testing.TB, err error, part string) {
	t.Helper()
	refused(t, err, "ValidationException", part)
}

// reasons are the codes of a cancelled transaction.
func reasons(t testing.TB, err error) (codes []string, items []attributes) {
	t.Helper()
	var cancelled *types.TransactionCanceledException
	require.ErrorAs(t, err, &cancelled)
	for _, r := range cancelled.CancellationReasons {
		codes = append(codes, aws.ToString(r.Code))
		items = append(items, r.Item)
	}
	return codes, items
}

// fact is a subtest with a hash key of its own.
func (w *world) fact(name string, check func(w *world, hash string)) {
	w.Run(name, func(t *testing.T) {
		own := *w
		own.T = t
		check(&own, "h-"+t.Name())
	})
}
