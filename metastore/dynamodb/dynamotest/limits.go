// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import "unicode/utf8"

// Limits of the service (developer guide, "Quotas in Amazon DynamoDB").
const (
	maxItem         = 400 << 10
	maxHashKey      = 2048
	maxRangeKey     = 1024
	maxPage         = 1 << 20
	maxTransaction  = 100
	maxTransactSize = 4 << 20
	maxToken        = 36
	maxNesting      = 32
	maxName         = 64 << 10
	maxTableName    = 255
	minTableName    = 3
	maxSegments     = 1_000_000
)

// size is what an item counts: its names and its values.
func (it item) size() int {
	n := 0
	for name, v := range it {
		n += len(name) + v.size()
	}
	return n
}

func (v value) size() int {
	switch v.kind {
	case "S", "B":
		return len(v.text)
	case "N":
		return (len(v.text)+1)/2 + 1
	case "L":
		n := 3 + len(v.list)
		for _, c := range v.list {
			n += c.size()
		}
		return n
	case "M":
		return 3 + len(v.fields) + v.fields.size()
	}
	return 1
}

// depth is how far values are nested in one.
func (v value) depth() int {
	deepest := 0
	for _, c := range v.list {
		deepest = max(deepest, 1+c.depth())
	}
	for _, c := range v.fields {
		deepest = max(deepest, 1+c.depth())
	}
	return deepest
}

// checkItem checks an item that is to be stored, but for its key.
func checkItem(it item) error {
	for name, v := range it {
		switch {
		case name == "":
			return invalid("One or more parameter values were invalid: An attribute name must not be empty")
		case len(name) > maxName || !utf8.ValidString(name):
			return invalid("One or more parameter values were invalid: An attribute name is too long or no UTF-8: %d bytes", len(name))
		case v.depth() > maxNesting:
			return invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")
		}
	}
	if it.size() > maxItem {
		return invalid("Item size has exceeded the maximum allowed size")
	}
	return nil
}

// keyOf is the key of an item that is to be stored.
func (t *table) keyOf(it item) (key, error) {
	for _, name := range t.keyNames() {
		switch v, ok := it[name]; {
		case !ok:
			return key{}, invalid("One or more parameter values were invalid: Missing the key %s in the item", name)
		case v.kind != "S":
			return key{}, invalid("One or more parameter values were invalid: Type mismatch for key %s expected: S actual: %s", name, v.kind)
		}
	}
	return t.checkedKey(it)
}

// exactKey is the key that a parameter names: the key attributes and no other.
func (t *table) exactKey(it item) (key, error) {
	names := t.keyNames()
	if len(it) != len(names) {
		return key{}, invalid("The provided key element does not match the schema")
	}
	for _, name := range names {
		if it[name].kind != "S" {
			return key{}, invalid("The provided key element does not match the schema")
		}
	}
	return t.checkedKey(it)
}

func (t *table) checkedKey(it item) (key, error) {
	k := key{hash: it[t.hashName].text}
	if t.rangeName != "" {
		k.rng = it[t.rangeName].text
	}
	switch {
	case k.hash == "":
		return key{}, emptyKey(t.hashName)
	case t.rangeName != "" && k.rng == "":
		return key{}, emptyKey(t.rangeName)
	case len(k.hash) > maxHashKey:
		return key{}, invalid("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of%d bytes", maxHashKey)
	case len(k.rng) > maxRangeKey:
		return key{}, invalid("One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit of %d bytes", maxRangeKey)
	}
	return k, nil
}

func emptyKey(name string) error {
	return &apiError{
		kind:    "ValidationException",
		message: "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: " + name,
		early:   true,
	}
}
