// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package gate

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// A few functions make a value as large as an argument says: one call could
// take all memory, out of reach of the engine's memory limit. The size must be
// known to be small from the text.
const (
	maxRepeat   = 1_000_000 // copies or characters of one value
	maxElements = 1_000_000 // elements of a list made by a function
	maxSmall    = 10_000    // bins, widths, top-k
	// maxTotal bounds what one statement makes for one row, all together.
	maxTotal = 64_000_000
)

// sized says which argument of a function is a size, and its cap.
type sized struct {
	argument int // from 0
	cap      int64
	what     string
}

var sizes = map[string]sized{
	"repeat": {1, maxRepeat, "count"}, "lpad": {1, maxRepeat, "length"}, "rpad": {1, maxRepeat, "length"},
	"bitstring":   {1, maxRepeat, "length"},
	"list_resize": {1, maxElements, "size"}, "array_resize": {1, maxElements, "size"},
	"bar": {3, maxSmall, "width"}, "to_base": {2, maxSmall, "length"},
	"equi_width_bins": {2, maxSmall, "number of bins"},
	"approx_top_k":    {1, maxSmall, "k"},
	"min":             {1, maxSmall, "n"}, "max": {1, maxSmall, "n"},
	"arg_min": {2, maxSmall, "n"}, "arg_max": {2, maxSmall, "n"}, "argmin": {2, maxSmall, "n"}, "argmax": {2, maxSmall, "n"},
	"min_by": {2, maxSmall, "n"}, "max_by": {2, maxSmall, "n"},
	"list_min": {1, maxSmall, "n"}, "list_max": {1, maxSmall, "n"},
}

// products are the allocating functions whose sizes multiply when one feeds
// another: a million copies of a million bytes are too much.
var products = map[string]bool{
	"repeat": true, "lpad": true, "rpad": true, "list_resize": true, "array_resize": true, "range": true, "generate_series": true,
}

// byName are functions that call the aggregate their second argument names.
var byName = map[string]bool{
	"list_aggregate": true, "array_aggregate": true, "list_aggr": true, "array_aggr": true, "aggregate": true,
}

// arguments checks and walks what a call is given.
func (w *walker) arguments(n object, name string) error {
	args := callArguments(n)
	size := int64(0)
	if s, ok := sizes[name]; ok && len(args) > s.argument {
		if err := within(args[s.argument], s, name, at(n)); err != nil {
			return err
		}
		size = sizeOf(args[s.argument])
	}
	var err error
	switch {
	case name == "range" || name == "generate_series":
		size, err = checkSeries(args, name, at(n))
	case byName[name]:
		err = checkAggregateName(args, name, at(n))
	case name == "format" || name == "printf":
		err = checkFormat(args, name, at(n))
	}
	if err != nil {
		return err
	}
	switch {
	case products[name]:
		return w.product(n, name, size)
	case multiplies[name]:
		return w.multiply(n, name)
	}
	return w.withLambdas(n)
}

// multiplies are functions whose results may be as large as two of their
// arguments multiplied.
var multiplies = map[string]bool{
	"replace": true, "regexp_replace": true, "translate": true, "array_to_string": true, "list_to_string": true, "concat_ws": true,
	"list_aggregate": true, "array_aggregate": true, "list_aggr": true, "array_aggr": true, "aggregate": true, "string_agg": true, "listagg": true, "group_concat": true,
}

// multiply walks a call whose arguments' sizes multiply.
func (w *walker) multiply(n object, name string) error {
	args, _ := n["children"].([]any)
	before, size := w.made, int64(1)
	for _, arg := range args {
		w.made = 0
		if err := w.walk(arg); err != nil {
			return err
		}
		if made := max(w.made, 1); saturate(size, made, size*made) <= maxRepeat {
			size *= made
		} else {
			return refuse(at(n), "%s could make a value too large: the sizes of its arguments multiplied may be at most %d", name, maxRepeat)
		}
	}
	w.made = max(before, size)
	return w.members(n, "children")
}

