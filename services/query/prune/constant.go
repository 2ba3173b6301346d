// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package prune

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// constant is a value of the statement: number, words, boolean, nothing or
// placeholder, and from parameters also moment.
type constant any

type (
	// number is a number and how SQL has it.
	number struct {
		value *big.Rat
		// digits are those before and after the point that its type has room for.
		whole, fraction int
		// float is 32 or 64 for floating point, else 0.
		float int
	}
	// words are text, or what CAST makes of it.
	words struct{ text, as string }
	// boolean is true or false.
	boolean bool
	// nothing is NULL.
	nothing struct{}
	// placeholder is a parameter, by its column.
	placeholder int
	// moment is a date or a time, in nanoseconds since 1970.
	moment struct {
		at    *big.Int
		zoned bool
	}
)

// constantOf reads a constant off the syntax tree, or returns nil.
func constantOf(v any) constant {
	n, _ := v.(object)
	switch n["class"] {
	case "CONSTANT":
		value, _ := n["value"].(object)
		return literal(value)
	case "PARAMETER":
		if i, err := strconv.Atoi(text(n["identifier"])); err == nil && i > 0 {
			return placeholder(i - 1)
		}
	case "CAST":
		return cast(n)
	}
	return nil
}

// integerDigits are how many digits SQL gives a whole number in a decimal.
var integerDigits = map[any]int{
	"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 19, "UTINYINT": 3, "USMALLINT": 5, "UINTEGER": 10, "UBIGINT": 20,
}

func literal(v object) constant {
	t, _ := v["type"].(object)
	if v["is_null"] == true {
		return nothing{}
	}
	raw, isNumber := v["value"].(json.Number)
	switch id := t["id"]; {
	case id == "VARCHAR":
		if s, ok := v["value"].(string); ok {
			return words{text: s}
		}
	case id == "BOOLEAN":
		if b, ok := v["value"].(bool); ok {
			return boolean(b)
		}
	case integerDigits[id] > 0 && isNumber:
		return numberOf(raw.String(), integerDigits[id], 0, 0)
	case id == "DECIMAL" && isNumber:
		return decimalOf(raw.String(), t)
	case id == "DOUBLE" && isNumber:
		return numberOf(raw.String(), 0, 0, 64)
	}
	return nil
}

func numberOf(s string, whole, fraction, float int) constant {
	if len(s) > 400 { // no number that SQL prints is longer
		return nil
	}
	value, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil
	}
	return number{value, whole, fraction, float}
}

// decimalOf reads a decimal, which the tree has without its point.
func decimalOf(unscaled string, t object) constant {
	info, _ := t["type_info"].(object)
	width, okWidth := smallInt(info["width"])
	scale, okScale := smallInt(info["scale"])
	n, ok := numberOf(unscaled, width-scale, scale, 0).(number)
	if !ok || !okWidth || !okScale || scale > width {
		return nil
	}
	n.value.Quo(n.value, new(big.Rat).SetInt(pow10(scale)))
	return n
}

func smallInt(v any) (int, bool) {
	n, _ := v.(json.Number)
	i, err := strconv.Atoi(n.String())
	return i, err == nil && i >= 0 && i <= 76
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// castable are the types whose casts from text are read here.
var castable = map[any]bool{
	"DATE": true, "TIMESTAMP": true, "TIMESTAMP_S": true, "TIMESTAMP_MS": true, "TIMESTAMP_NS": true,
	"TIMESTAMP WITH TIME ZONE": true, "VARCHAR": true, "BLOB": true,
}

// cast reads a cast of a text; TRUE and FALSE come as casts too.
func cast(n object) constant {
	w, ok := constantOf(n["child"]).(words)
	to, _ := n["cast_type"].(object)
	if !ok || w.as != "" {
		return nil
	}
	switch {
	case to["id"] == "BOOLEAN" && (w.text == "t" || w.text == "f"):
		return boolean(w.text == "t")
	case to["id"] == "VARCHAR":
		return w
	case castable[to["id"]]:
		return words{w.text, text(to["id"])}
	}
	return nil
}

// value looks a placeholder up; nil is not known.
func (b *binder) value(c constant) constant {
	i, ok := c.(placeholder)
	if !ok {
		return c
	}
	if b.params == nil || int(i) >= int(b.params.NumCols()) || b.params.NumRows() != 1 {
		return nil
	}
	return parameter(b.params.Column(int(i)))
}

// parameter is the value of a parameter. Text is marked as being text already:
// SQL does not read it as a time or a number in the way of a literal.
func parameter(a arrow.Array) constant {
	if a.IsNull(0) || a.DataType().ID() == arrow.NULL {
		return nothing{}
	}
	switch a := a.(type) {
	case *array.Boolean:
		return boolean(a.Value(0))
	case *array.String:
		return words{a.Value(0), "VARCHAR"}
	case *array.LargeString:
		return words{a.Value(0), "VARCHAR"}
	case *array.Float32:
		return floatOf(float64(a.Value(0)), 32)
	case *array.Float64:
		return floatOf(a.Value(0), 64)
	case *array.Decimal128:
		return decimalParameter(a)
	case *array.Timestamp, *array.Date32:
		return momentOf(a)
	}
	return wholeOf(a)
}

func decimalParameter(a *array.Decimal128) constant {
	t := a.DataType().(*arrow.Decimal128Type)
	if t.Scale < 0 {
		return nil
	}
	return number{new(big.Rat).SetFrac(a.Value(0).BigInt(), pow10(int(t.Scale))), int(t.Precision - t.Scale), int(t.Scale), 0}
}

func floatOf(v float64, bits int) constant {
	r := new(big.Rat).SetFloat64(v)
	if r == nil { // not finite
		return nil
	}
	return number{r, 0, 0, bits}
}

// wholeOf reads whole numbers of any width.
func wholeOf(a arrow.Array) constant {
	if !arrow.IsInteger(a.DataType().ID()) {
		return nil
	}
	s := a.ValueStr(0)
	return numberOf(strings.TrimSpace(s), 20, 0, 0)
}

func momentOf(a arrow.Array) constant {
	switch a := a.(type) {
	case *array.Date32:
		return moment{new(big.Int).Mul(big.NewInt(int64(a.Value(0))), big.NewInt(nanosPerDay)), false}
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		return moment{new(big.Int).Mul(big.NewInt(int64(a.Value(0))), big.NewInt(int64(t.Unit.Multiplier()))), t.TimeZone != ""}
	}
	return nil
}
