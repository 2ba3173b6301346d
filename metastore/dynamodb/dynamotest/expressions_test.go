// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

// subject is the item that conditions are tried on.
func subject(hash string) attributes {
	it := key(hash, "k")
	it["txt"] = text("hello")
	it["num"] = number("10")
	it["bin"] = binary(1, 2, 3)
	it["nil"] = &types.AttributeValueMemberNULL{Value: true}
	it["yes"] = &types.AttributeValueMemberBOOL{Value: true}
	it["lst"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{number("1"), text("two")}}
	it["tree"] = &types.AttributeValueMemberM{Value: attributes{"leaf": text("green")}}
	return it
}

// literals are the values of the conditions below.
var literals = attributes{
	":hello": text("hello"), ":hell": text("hell"), ":z": text("z"), ":a": text("a"), ":n9": number("9"), ":n10": number("10.0"), ":n11": number("1.1e1"),
	":bin": binary(1, 2, 3), ":bin1": binary(1), ":yes": &types.AttributeValueMemberBOOL{Value: true}, ":nil": &types.AttributeValueMemberNULL{Value: true},
	":n2": number("2"), ":n5": number("5"), ":S": text("S"), ":two": text("two"), ":green": text("green"), ":none": binary(),
	":text10": text("10"), ":hellobytes": binary([]byte("hello")...),
}

// used are the literals that an expression has.
func used(expression string) attributes {
	var values attributes
	for name, v := range literals {
		for _, word := range strings.FieldsFunc(expression, func(r rune) bool { return strings.ContainsRune(" (),=<>", r) }) {
			if word == name {
				if values == nil {
					values = attributes{}
				}
				values[name] = v
			}
		}
	}
	return values
}

func TestConditions(t *testing.T) {
	w := service(t)
	for expression, want := range map[string]bool{
		"txt = :hello":                                true,
		"txt = :hell":                                 false,
		"txt = :n10":                                  false,
		"num = :n10":                                  true,
		"num < :n11":                                  true,
		"num < :n9":                                   false,
		"num <= :n10 AND num >= :n10":                 true,
		"num > :a":                                    false,
		"bin = :bin":                                  true,
		"bin <> :bin":                                 false,
		"bin > :bin1":                                 true,
		"bin = :none":                                 false,
		"yes = :yes AND nil = :nil":                   true,
		"num = :text10":                               false,
		"txt = :hellobytes":                           false,
		"num <> :text10":                              true,
		"txt <> :n10":                                 true,
		"gone <> :hello":                              true,
		"gone = :hello":                               false,
		"gone < :hello":                               false,
		"NOT gone < :hello":                           true,
		"txt BETWEEN :a AND :z":                       true,
		"txt BETWEEN :a AND :hell":                    false,
		"num IN (:n9, :n10)":                          true,
		"num IN (:n9, :n11)":                          false,
		"attribute_exists(nil)":                       true,
		"attribute_exists(gone)":                      false,
		"attribute_not_exists(gone)":                  true,
		"attribute_type(txt, :S)":                     true,
		"attribute_type(num, :S)":                     false,
		"begins_with(txt, :hell)":                     true,
		"begins_with(txt, :z)":                        false,
		"begins_with(bin, :bin1)":                     true,
		"begins_with(num, :hell)":                     false,
		"contains(txt, :hell)":                        true,
		"contains(lst, :two)":                         true,
		"contains(lst, :green)":                       false,
		"size(txt) = :n5":                             true,
		"size(lst) = :n2":                             true,
		"size(bin) > :n5":                             false,
		"size(num) = :n2":                             false,
		"tree.leaf = :green":                          true,
		"tree.root = :green":                          false,
		"lst[1] = :two":                               true,
		"lst[2] = :two":                               false,
		"txt = :z OR txt = :hello AND num = :n10":     true,
		"(txt = :hello OR txt = :z) AND num = :n9":    false,
		"txt = :hello or txt = :z and num = :n9":      true,
		"NOT txt = :z AND NOT (num = :n9 OR num=:n2)": true,
	} {
		w.fact(expression, func(w *world, hash string) {
			it := subject(hash)
			w.mustPut(it)
			err := w.put(it, condition{text: expression, values: used(expression)})
			if want {
				require.NoError(w, err)
			} else {
				refused(w, err, "ConditionalCheckFailedException", "The conditional request failed")
			}
		})
	}
}