// withLambdas walks a call. What a lambda makes, it makes for each element of
// the list beside it.
func (w *walker) withLambdas(n object) error {
	args, _ := n["children"].([]any)
	before, outer := w.made, w.allocating
	w.made = 0
	for _, lambda := range []bool{false, true} {
		if lambda && w.made > 1 {
			w.allocating = allocation{"a list of many elements", w.made}
		}
		for _, arg := range args {
			if class, _ := arg.(object); (class["class"] == "LAMBDA") == lambda {
				if err := w.walk(arg); err != nil {
					return err
				}
			}
		}
	}
	w.allocating, w.made = outer, max(before, w.made)
	return w.members(n, "children")
}

// product walks an allocating call, whose size multiplies that of the calls
// around it.
func (w *walker) product(n object, name string, size int64) error {
	outer := w.allocating
	if outer.call == "" {
		outer.size = 1
	} else if saturate(outer.size, size, outer.size*size) > maxRepeat {
		return refuse(at(n), "%s inside %s could make a value too large: their sizes multiplied may be at most %d", name, outer.call, maxRepeat)
	}
	w.allocating = allocation{name, outer.size * max(size, 1)}
	defer func() { w.allocating = outer }()
	w.made = max(w.made, w.allocating.size)
	if w.total += w.allocating.size; w.total > maxTotal {
		return refuse(at(n), "the statement makes too many large values: the sizes of repeat, lpad, range and their like may add up to at most %d", maxTotal)
	}
	return w.members(n)
}

// allocation is an allocating call and how large it and those around it make
// a value.
type allocation struct {
	call string
	size int64
}

// usualSize stands for the size of a value that exists, which nobody knows.
const usualSize = 1_000

// sizeOf is a size that a check has let through: what its text bounds it to.
func sizeOf(arg any) int64 {
	if i, ok := constantOnly(arg); ok {
		return max(i, 0)
	}
	if most, ok := bound(arg); ok && most > 0 {
		return most
	}
	return usualSize
}

func within(arg any, s sized, name string, at int) error {
	most, known := bound(arg)
	if !known {
		return refuse(at, "%s: the %s must be bounded by the text of the statement: write least(%s, %d)", name, s.what, s.what, s.cap)
	}
	if most > s.cap {
		return refuse(at, "%s: the %s may be at most %d", name, s.what, s.cap)
	}
	return nil
}

// measured are functions whose results are sizes of values that exist.
var measured = map[string]bool{
	"len": true, "length": true, "strlen": true, "char_length": true, "character_length": true, "array_length": true,
	"cardinality": true, "json_array_length": true, "octet_length": true, "length_grapheme": true,
}

// bound is the largest value an expression can have, where its text tells.
func bound(v any) (int64, bool) {
	n, _ := v.(object)
	kids, _ := n["children"].([]any)
	switch n["class"] {
	case "CONSTANT":
		return constant(n)
	case "CAST":
		return bound(n["child"])
	case "FUNCTION":
		name, _ := n["function_name"].(string)
		return boundCall(strings.ToLower(name), kids)
	}
	return 0, false
}

func boundCall(name string, args []any) (int64, bool) {
	switch {
	case measured[name]:
		return 0, true
	case name == "least":
		return boundLeast(args)
	case len(args) == 1 && name == "-":
		i, ok := constantOnly(object{"class": "FUNCTION", "function_name": "-", "children": args})
		return i, ok
	case len(args) != 2:
		return 0, false
	}
	a, okA := bound(args[0])
	b, okB := bound(args[1])
	switch name {
	case "+":
		return saturate(a, b, a+b), okA && okB
	case "-":
		// Only what is never negative takes something away.
		return a, okA && neverNegative(args[1])
	case "*":
		x, okX := constantOnly(args[0])
		y, okY := constantOnly(args[1])
		return saturate(x, y, x*y), okX && okY
	case "//":
		d, ok := constantOnly(args[1])
		return a, okA && ok && d >= 1
	case "%", "mod":
		d, ok := constantOnly(args[1])
		return max(d, -d), ok
	}
	return 0, false
}

// neverNegative reports a size, or a constant that is none.
func neverNegative(v any) bool {
	n, _ := v.(object)
	if i, ok := constantOnly(v); ok {
		return i >= 0
	}
	name, _ := n["function_name"].(string)
	return n["class"] == "FUNCTION" && measured[strings.ToLower(name)]
}

