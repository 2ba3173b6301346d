// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package literal reads the constants of a statement off its syntax tree, and
// the values of its parameters, with what SQL's way to compare them depends on:
// how many digits a number was written with, and what type a text is made.
//
// It reads what it is sure of, and nothing else: a constant that is written in a
// way that is not known here is none.
package literal

import (
	"encoding/json"
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/services/query/tree"
)

// Value is a value of the statement: [Number], [Text], [Boolean], [Null] or
// [Placeholder], and from parameters also [Moment]. It is not changed once made,
// so it is safe for concurrent use.
type Value interface{ isValue() }

type (
	// Number is a number and how SQL has it.
	Number struct {
		// Value is exact, whatever the type.
		Value *big.Rat
		// Whole and Fraction are how many digits before and after the point the type
		// has room for, if it is not floating.
		Whole, Fraction int
		// Float is 32 or 64 for floating point, else 0.
		Float int
	}
	// Text is text, or what CAST makes of it.
	Text struct {
		Value string
		// As is the type it is cast to, as the tree spells it, empty for a text that
		// stands alone: SQL makes that one whatever it is compared with.
		As string
	}
	// Boolean is true or false.
	Boolean bool
	// Null is NULL.
	Null struct{}
	// Placeholder stands for the parameter of that number, from 1.
	Placeholder int
	// Moment is a date or a time, in nanoseconds since 1970.
	Moment struct {
		At *big.Int
		// Zoned says that it is the same moment everywhere, and not what the clock
		// of some place says.
		Zoned bool
	}
)

func (Number) isValue()      {}
func (Text) isValue()        {}
func (Boolean) isValue()     {}
func (Null) isValue()        {}
func (Placeholder) isValue() {}
func (Moment) isValue()      {}

// Of reads a constant or a placeholder off the syntax tree, nil where it is
// neither.
func Of(v any) Value {
	n, _ := v.(tree.Object)
	switch n["class"] {
	case "CONSTANT":
		if constant, ok := n["value"].(tree.Object); ok && tree.NothingBut(n, "class", "type", "query_location", "value") {
			return constantOf(constant)
		}
	case "PARAMETER":
		number, _ := n["identifier"].(string)
		if i, err := strconv.Atoi(number); err == nil && i > 0 {
			return Placeholder(i)
		}
	case "CAST":
		return castOf(n)
	}
	return nil
}

// integerDigits are how many digits SQL gives a whole number in a decimal.
var integerDigits = map[any]int{
	"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 19, "UTINYINT": 3, "USMALLINT": 5, "UINTEGER": 10, "UBIGINT": 20,
}

// ColumnDigits are how many digits SQL gives a column of whole numbers when it
// makes them decimals; 0 for other types.
func ColumnDigits(dt arrow.DataType) int { return columnDigits[dt.ID()] }

var columnDigits = map[arrow.Type]int{
	arrow.INT8: 3, arrow.INT16: 5, arrow.INT32: 10, arrow.INT64: 19, arrow.UINT8: 3, arrow.UINT16: 5, arrow.UINT32: 10, arrow.UINT64: 20,
}

// MaxDigits are those of SQL's widest decimal. What needs more, SQL rounds or
// compares in floating point.
const MaxDigits = 38

func constantOf(v tree.Object) Value {
	if v["is_null"] == true {
		return Null{}
	}
	t, _ := v["type"].(tree.Object)
	raw, isNumber := v["value"].(json.Number)
	if t["id"] == "DECIMAL" && isNumber {
		return decimalOf(raw.String(), t)
	}
	if !tree.NothingBut(t, "id") {
		return nil // such as a text with a collation
	}
	switch id := t["id"]; {
	case id == "VARCHAR":
		if s, ok := v["value"].(string); ok {
			return Text{Value: s}
		}
	case id == "BOOLEAN":
		if b, ok := v["value"].(bool); ok {
			return Boolean(b)
		}
	case integerDigits[id] > 0 && isNumber:
		return wholeOf(raw.String(), integerDigits[id])
	case id == "DOUBLE" && isNumber:
		if f, err := raw.Float64(); err == nil {
			return floatOf(f, 64)
		}
	}
	return nil
}

// wholeOf reads a whole number.
func wholeOf(s string, digits int) Value {
	if i, ok := new(big.Int).SetString(s, 10); ok && len(s) <= 40 {
		return Number{Value: new(big.Rat).SetInt(i), Whole: digits}
	}
	return nil
}

// decimalOf reads a decimal, which the tree has without its point.
func decimalOf(unscaled string, t tree.Object) Value {
	info, _ := t["type_info"].(tree.Object)
	width, okWidth := smallInt(info["width"])
	scale, okScale := smallInt(info["scale"])
	n, ok := wholeOf(unscaled, width-scale).(Number)
	if !ok || !okWidth || !okScale || scale > width {
		return nil
	}
	n.Value.Quo(n.Value, new(big.Rat).SetInt(Pow10(scale)))
	n.Fraction = scale
	return n
}

func smallInt(v any) (int, bool) {
	n, _ := v.(json.Number)
	i, err := strconv.Atoi(n.String())
	return i, err == nil && i >= 0 && i <= 76
}

// Pow10 is 10 to the power of n.
func Pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// WholeText reads a text that is a whole number as SQL itself writes it.
func WholeText(s string) (Number, bool) {
	if !plainInteger(s) {
		return Number{}, false
	}
	n, ok := wholeOf(s, integerDigits["UBIGINT"]).(Number)
	return n, ok
}

func plainInteger(s string) bool {
	if len(s) > 1 && s[0] == '-' {
		s = s[1:]
	}
	if s == "" || len(s) > 20 || s[0] == '0' && len(s) > 1 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// castable are the types whose casts from text are read here.
var castable = map[any]bool{
	"DATE": true, "TIMESTAMP": true, "TIMESTAMP_S": true, "TIMESTAMP_MS": true, "TIMESTAMP_NS": true,
	"TIMESTAMP WITH TIME ZONE": true, "VARCHAR": true, "BLOB": true,
}

// castOf reads a cast of a text; TRUE and FALSE come as casts too.
func castOf(n tree.Object) Value {
	t, ok := Of(n["child"]).(Text)
	to, _ := n["cast_type"].(tree.Object)
	if !ok || t.As != "" || !tree.NothingBut(n, "class", "type", "query_location", "child", "cast_type") || !tree.NothingBut(to, "id") {
		return nil
	}
	switch id, _ := to["id"].(string); {
	case id == "BOOLEAN" && (t.Value == "t" || t.Value == "f"):
		return Boolean(t.Value == "t")
	case castable[id]:
		return Text{t.Value, id}
	}
	return nil
}