func TestConditionsThatAreNone(t *testing.T) {
	w := service(t)
	for _, bad := range []struct {
		name, text string
		names      map[string]string
		values     attributes
		part       string
	}{
		{"the empty expression", " ", nil, nil, "can not be empty"},
		{"a bare name", "txt", nil, nil, "Syntax error"},
		{"a word too many", "txt = :v txt", nil, attributes{":v": text("x")}, "Syntax error"},
		{"an unknown sign", "txt = :v !", nil, attributes{":v": text("x")}, "Syntax error"},
		{"an open parenthesis", "(txt = :v", nil, attributes{":v": text("x")}, "Syntax error"},
		{"parentheses twice", "((txt = :v))", nil, attributes{":v": text("x")}, "redundant parentheses"},
		{"an unknown function", "exists(txt)", nil, nil, "Invalid function name"},
		{"a function in capitals", "ATTRIBUTE_EXISTS(txt)", nil, nil, "Invalid function name"},
		{"a function with an operand too many", "attribute_exists(txt, num)", nil, nil, "Incorrect number of operands"},
		{"size as a condition", "size(txt)", nil, nil, ""},
		{"a condition as a value", "attribute_exists(txt) = :v", nil, attributes{":v": text("x")}, ""},
		{"a value where a path is needed", "attribute_exists(:v)", nil, attributes{":v": text("x")}, "requires a document path"},
		{"an order of booleans", "txt < :v", nil, attributes{":v": &types.AttributeValueMemberBOOL{Value: true}}, "Incorrect operand type"},
		{"a prefix that is a number", "begins_with(txt, :v)", nil, attributes{":v": number("1")}, "Incorrect operand type"},
		{"the size of a number", "size(:v) = :v", nil, attributes{":v": number("1")}, "Incorrect operand type"},
		{"bounds of two types", "txt BETWEEN :v AND :w", nil, attributes{":v": text("x"), ":w": number("1")}, "same data type"},
		{"bounds the wrong way round", "txt BETWEEN :v AND :w", nil, attributes{":v": text("x"), ":w": text("a")}, "upper bound to be greater than or equal"},
		{"an operand with itself", "txt = txt", nil, nil, "must be distinct"},
		{"a value without definition", "txt = :v", nil, attributes{":w": text("x")}, "attribute value used in expression is not defined"},
		{"a name without definition", "#t = :v", nil, attributes{":v": text("x")}, "attribute name used in the document path is not defined"},
		{"a value that is not used", "attribute_exists(txt)", nil, attributes{":v": text("x")}, "unused in expressions"},
		{"a name that is not used", "attribute_exists(txt)", map[string]string{"#t": "txt"}, nil, "unused in expressions"},
		{"values without expression", "", nil, attributes{":v": text("x")}, "can only be specified when using expressions"},
		{"no values at all", "attribute_exists(txt)", nil, attributes{}, "must not be empty"},
		{"a placeholder without mark", "attribute_exists(txt)", map[string]string{"t": "txt"}, nil, "invalid key"},
		{"more than 4 KB", "attribute_exists(" + strings.Repeat("x", 4<<10) + ")", nil, nil, "exceeded the maximum allowed size"},
	} {
		w.fact(bad.name, func(w *world, hash string) {
			err := w.put(subject(hash), condition{text: bad.text, names: bad.names, values: bad.values})
			invalid(w, err, bad.part)
			require.Nil(w, w.get(key(hash, "k")))
		})
	}
	for _, word := range []string{"bucket", "value", "values", "key", "name", "status", "count", "token", "ttl", "Range", "HASH", "zone"} {
		w.fact("the reserved word "+word, func(w *world, hash string) {
			it := subject(hash)
			invalid(w, w.put(it, condition{text: "attribute_not_exists(" + word + ")"}), "reserved keyword: "+word)
			require.NoError(w, w.put(it, condition{text: "attribute_not_exists(#w)", names: map[string]string{"#w": word}}))
		})
	}
	for _, word := range []string{"pk", "val", "sk"} {
		w.fact("the word that is not reserved: "+word, func(w *world, hash string) {
			require.NoError(w, w.put(subject(hash), condition{text: "attribute_not_exists(" + word + ")"}))
		})
	}
	w.fact("more than 300 operators", func(w *world, hash string) {
		enough := "attribute_not_exists(a)" + strings.Repeat(" OR yes=nil", 149)
		require.NoError(w, w.put(subject(hash), condition{text: enough}))
		invalid(w, w.put(subject(hash), condition{text: enough + " OR yes=nil"}), "too many operators")
	})
}

func TestKeyConditions(t *testing.T) {
	w := service(t)
	all := "A a ab abc b é 漢 😀"
	for _, rng := range strings.Fields(all) {
		w.mustPut(with(key("h", rng), "val", text("v")))
	}
	w.mustPut(key("other", "a"))
	for _, c := range []struct {
		text   string
		values []string
		want   string
	}{
		{"pk >= :0", []string{"A"}, all},
		{"pk = :0", []string{"ab"}, "ab"},
		{"pk < :0", []string{"ab"}, "A a"},
		{"pk <= :0", []string{"ab"}, "A a ab"},
		{"pk > :0", []string{"b"}, "é 漢 😀"},
		{"pk BETWEEN :0 AND :1", []string{"a", "b"}, "a ab abc b"},
		{"begins_with(pk, :0)", []string{"a"}, "a ab abc"},
		{"begins_with ( pk , :0 )", []string{"漢"}, "漢"},
		{"(pk > :0)", []string{"漢"}, "😀"},
	} {
		w.fact(c.text, func(w *world, _ string) {
			out := w.query(where(w.queryOf("h"), c.text, c.values...))
			require.Equal(w, c.want, ranges(out.Items))
			require.EqualValues(w, len(strings.Fields(c.want)), out.ScannedCount)
			require.Nil(w, out.LastEvaluatedKey)
		})
	}
	w.fact("the hash key alone, in either order", func(w *world, _ string) {
		require.Equal(w, all, ranges(w.query(w.queryOf("h")).Items))
		in := w.queryOf("h")
		in.KeyConditionExpression, in.ExpressionAttributeValues[":0"] = aws.String("pk < :0 AND #b = :b"), text("a")
		require.Equal(w, "A", ranges(w.query(in).Items))
	})
}

