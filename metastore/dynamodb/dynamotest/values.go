// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// value is an attribute value.
type value struct {
	// kind is S, N, B, BOOL, NULL, L or M.
	kind string
	// text holds an S, the bytes of a B, or an N in its normal form.
	text   string
	flag   bool
	list   []value
	fields item
}

// item is an item, or a key.
type item map[string]value

// valueKinds are the types of values, with how their content is read.
var valueKinds = map[string]func(v *value, raw json.RawMessage) error{
	"S":    func(v *value, raw json.RawMessage) error { return json.Unmarshal(raw, &v.text) },
	"N":    readNumber,
	"B":    readBinary,
	"BOOL": func(v *value, raw json.RawMessage) error { return json.Unmarshal(raw, &v.flag) },
	"NULL": readNull,
	"L":    func(v *value, raw json.RawMessage) error { return json.Unmarshal(raw, &v.list) },
	"M":    func(v *value, raw json.RawMessage) error { return json.Unmarshal(raw, &v.fields) },
}

// UnmarshalJSON reads {"S": "text"} and the like.
func (v *value) UnmarshalJSON(data []byte) error {
	var tagged map[string]json.RawMessage
	if err := json.Unmarshal(data, &tagged); err != nil {
		return err
	}
	switch {
	case len(tagged) == 0:
		return invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	case len(tagged) > 1:
		return invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	}
	for kind, raw := range tagged {
		read, ok := valueKinds[kind]
		if !ok {
			return unsupported("attribute values of type " + kind)
		}
		*v = value{kind: kind}
		return read(v, raw)
	}
	return nil
}

func readBinary(v *value, raw json.RawMessage) error {
	var b []byte
	if err := json.Unmarshal(raw, &b); err != nil {
		return err
	}
	v.text = string(b)
	return nil
}

func readNull(v *value, raw json.RawMessage) error {
	if err := json.Unmarshal(raw, &v.flag); err != nil {
		return err
	}
	if !v.flag {
		return invalid("One or more parameter values were invalid: Null attribute value types must have the value of true")
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (v value) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{v.kind: v.plain(func(child value) any { return child })})
}

// plain is the content of a value as Go has it, with children as they are told.
func (v value) plain(child func(value) any) any {
	switch v.kind {
	case "B":
		return []byte(v.text)
	case "BOOL", "NULL":
		return v.flag
	case "L":
		list := make([]any, len(v.list))
		for i, c := range v.list {
			list[i] = child(c)
		}
		return list
	case "M":
		fields := make(map[string]any, len(v.fields))
		for name, c := range v.fields {
			fields[name] = child(c)
		}
		return fields
	}
	return v.text
}

// export is the value for tests: string, [json.Number], []byte, bool, nil,
// []any or map[string]any.
func (v value) export() any {
	switch v.kind {
	case "N":
		return json.Number(v.text)
	case "NULL":
		return nil
	}
	return v.plain(value.export)
}

// equal compares type and content; binary by its bytes, numbers as such.
func (v value) equal(w value) bool {
	return v.kind == w.kind && v.text == w.text && v.flag == w.flag &&
		slices.EqualFunc(v.list, w.list, value.equal) && maps.EqualFunc(v.fields, w.fields, value.equal)
}

// ordered tells whether values of the type have an order.
func ordered(kind string) bool { return kind == "S" || kind == "N" || kind == "B" }

// compare orders two values of one ordered type.
func (v value) compare(w value) int {
	if v.kind == "N" {
		return rational(v.text).Cmp(rational(w.text))
	}
	return cmp.Compare(v.text, w.text)
}

func rational(number string) *big.Rat {
	r, _ := new(big.Rat).SetString(number)
	return r
}

// length is what the function size tells. ok is false for types without one.
func (v value) length() (n int, ok bool) {
	switch v.kind {
	case "S", "B":
		return len(v.text), true
	case "L":
		return len(v.list), true
	case "M":
		return len(v.fields), true
	}
	return 0, false
}

// has tells whether a text or a list contains w.
func (v value) has(w value) bool {
	if v.kind == "L" {
		return slices.ContainsFunc(v.list, w.equal)
	}
	return v.kind == w.kind && (v.kind == "S" || v.kind == "B") && strings.Contains(v.text, w.text)
}

// String shows a value in messages.
func (v value) String() string {
	text, _ := json.Marshal(v)
	return string(bytes.ReplaceAll(text, []byte{'"'}, nil))
}
