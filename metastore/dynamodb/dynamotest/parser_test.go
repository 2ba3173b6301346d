// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"errors"
	"testing"
)

// FuzzCondition holds that any expression either is refused with a
// ValidationException or can be evaluated on any item.
func FuzzCondition(f *testing.F) {
	for _, seed := range []string{
		"attribute_not_exists(pk)", "NOT (a = :v AND size(#n) >= :v) OR b.c[2].d IN (:v, :w)", "begins_with(a, :v) AND contains(a, :w)",
		"a BETWEEN :v AND :w", "((a = :v))", "size(size(a)) = :v", "a[", "#", "a..b", "(", "a[99999999999999999999] = :v", "not not not a = b",
	} {
		f.Add(seed, "text")
	}
	f.Fuzz(func(t *testing.T, expression, content string) {
		literal := value{kind: "S", text: content}
		refs := &placeholders{
			names:  map[string]string{"#n": content},
			values: map[string]value{":v": literal, ":w": {kind: "L", list: []value{literal}}},
		}
		c, err := parseCondition("ConditionExpression", &expression, refs)
		if err != nil {
			var api *apiError
			if !errors.As(err, &api) || api.kind != "ValidationException" {
				t.Fatalf("%q: %v", expression, err)
			}
			return
		}
		nested := item{"c": {kind: "L", list: []value{literal, literal, {kind: "M", fields: item{"d": literal}}}}}
		holds := c.holds(item{"a": literal, "b": {kind: "M", fields: nested}, content: literal})
		if holds == (notNode{c}).holds(item{"a": literal, "b": {kind: "M", fields: nested}, content: literal}) {
			t.Fatalf("%q and its negation are both %t", expression, holds)
		}
	})
}

// FuzzNumber holds that the normal form of a number is one, and equal to it.
func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"0", "-0.0", "1e125", "9.9e-130", "00012.3400", ".5", "5.", "1e-131", "--1", "1e99999", "123456789012345678901234567890123456789"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		normal, err := normalNumber(text)
		if err != nil {
			return
		}
		again, err := normalNumber(normal)
		if err != nil || again != normal {
			t.Fatalf("%q is %q is %q, %v", text, normal, again, err)
		}
		if rational(text).Cmp(rational(normal)) != 0 {
			t.Fatalf("%q is not %q", text, normal)
		}
	})
}