func TestKeyConditionsThatAreNone(t *testing.T) {
	w := service(t)
	base := attributes{":b": text("h"), ":0": text("x"), ":1": text("z")}
	for _, bad := range []struct {
		text   string
		values attributes
		part   string
	}{
		{"pk = :0", nil, "missed key schema element: bucket"},
		{"#b > :b", nil, "Query key condition not supported"},
		{"begins_with(#b, :b)", nil, "Query key condition not supported"},
		{"#b = :b AND pk <> :0", nil, "Invalid operator used in KeyConditionExpression"},
		{"#b = :b OR pk = :0", nil, "Invalid operator used in KeyConditionExpression: OR"},
		{"#b = :b AND NOT pk = :0", nil, "Invalid operator used in KeyConditionExpression: NOT"},
		{"#b = :b AND pk IN (:0)", nil, "Invalid operator used in KeyConditionExpression"},
		{"#b = :b AND attribute_exists(pk)", nil, "Invalid operator used in KeyConditionExpression"},
		{"#b = :b AND pk > :0 AND pk < :1", nil, "one condition per key"},
		{"#b = :b AND val = :0", nil, "missed key schema element"},
		{"#b = :b AND pk = :0", attributes{":0": number("1")}, "type does not match schema type"},
		{"#b = :b", attributes{":b": binary(1)}, "type does not match schema type"},
		{"#b = :b AND begins_with(pk, :0)", attributes{":0": text("")}, "cannot contain an empty string"},
		{"#b = :b AND pk > :0", attributes{":0": text("")}, "cannot contain an empty string"},
		{"bucket = :b", nil, "reserved keyword: bucket"},
	} {
		w.fact(bad.text, func(w *world, _ string) {
			in := w.queryOf("h")
			in.KeyConditionExpression, in.ExpressionAttributeValues = &bad.text, attributes{}
			for name, v := range base {
				if strings.Contains(bad.text, name) {
					in.ExpressionAttributeValues[name] = v
				}
			}
			for name, v := range bad.values {
				in.ExpressionAttributeValues[name] = v
			}
			if !strings.Contains(bad.text, "#b") {
				in.ExpressionAttributeNames = nil
			}
			_, err := w.client.Query(w.Context(), in)
			invalid(w, err, bad.part)
		})
	}
	for _, filter := range []string{"attribute_exists(pk)", "val = :f OR pk = :f", "NOT #b = :f", "val = :f AND pk BETWEEN :f AND :f", "pk IN (:f)", "size(pk) > val AND val = :f"} {
		w.fact("the filter "+filter, func(w *world, _ string) {
			in := w.queryOf("h")
			in.FilterExpression = &filter
			if strings.Contains(filter, ":f") {
				in.ExpressionAttributeValues[":f"] = text("x")
			}
			_, err := w.client.Query(w.Context(), in)
			invalid(w, err, "non-primary key attributes")
		})
	}
	w.fact("no condition", func(w *world, _ string) {
		_, err := w.client.Query(w.Context(), &dynamodb.QueryInput{TableName: &w.ranged})
		invalid(w, err, "must be specified")
	})
}

func TestProjections(t *testing.T) {
	w := service(t)
	w.mustPut(subject("h"))
	read := func(expression string, names map[string]string) (attributes, error) {
		out, err := w.client.GetItem(t.Context(), &dynamodb.GetItemInput{
			TableName: &w.ranged, Key: key("h", "k"), ConsistentRead: aws.Bool(true),
			ProjectionExpression: &expression, ExpressionAttributeNames: names,
		})
		if err != nil {
			return nil, err
		}
		return out.Item, nil
	}
	got, err := read("txt, #b, gone", map[string]string{"#b": "bucket"})
	require.NoError(t, err)
	require.Equal(t, attributes{"txt": text("hello"), "bucket": text("h")}, got)
	_, err = read("bucket", nil)
	invalid(t, err, "reserved keyword")
	_, err = read("txt, txt", nil)
	invalid(t, err, "overlap")
	_, err = read("txt,", nil)
	invalid(t, err, "Syntax error")
	_, err = read("txt", map[string]string{"#b": "bucket"})
	invalid(t, err, "unused in expressions")
}