// saturate keeps sums and products of large constants from wrapping around.
func saturate(a, b, result int64) int64 {
	const large = 1 << 31
	if a > large || b > large || a < -large || b < -large {
		return 1 << 62
	}
	return result
}

// boundLeast is the least bound of the arguments that have one.
func boundLeast(args []any) (int64, bool) {
	var least int64
	found := false
	for _, a := range args {
		if b, ok := bound(a); ok && (!found || b < least) {
			least, found = b, true
		}
	}
	return least, found
}

// constant is the value of an integer constant. Fractions have none: the tree
// holds a DECIMAL's digits without its point.
func constant(n object) (int64, bool) {
	value, _ := n["value"].(object)
	if value["is_null"] == true {
		return 0, true
	}
	typ, _ := value["type"].(object)
	num, ok := value["value"].(json.Number)
	if !ok || typ["id"] != "INTEGER" && typ["id"] != "BIGINT" {
		return 0, false
	}
	i, err := strconv.ParseInt(string(num), 10, 64)
	return i, err == nil
}

// checkSeries bounds the list that range and generate_series make as scalar
// functions. In FROM they make rows instead, and are not bounded.
// It returns how many elements that may be.
func checkSeries(args []any, name string, at int) (int64, error) {
	end := 0
	if len(args) > 1 {
		end = 1
	}
	if len(args) == 0 {
		return 0, nil
	}
	hint := "as a list, %s must have bounded integers: write least(n, %d), or use it in FROM"
	most, ok := bound(args[end])
	if !ok {
		return 0, refuse(at, hint, name, maxElements)
	}
	span, size := most, sizeOf(args[end])
	if end == 1 {
		from, ok := constantOnly(args[0])
		if !ok {
			return 0, refuse(at, hint, name, maxElements)
		}
		span = saturate(from, most, max(most-from, from-most))
		size = max(size, span)
	}
	if span > maxElements {
		return 0, refuse(at, "%s: a list may have at most %d elements; in FROM there is no such limit", name, maxElements)
	}
	return size, nil
}

// constantOnly is the value of integer constants and their sums and products.
func constantOnly(v any) (int64, bool) {
	n, _ := v.(object)
	kids, _ := n["children"].([]any)
	switch {
	case n["class"] == "CONSTANT":
		return constant(n)
	case n["class"] != "FUNCTION" || len(kids) == 0 || len(kids) > 2:
		return 0, false
	}
	x, ok := constantOnly(kids[0])
	if len(kids) == 1 {
		return -x, ok && n["function_name"] == "-"
	}
	y, okY := constantOnly(kids[1])
	switch n["function_name"] {
	case "+":
		return saturate(x, y, x+y), ok && okY
	case "-":
		return saturate(x, y, x-y), ok && okY
	case "*":
		return saturate(x, y, x*y), ok && okY
	}
	return 0, false
}

func checkAggregateName(args []any, name string, at int) error {
	if len(args) < 2 {
		return nil
	}
	text, ok := textConstant(args[1])
	if !ok {
		return refuse(at, "%s: the aggregate must be named in the text of the statement", name)
	}
	return allowed(strings.ToLower(text), at)
}

func textConstant(v any) (string, bool) {
	n, _ := v.(object)
	value, _ := n["value"].(object)
	text, ok := value["value"].(string)
	return text, ok && n["class"] == "CONSTANT"
}

// A width or precision of more than four digits, or one that an argument gives.
var (
	wideFormat    = regexp.MustCompile(`[0-9]{5,}`)
	dynamicFormat = regexp.MustCompile(`\{[^{}]*\{|%[-+ #0-9.]*\*`)
)

func checkFormat(args []any, name string, at int) error {
	if len(args) == 0 {
		return nil
	}
	text, ok := textConstant(args[0])
	if !ok {
		return refuse(at, "%s: the format must be given in the text of the statement", name)
	}
	bare := strings.ReplaceAll(strings.ReplaceAll(text, "{{", ""), "%%", "")
	if wideFormat.MatchString(bare) || dynamicFormat.MatchString(bare) {
		return refuse(at, "%s: widths may have at most 4 digits and must be given in the format", name)
	}
	return nil
}
