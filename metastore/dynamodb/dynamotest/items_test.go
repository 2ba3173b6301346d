// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

func TestItems(t *testing.T) {
	w := service(t)
	w.fact("an item comes back as it was put, of every type", func(w *world, hash string) {
		it := subject(hash)
		it["empty"], it["blank"] = binary(), text("")
		it["all bytes"] = binary(bytes.Repeat([]byte{0, 1, 0x7f, 0x80, 0xff, 0xfe}, 50)...)
		w.mustPut(it)
		require.Equal(w, it, w.get(key(hash, "k")))
	})
	w.fact("numbers lose their form, not their value", func(w *world, hash string) {
		for in, want := range map[string]string{
			"1.0": "1", "-0.50": "-0.5", "1e3": "1000", "12E-4": "0.0012", "000": "0", "-0": "0", "+7": "7",
			"12345678901234567890123456789012345678": "12345678901234567890123456789012345678",
		} {
			w.mustPut(with(key(hash, "k"), "n", number(in)))
			require.Equal(w, number(want), w.get(key(hash, "k"))["n"], in)
		}
		for _, in := range []string{"", ".", "one", "1e126", "1e-131", "1.2.3", "123456789012345678901234567890123456789"} {
			invalid(w, w.put(with(key(hash, "k"), "n", number(in)), condition{}), "")
		}
	})
	w.fact("a put replaces the whole item", func(w *world, hash string) {
		w.mustPut(subject(hash), with(key(hash, "k"), "val", text("x")))
		require.Equal(w, with(key(hash, "k"), "val", text("x")), w.get(key(hash, "k")))
	})
	w.fact("an item that is not there is nil, and deleting it succeeds", func(w *world, hash string) {
		require.Nil(w, w.get(key(hash, "k")))
		_, err := w.client.DeleteItem(w.Context(), &dynamodb.DeleteItemInput{TableName: &w.ranged, Key: key(hash, "k")})
		require.NoError(w, err)
	})
	w.fact("ALL_OLD returns the item before", func(w *world, hash string) {
		old := with(key(hash, "k"), "val", text("1"))
		put := func(it attributes) attributes {
			out, err := w.client.PutItem(w.Context(), &dynamodb.PutItemInput{TableName: &w.ranged, Item: it, ReturnValues: types.ReturnValueAllOld})
			require.NoError(w, err)
			return out.Attributes
		}
		require.Nil(w, put(old))
		require.Equal(w, old, put(with(old, "val", text("2"))))
		out, err := w.client.DeleteItem(w.Context(), &dynamodb.DeleteItemInput{TableName: &w.ranged, Key: key(hash, "k"), ReturnValues: types.ReturnValueAllOld})
		require.NoError(w, err)
		require.Equal(w, with(old, "val", text("2")), out.Attributes)
		require.Nil(w, w.get(key(hash, "k")))
	})
	w.fact("a failed condition tells the item if it is asked to", func(w *world, hash string) {
		it := with(key(hash, "k"), "val", binary(7))
		w.mustPut(it)
		for _, tell := range []bool{true, false} {
			c := condition{text: "val = :v", values: attributes{":v": binary(8)}, tell: tell}
			_, deleteErr := w.client.DeleteItem(w.Context(), &dynamodb.DeleteItemInput{
				TableName: &w.ranged, Key: key(hash, "k"), ConditionExpression: &c.text, ExpressionAttributeValues: c.values,
				ReturnValuesOnConditionCheckFailure: c.told(),
			})
			for _, err := range []error{w.put(it, c), deleteErr} {
				var failed *types.ConditionalCheckFailedException
				require.ErrorAs(w, err, &failed)
				if tell {
					require.Equal(w, it, failed.Item)
				} else {
					require.Nil(w, failed.Item)
				}
			}
		}
		var failed *types.ConditionalCheckFailedException
		require.ErrorAs(w, w.put(key(hash, "none"), condition{text: "attribute_exists(pk)", tell: true}), &failed)
		require.Nil(w, failed.Item)
	})
	w.fact("a table with a hash key alone", func(w *world, hash string) {
		it := attributes{"pk": text(hash), "val": binary(1)}
		_, err := w.client.PutItem(w.Context(), &dynamodb.PutItemInput{TableName: &w.plain, Item: it})
		require.NoError(w, err)
		out, err := w.client.GetItem(w.Context(), &dynamodb.GetItemInput{TableName: &w.plain, Key: attributes{"pk": text(hash)}, ConsistentRead: aws.Bool(true)})
		require.NoError(w, err)
		require.Equal(w, it, out.Item)
	})
	w.fact("the cost is told when it is asked for", func(w *world, hash string) {
		out, err := w.client.PutItem(w.Context(), &dynamodb.PutItemInput{
			TableName: &w.ranged, Item: with(key(hash, "k"), "val", binary(make([]byte, 1500)...)), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		require.NoError(w, err)
		require.Equal(w, 2.0, aws.ToFloat64(out.ConsumedCapacity.CapacityUnits))
		read, err := w.client.GetItem(w.Context(), &dynamodb.GetItemInput{TableName: &w.ranged, Key: key(hash, "k"), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal})
		require.NoError(w, err)
		require.Equal(w, 0.5, aws.ToFloat64(read.ConsumedCapacity.CapacityUnits))
	})
}

func TestKeysAndSizes(t *testing.T) {
	w := service(t)
	get := func(w *world, k attributes) error {
		_, err := w.client.GetItem(w.Context(), &dynamodb.GetItemInput{TableName: &w.ranged, Key: k})
		return err
	}
	w.fact("an item needs both key attributes, of type S", func(w *world, hash string) {
		invalid(w, w.put(attributes{"bucket": text(hash)}, condition{}), "Missing the key pk in the item")
		invalid(w, w.put(attributes{"bucket": text(hash), "pk": binary(1)}, condition{}), "Type mismatch for key pk expected: S actual: B")
	})
	w.fact("a key has the key attributes and no other", func(w *world, hash string) {
		for _, k := range []attributes{{"bucket": text(hash)}, with(key(hash, "k"), "val", text("x")), {"bucket": text(hash), "pk": number("1")}, {"bucket": text(hash), "sk": text("x")}} {
			invalid(w, get(w, k), "does not match the schema")
		}
	})
	w.fact("no key is empty", func(w *world, hash string) {
		for _, k := range []attributes{key("", "k"), key(hash, "")} {
			invalid(w, w.put(k, condition{}), "cannot contain an empty string value")
			invalid(w, get(w, k), "cannot contain an empty string value")
		}
	})
	w.fact("a hash key has 2048 bytes at most", func(w *world, _ string) {
		longest := strings.Repeat("é", 1024)
		require.NoError(w, w.put(key(longest, "k"), condition{}))
		invalid(w, w.put(key(longest+"x", "k"), condition{}), "")
		invalid(w, get(w, key(longest+"x", "k")), "")
	})
	w.fact("a range key has 1024 bytes at most", func(w *world, hash string) {
		longest := strings.Repeat("é", 512)
		require.NoError(w, w.put(key(hash, longest), condition{}))
		invalid(w, w.put(key(hash, longest+"x"), condition{}), "")
		invalid(w, get(w, key(hash, longest+"x")), "")
	})
	w.fact("an item has 400 KB at most, with its names", func(w *world, hash string) {
		names := len("bucket") + len("pk") + len("val") + len(hash) + len("k")
		fill := func(n int) attributes { return with(key(hash, "k"), "val", binary(make([]byte, n)...)) }
		require.NoError(w, w.put(fill(400<<10-names), condition{}))
		invalid(w, w.put(fill(400<<10-names+1), condition{}), "Item size has exceeded the maximum allowed size")
		invalid(w, w.transact("", w.putOp(fill(400<<10-names+1), condition{})), "Item size has exceeded the maximum allowed size")
	})
	w.fact("values are nested 32 levels at most", func(w *world, hash string) {
		nest := func(levels int) attributes {
			v := text("x")
			for range levels {
				v = &types.AttributeValueMemberL{Value: []types.AttributeValue{v}}
			}
			return with(key(hash, "k"), "val", v)
		}
		require.NoError(w, w.put(nest(31), condition{}))
		invalid(w, w.put(nest(34), condition{}), "Nesting Levels")
	})
	w.fact("no name of an attribute is empty", func(w *world, hash string) {
		invalid(w, w.put(with(key(hash, "k"), "", text("x")), condition{}), "")
	})
}

func TestPages(t *testing.T) {
	w := service(t)
	fill := func(w *world, hash string, n, size int) {
		for i := range n {
			it := with(key(hash, fmt.Sprintf("%02d", i)), "val", binary(make([]byte, size)...))
			w.mustPut(with(it, "odd", number(fmt.Sprint(i%2))))
		}
	}
	w.fact("a page ends at the limit, and the last one may be empty", func(w *world, hash string) {
		fill(w, hash, 4, 1)
		in := w.queryOf(hash)
		in.Limit = aws.Int32(2)
		var pages []string
		for {
			out := w.query(in)
			pages = append(pages, ranges(out.Items))
			if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
				break
			}
		}
		require.Equal(w, []string{"00 01", "02 03", ""}, pages)
	})
	w.fact("a limit above the items ends no page", func(w *world, hash string) {
		fill(w, hash, 2, 1)
		in := w.queryOf(hash)
		in.Limit = aws.Int32(3)
		require.Nil(w, w.query(in).LastEvaluatedKey)
	})
	w.fact("a page ends before 1 MB", func(w *world, hash string) {
		fill(w, hash, 6, 360<<10)
		in := w.queryOf(hash)
		out := w.query(in)
		require.Equal(w, "00 01", ranges(out.Items))
		require.Equal(w, key(hash, "01"), out.LastEvaluatedKey)
		in.Limit = aws.Int32(6)
		require.Equal(w, "00 01", ranges(w.query(in).Items))
		in.Select = types.SelectCount
		require.EqualValues(w, 2, w.query(in).Count, "what is not returned counts as well")
	})
	w.fact("limit and size are of what is evaluated, before the filter", func(w *world, hash string) {
		fill(w, hash, 4, 1)
		in := w.queryOf(hash)
		in.Limit, in.FilterExpression = aws.Int32(1), aws.String("odd = :one")
		in.ExpressionAttributeValues[":one"] = number("1")
		out := w.query(in)
		require.Empty(w, out.Items)
		require.EqualValues(w, 0, out.Count)
		require.EqualValues(w, 1, out.ScannedCount)
		require.Equal(w, key(hash, "00"), out.LastEvaluatedKey)
		in.Limit = nil
		out = w.query(in)
		require.Equal(w, "01 03", ranges(out.Items))
		require.EqualValues(w, 2, out.Count)
		require.EqualValues(w, 4, out.ScannedCount)
		require.Nil(w, out.LastEvaluatedKey)
	})
	w.fact("COUNT returns no items", func(w *world, hash string) {
		fill(w, hash, 3, 1)
		in := w.queryOf(hash)
		in.Select = types.SelectCount
		out := w.query(in)
		require.Nil(w, out.Items)
		require.EqualValues(w, 3, out.Count)
	})
	w.fact("backwards is the other order, from the other end", func(w *world, hash string) {
		fill(w, hash, 4, 1)
		in := where(w.queryOf(hash), "pk < :0", "03")
		in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(2)
		out := w.query(in)
		require.Equal(w, "02 01", ranges(out.Items))
		in.ExclusiveStartKey = out.LastEvaluatedKey
		require.Equal(w, "00", ranges(w.query(in).Items))
	})
	w.fact("the start key need not exist", func(w *world, hash string) {
		fill(w, hash, 3, 1)
		in := w.queryOf(hash)
		in.ExclusiveStartKey = key(hash, "00x")
		require.Equal(w, "01 02", ranges(w.query(in).Items))
	})
	w.fact("the start key has the key attributes and no other", func(w *world, hash string) {
		for _, k := range []attributes{{"bucket": text(hash)}, {"pk": text("x")}, with(key(hash, "k"), "val", text("x")), {"bucket": text(hash), "pk": number("1")}} {
			in := w.queryOf(hash)
			in.ExclusiveStartKey = k
			_, err := w.client.Query(w.Context(), in)
			invalid(w, err, "The provided starting key is invalid")
			_, err = w.client.Scan(w.Context(), &dynamodb.ScanInput{TableName: &w.ranged, ExclusiveStartKey: k})
			invalid(w, err, "The provided starting key is invalid")
		}
	})
	w.fact("the start key is one that the query could return", func(w *world, hash string) {
		for _, k := range []attributes{key("other", "k"), key(hash, "z")} {
			in := where(w.queryOf(hash), "pk < :0", "m")
			in.ExclusiveStartKey = k
			_, err := w.client.Query(w.Context(), in)
			invalid(w, err, "The provided starting key")
		}
	})
	w.fact("what is selected agrees with the projection", func(w *world, hash string) {
		for sel, project := range map[types.Select]*string{
			types.SelectAllAttributes:      aws.String("pk"),
			types.SelectCount:              aws.String("pk"),
			types.SelectSpecificAttributes: nil,
			"EVERYTHING":                   nil,
		} {
			in := w.queryOf(hash)
			in.Select, in.ProjectionExpression = sel, project
			_, err := w.client.Query(w.Context(), in)
			invalid(w, err, "")
		}
	})
	w.fact("a page has the projected attributes", func(w *world, hash string) {
		fill(w, hash, 2, 1)
		in := w.queryOf(hash)
		in.ProjectionExpression = aws.String("pk, odd")
		require.Equal(w, []attributes{{"pk": text("00"), "odd": number("0")}, {"pk": text("01"), "odd": number("1")}}, w.query(in).Items)
	})
	w.fact("a limit is positive", func(w *world, hash string) {
		in := w.queryOf(hash)
		in.Limit = aws.Int32(0)
		_, err := w.client.Query(w.Context(), in)
		invalid(w, err, "greater than or equal to 1")
	})
}

func TestScans(t *testing.T) {
	w := service(t)
	want := map[string]bool{}
	for i := range 20 {
		hash := fmt.Sprintf("h%02d", i)
		for _, rng := range []string{"a", "b", "c"} {
			w.mustPut(key(hash, rng))
			want[hash+"/"+rng] = true
		}
	}
	scan := func(w *world, in *dynamodb.ScanInput) (keys []string) {
		in.TableName, in.ConsistentRead = &w.ranged, aws.Bool(true)
		for {
			out, err := w.client.Scan(w.Context(), in)
			require.NoError(w, err)
			for _, it := range out.Items {
				keys = append(keys, it["bucket"].(*types.AttributeValueMemberS).Value+"/"+ranges([]attributes{it}))
			}
			if in.ExclusiveStartKey = out.LastEvaluatedKey; in.ExclusiveStartKey == nil {
				return keys
			}
		}
	}
	all := func(w *world, keys []string) {
		require.Len(w, keys, len(want))
		for _, k := range keys {
			require.True(w, want[k], k)
		}
	}
	w.fact("a scan returns every item once, whatever its pages", func(w *world, _ string) {
		whole := scan(w, &dynamodb.ScanInput{})
		all(w, whole)
		require.Equal(w, whole, scan(w, &dynamodb.ScanInput{Limit: aws.Int32(7)}))
	})
	w.fact("its order is not that of the hash keys, but is that of the range keys", func(w *world, _ string) {
		whole := scan(w, &dynamodb.ScanInput{})
		require.NotEqual(w, "h00/a", whole[0])
		for i := 0; i < len(whole); i += 3 {
			hash, _, _ := strings.Cut(whole[i], "/")
			require.Equal(w, []string{hash + "/a", hash + "/b", hash + "/c"}, whole[i:i+3])
		}
	})
	w.fact("segments part the table", func(w *world, _ string) {
		var whole []string
		filled := 0
		for i := range int32(4) {
			part := scan(w, &dynamodb.ScanInput{Segment: aws.Int32(i), TotalSegments: aws.Int32(4), Limit: aws.Int32(2)})
			if whole = append(whole, part...); len(part) > 0 {
				filled++
			}
		}
		all(w, whole)
		require.Greater(w, filled, 1)
	})
	w.fact("segments are below their number", func(w *world, _ string) {
		for _, in := range []dynamodb.ScanInput{
			{Segment: aws.Int32(2), TotalSegments: aws.Int32(2)},
			{Segment: aws.Int32(0)},
			{TotalSegments: aws.Int32(2)},
		} {
			in.TableName = &w.ranged
			_, err := w.client.Scan(w.Context(), &in)
			invalid(w, err, "Segment")
		}
	})
	w.fact("a start key is one of its segment", func(w *world, _ string) {
		refusals := 0
		for i := range int32(2) {
			_, err := w.client.Scan(w.Context(), &dynamodb.ScanInput{TableName: &w.ranged, Segment: &i, TotalSegments: aws.Int32(2), ExclusiveStartKey: key("h00", "a")})
			if err != nil {
				invalid(w, err, "The provided starting key is invalid")
				refusals++
			}
		}
		require.Equal(w, 1, refusals)
	})
	w.fact("a scan may filter by keys", func(w *world, _ string) {
		in := &dynamodb.ScanInput{FilterExpression: aws.String("begins_with(#b, :p) AND pk = :a"), ExpressionAttributeNames: map[string]string{"#b": "bucket"}, ExpressionAttributeValues: attributes{":p": text("h1"), ":a": text("a")}}
		require.Len(w, scan(w, in), 10)
	})
}
