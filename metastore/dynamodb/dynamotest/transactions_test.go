// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

func TestTransactions(t *testing.T) {
	w := service(t)
	w.fact("it writes to several tables at once", func(w *world, hash string) {
		w.mustPut(key(hash, "old"))
		other := types.TransactWriteItem{Put: &types.Put{TableName: &w.plain, Item: attributes{"pk": text(hash)}}}
		require.NoError(w, w.transact("", w.putOp(key(hash, "new"), absent), w.deleteOp(key(hash, "old")), other))
		require.Equal(w, "new", ranges(w.query(w.queryOf(hash)).Items))
		out, err := w.client.GetItem(w.Context(), &dynamodb.GetItemInput{TableName: &w.plain, Key: attributes{"pk": text(hash)}, ConsistentRead: aws.Bool(true)})
		require.NoError(w, err)
		require.NotNil(w, out.Item)
	})
	w.fact("one failed condition cancels it, with a reason for each item in order", func(w *world, hash string) {
		held := with(key(hash, "held"), "val", binary(1, 2))
		w.mustPut(held, key(hash, "kept"), key(hash, "there"))
		err := w.transact("",
			w.putOp(key(hash, "new"), condition{}),
			w.checkOp(key(hash, "held"), condition{text: "val = :v", values: attributes{":v": binary(1)}, tell: true}),
			w.deleteOp(key(hash, "kept")),
			w.putOp(key(hash, "there"), absent),
			w.checkOp(key(hash, "none"), condition{text: "attribute_exists(pk)", tell: true}),
		)
		codes, items := reasons(w, err)
		require.Equal(w, []string{"None", "ConditionalCheckFailed", "None", "ConditionalCheckFailed", "ConditionalCheckFailed"}, codes)
		require.Equal(w, []attributes{nil, held, nil, nil, nil}, items)
		require.Equal(w, "held kept there", ranges(w.query(w.queryOf(hash)).Items))
	})
	w.fact("conditions see the state before it", func(w *world, hash string) {
		w.mustPut(key(hash, "a"))
		err := w.transact("", w.deleteOp(key(hash, "a")), w.checkOp(key(hash, "b"), absent), w.putOp(key(hash, "c"), absent))
		require.NoError(w, err)
		require.Equal(w, "c", ranges(w.query(w.queryOf(hash)).Items))
	})
	w.fact("it has one operation an item", func(w *world, hash string) {
		err := w.transact("", w.putOp(key(hash, "a"), condition{}), w.checkOp(key(hash, "a"), absent))
		invalid(w, err, "cannot include multiple operations on one item")
	})
	w.fact("it has 1 to 100 operations", func(w *world, hash string) {
		var ops []types.TransactWriteItem
		for i := range 101 {
			ops = append(ops, w.putOp(key(hash, fmt.Sprint(i)), condition{}))
		}
		invalid(w, w.transact("", ops...), "less than or equal to 100")
		require.NoError(w, w.transact("", ops[:100]...))
		_, err := w.client.TransactWriteItems(w.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{}})
		invalid(w, err, "greater than or equal to 1")
	})
	w.fact("it has 4 MB at most", func(w *world, hash string) {
		var ops []types.TransactWriteItem
		for i := range 12 {
			ops = append(ops, w.putOp(with(key(hash, fmt.Sprint(i)), "val", binary(make([]byte, 390<<10)...)), condition{}))
		}
		invalid(w, w.transact("", ops...), "")
		require.NoError(w, w.transact("", ops[:10]...))
	})
	w.fact("each operation is one of four", func(w *world, hash string) {
		both := w.putOp(key(hash, "a"), condition{})
		both.Delete = w.deleteOp(key(hash, "b")).Delete
		invalid(w, w.transact("", both), "one of Check, Put, Update or Delete")
		invalid(w, w.transact("", types.TransactWriteItem{}), "one of Check, Put, Update or Delete")
	})
	w.fact("a check has a condition", func(w *world, hash string) {
		require.Error(w, w.transact("", w.checkOp(key(hash, "a"), condition{})))
	})
	w.fact("a table that is not there fails it as a whole", func(w *world, hash string) {
		op := w.putOp(key(hash, "a"), condition{})
		op.Put.TableName = aws.String("lake-no-such-table")
		refused(w, w.transact("", w.putOp(key(hash, "b"), condition{}), op), "ResourceNotFoundException", "")
	})
	w.fact("a bad expression fails it as a whole", func(w *world, hash string) {
		invalid(w, w.transact("", w.putOp(key(hash, "a"), condition{text: "attribute_exists(bucket)"})), "reserved keyword: bucket")
	})
	w.fact("an empty key fails it as a whole, one of a wrong type is a reason", func(w *world, hash string) {
		good := w.putOp(key(hash, "a"), condition{})
		invalid(w, w.transact("", good, w.putOp(key(hash, ""), condition{})), "cannot contain an empty string value")
		invalid(w, w.transact("", good, w.deleteOp(key("", "x"))), "cannot contain an empty string value")
		for _, op := range []types.TransactWriteItem{
			w.putOp(attributes{"bucket": text(hash), "pk": number("1")}, condition{}),
			w.deleteOp(attributes{"bucket": text(hash), "pk": number("1")}),
		} {
			codes, _ := reasons(w, w.transact("", good, op))
			require.Equal(w, []string{"None", "ValidationError"}, codes)
		}
		require.Nil(w, w.get(key(hash, "a")))
	})
	w.fact("it writes at twice the price", func(w *world, hash string) {
		out, err := w.client.TransactWriteItems(w.Context(), &dynamodb.TransactWriteItemsInput{
			TransactItems:          []types.TransactWriteItem{w.putOp(with(key(hash, "a"), "val", binary(make([]byte, 1500)...)), condition{}), w.checkOp(key(hash, "b"), absent)},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		require.NoError(w, err)
		require.Equal(w, 6.0, aws.ToFloat64(out.ConsumedCapacity[0].CapacityUnits))
	})
}

func TestRequestTokens(t *testing.T) {
	w := service(t)
	token := func(name string) string { return fmt.Sprintf("%.36s", name+w.ranged[len("lake-check-"):]) }
	w.fact("the same request again succeeds and is not applied", func(w *world, hash string) {
		// Its maps are written in another order each time.
		op := w.putOp(with(subject(hash), "pk", text("a")), absent)
		for range 8 {
			require.NoError(w, w.transact(token("a"), op))
		}
		_, err := w.client.DeleteItem(w.Context(), &dynamodb.DeleteItemInput{TableName: &w.ranged, Key: key(hash, "a")})
		require.NoError(w, err)
		require.NoError(w, w.transact(token("a"), op))
		require.Nil(w, w.get(key(hash, "a")))
	})
	w.fact("another request with the token is refused", func(w *world, hash string) {
		require.NoError(w, w.transact(token("b"), w.putOp(key(hash, "a"), condition{})))
		err := w.transact(token("b"), w.putOp(key(hash, "b"), condition{}))
		refused(w, err, "IdempotentParameterMismatchException", "")
	})
	w.fact("a token whose transaction was cancelled is free", func(w *world, hash string) {
		w.mustPut(key(hash, "a"))
		op := w.putOp(key(hash, "a"), absent)
		_, _ = reasons(w, w.transact(token("c"), op))
		_, err := w.client.DeleteItem(w.Context(), &dynamodb.DeleteItemInput{TableName: &w.ranged, Key: key(hash, "a")})
		require.NoError(w, err)
		require.NoError(w, w.transact(token("c"), op))
		require.NotNil(w, w.get(key(hash, "a")))
	})
	w.fact("a token has 36 characters at most", func(w *world, hash string) {
		require.NoError(w, w.transact(fmt.Sprintf("%036d", len(w.Name())), w.putOp(key(hash, "a"), condition{})))
		invalid(w, w.transact(strings.Repeat("x", 37), w.putOp(key(hash, "a"), condition{})), "less than or equal to 36")
	})
}

func TestTransactionalReads(t *testing.T) {
	w := service(t)
	read := func(w *world, keys ...attributes) ([]types.ItemResponse, error) {
		in := &dynamodb.TransactGetItemsInput{}
		for _, k := range keys {
			in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: &w.ranged, Key: k}})
		}
		out, err := w.client.TransactGetItems(w.Context(), in)
		if err != nil {
			return nil, err
		}
		return out.Responses, nil
	}
	w.fact("items come in the order of the request, with gaps", func(w *world, hash string) {
		a := with(key(hash, "a"), "val", text("x"))
		w.mustPut(a)
		got, err := read(w, key(hash, "none"), key(hash, "a"))
		require.NoError(w, err)
		require.Len(w, got, 2)
		require.Empty(w, got[0].Item)
		require.Equal(w, a, got[1].Item)
	})
	w.fact("it has one operation an item", func(w *world, hash string) {
		_, err := read(w, key(hash, "a"), key(hash, "a"))
		invalid(w, err, "cannot include multiple operations on one item")
	})
	w.fact("it has 100 operations at most", func(w *world, hash string) {
		keys := make([]attributes, 101)
		for i := range keys {
			keys[i] = key(hash, fmt.Sprint(i))
		}
		_, err := read(w, keys...)
		invalid(w, err, "less than or equal to 100")
		_, err = read(w, keys[:100]...)
		require.NoError(w, err)
	})
	w.fact("a key of a wrong type is a reason", func(w *world, hash string) {
		_, err := read(w, key(hash, "a"), attributes{"bucket": text(hash), "pk": number("1")})
		codes, _ := reasons(w, err)
		require.Equal(w, []string{"None", "ValidationError"}, codes)
	})
}
