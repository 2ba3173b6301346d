// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import "slices"

// interval is a range of texts, from low on and below high. An open one has no
// end.
type interval struct {
	low, high string
	open      bool
}

func (iv interval) below(text string) bool { return !iv.open && text >= iv.high }

// everything is the range of a query that says nothing about range keys.
var everything = interval{open: true}

// after is the least text above s.
func after(s string) string { return s + "\x00" }

// beginning is the range of the texts that begin with a prefix.
func beginning(prefix string) interval {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) == 0 {
		return interval{low: prefix, open: true}
	}
	end[len(end)-1]++
	return interval{low: prefix, high: string(end)}
}

// compared is the range of the texts that stand in a relation to s.
func compared(op, s string) interval {
	switch op {
	case "<":
		return interval{high: s}
	case "<=":
		return interval{high: after(s)}
	case ">":
		return interval{low: after(s), open: true}
	case ">=":
		return interval{low: s, open: true}
	}
	return interval{low: s, high: after(s)}
}

// keyCondition is what a KeyConditionExpression asks for.
type keyCondition struct {
	hash   string
	ranges interval
}

// keyTerm is one condition on one attribute.
type keyTerm struct {
	name   string
	equal  bool
	ranges interval
}

// keyConditionOf reads a KeyConditionExpression: an equality on the hash key, and
// at most one condition on the range key.
func keyConditionOf(t *table, c condition) (keyCondition, error) {
	terms, err := keyTerms(t, c)
	if err != nil {
		return keyCondition{}, err
	}
	result, seen := keyCondition{ranges: everything}, map[string]bool{}
	for _, term := range terms {
		if seen[term.name] {
			return keyCondition{}, invalid("KeyConditionExpressions must only contain one condition per key")
		}
		seen[term.name] = true
		switch {
		case term.name == t.rangeName:
			result.ranges = term.ranges
		case term.name != t.hashName:
			return keyCondition{}, invalid("Query condition missed key schema element: %s", t.missed(seen))
		case !term.equal:
			return keyCondition{}, invalid("Query key condition not supported")
		default:
			result.hash = term.ranges.low
		}
	}
	if !seen[t.hashName] {
		return keyCondition{}, invalid("Query condition missed key schema element: %s", t.hashName)
	}
	return result, nil
}

// missed is the first key attribute without a condition.
func (t *table) missed(seen map[string]bool) string {
	if !seen[t.hashName] {
		return t.hashName
	}
	return t.rangeName
}

func keyTerms(t *table, c condition) ([]keyTerm, error) {
	switch n := c.(type) {
	case andNode:
		left, err := keyTerms(t, n.left)
		if err != nil {
			return nil, err
		}
		right, err := keyTerms(t, n.right)
		return append(left, right...), err
	case compareNode:
		if n.op == "<>" {
			return nil, wrongOperator("<>")
		}
		return keyTermOf(t, n.left, func(texts []string) interval { return compared(n.op, texts[0]) }, n.op == "=", n.right)
	case betweenNode:
		return keyTermOf(t, n.subject, func(texts []string) interval { return interval{low: texts[0], high: after(texts[1])} }, false, n.low, n.high)
	case callNode:
		if n.name != "begins_with" {
			return nil, wrongOperator(n.name)
		}
		return keyTermOf(t, n.args[0], func(texts []string) interval { return beginning(texts[0]) }, false, n.args[1])
	case orNode:
		return nil, wrongOperator("OR")
	case notNode:
		return nil, wrongOperator("NOT")
	}
	return nil, wrongOperator("IN")
}

func wrongOperator(op string) error {
	return invalid("Invalid operator used in KeyConditionExpression: %s", op)
}

// keyTermOf is the condition on one attribute, given by literals.
func keyTermOf(t *table, subject operand, ranges func([]string) interval, equal bool, bounds ...operand) ([]keyTerm, error) {
	if len(subject.path) != 1 || subject.size {
		return nil, invalid("Invalid KeyConditionExpression: the condition must begin with the name of a key attribute")
	}
	name, texts := subject.path[0].name, []string(nil)
	for _, b := range bounds {
		switch {
		case b.value == nil || b.size:
			return nil, invalid("Invalid KeyConditionExpression: a key attribute is compared with a value only; key: %s", name)
		case slices.Contains(t.keyNames(), name) && b.value.kind != "S":
			return nil, invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
		case b.value.text == "" && slices.Contains(t.keyNames(), name):
			return nil, emptyKey(name)
		}
		texts = append(texts, b.value.text)
	}
	return []keyTerm{{name, equal, ranges(texts)}}, nil
}
