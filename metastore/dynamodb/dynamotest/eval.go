// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"slices"
	"strconv"
	"strings"
)

// condition is a parsed expression. It is false, never an error, where an item
// has no attribute or one of another type.
type condition interface {
	holds(it item) bool
}

// always is the condition of who gave none.
type always struct{}

type (
	andNode struct{ left, right condition }
	orNode  struct{ left, right condition }
	notNode struct{ inner condition }

	compareNode struct {
		op          string
		left, right operand
	}
	betweenNode struct{ subject, low, high operand }
	inNode      struct {
		subject operand
		list    []operand
	}
	callNode struct {
		test func(it item, args []operand) bool
		name string
		args []operand
	}
)

func (always) holds(item) bool       { return true }
func (n andNode) holds(it item) bool { return n.left.holds(it) && n.right.holds(it) }
func (n orNode) holds(it item) bool  { return n.left.holds(it) || n.right.holds(it) }
func (n notNode) holds(it item) bool { return !n.inner.holds(it) }

// holds compares. Two operands are unequal also when one is missing or of another
// type; nothing else holds then.
func (n compareNode) holds(it item) bool {
	left, okLeft := n.left.in(it)
	right, okRight := n.right.in(it)
	both := okLeft && okRight
	switch n.op {
	case "=":
		return both && left.equal(right)
	case "<>":
		return !both || !left.equal(right)
	}
	if !both || left.kind != right.kind || !ordered(left.kind) {
		return false
	}
	c := left.compare(right)
	return c < 0 && n.op[0] == '<' || c > 0 && n.op[0] == '>' || c == 0 && len(n.op) == 2
}

func (n betweenNode) holds(it item) bool {
	return compareNode{">=", n.subject, n.low}.holds(it) && compareNode{"<=", n.subject, n.high}.holds(it)
}

func (n inNode) holds(it item) bool {
	return slices.ContainsFunc(n.list, func(o operand) bool { return compareNode{"=", n.subject, o}.holds(it) })
}

func (n callNode) holds(it item) bool { return n.test(it, n.args) }

// function is a function that is a condition.
type function struct {
	operands  int
	needsPath bool
	// kinds are the types of literal that each operand may be.
	kinds [2][]string
	holds func(it item, args []operand) bool
}

var functions = map[string]function{
	"attribute_exists":     {operands: 1, needsPath: true, holds: exists},
	"attribute_not_exists": {operands: 1, needsPath: true, holds: func(it item, args []operand) bool { return !exists(it, args) }},
	"attribute_type":       {operands: 2, needsPath: true, kinds: [2][]string{nil, {"S"}}, holds: hasType},
	"begins_with":          {operands: 2, kinds: [2][]string{{"S", "B"}, {"S", "B"}}, holds: beginsWith},
	"contains":             {operands: 2, kinds: [2][]string{{"S", "B", "L"}, {"S", "N", "B", "BOOL", "NULL", "L", "M"}}, holds: contains},
}

func exists(it item, args []operand) bool {
	_, ok := args[0].in(it)
	return ok
}

func hasType(it item, args []operand) bool {
	v, ok := args[0].in(it)
	want, okWant := args[1].in(it)
	return ok && okWant && want.text == v.kind
}

func beginsWith(it item, args []operand) bool {
	v, ok := args[0].in(it)
	prefix, okPrefix := args[1].in(it)
	return ok && okPrefix && v.kind == prefix.kind && (v.kind == "S" || v.kind == "B") && strings.HasPrefix(v.text, prefix.text)
}

func contains(it item, args []operand) bool {
	v, ok := args[0].in(it)
	w, okPart := args[1].in(it)
	return ok && okPart && v.has(w)
}

// operand is a path, a literal, or the size of one of them.
type operand struct {
	path  path
	value *value
	size  bool
}

// path leads to an attribute or into one. Its first step is a name.
type path []step

type step struct {
	name    string
	index   int
	indexed bool
}

// in is the operand's value for an item. ok is false when there is none.
func (o operand) in(it item) (v value, ok bool) {
	if o.value != nil {
		v = *o.value
	} else if v, ok = o.path.in(it); !ok {
		return v, false
	}
	if !o.size {
		return v, true
	}
	n, ok := v.length()
	return value{kind: "N", text: strconv.Itoa(n)}, ok
}

func (p path) in(it item) (value, bool) {
	v := value{kind: "M", fields: it}
	for _, s := range p {
		switch {
		case s.indexed && s.index < len(v.list):
			v = v.list[s.index]
		case s.indexed:
			return value{}, false
		default:
			child, ok := v.fields[s.name]
			if !ok {
				return value{}, false
			}
			v = child
		}
	}
	return v, true
}

// literal is the type of an operand that needs no item, or "".
func (o operand) literal() string {
	switch {
	case o.size:
		return "N"
	case o.value != nil:
		return o.value.kind
	}
	return ""
}

// same tells whether two operands are one path.
func (o operand) same(p operand) bool {
	return o.path != nil && o.size == p.size && slices.Equal(o.path, p.path)
}

// String shows an operand in messages.
func (o operand) String() string {
	if o.value != nil {
		return o.value.String()
	}
	var steps []string
	for _, s := range o.path {
		if s.indexed {
			steps = append(steps, strconv.Itoa(s.index))
		} else {
			steps = append(steps, s.name)
		}
	}
	return "[" + strings.Join(steps, ", ") + "]"
}
