// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamotest

import (
	"slices"
	"strconv"
	"strings"
)

// Limits of expressions (developer guide, "Service quotas": expression parameters).
const (
	maxExpression = 4 << 10
	maxOperators  = 300
)

// placeholders are the #names and :values of a request, and which of them its
// expressions have used.
type placeholders struct {
	names  map[string]string
	values map[string]value
	used   map[string]bool
}

func (r *placeholders) use(name string) {
	if r.used == nil {
		r.used = make(map[string]bool)
	}
	r.used[name] = true
}

// check refuses placeholders of a wrong shape, and any where there is no
// expression. It is called before the expressions are parsed.
func (r *placeholders) check(expressions ...*string) error {
	any := slices.ContainsFunc(expressions, func(e *string) bool { return e != nil })
	if err := checkNames("ExpressionAttributeNames", '#', r.names, any); err != nil {
		return err
	}
	return checkNames("ExpressionAttributeValues", ':', r.values, any)
}

func checkNames[V any](parameter string, mark byte, given map[string]V, any bool) error {
	switch {
	case given == nil:
		return nil
	case !any:
		return invalid("%s can only be specified when using expressions", parameter)
	case len(given) == 0:
		return invalid("%s must not be empty", parameter)
	}
	for name := range given {
		if len(name) < 2 || name[0] != mark || wordLength(name[1:]) != len(name)-1 {
			return invalid("%s contains invalid key: Syntax error; key: %q", parameter, name)
		}
	}
	return nil
}

// finish refuses placeholders that no expression used.
func (r *placeholders) finish() error {
	for name := range r.names {
		if !r.used[name] {
			return invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", name)
		}
	}
	for name := range r.values {
		if !r.used[name] {
			return invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", name)
		}
	}
	return nil
}

// parser reads one expression by recursive descent:
//
//	or      = and { OR and }
//	and     = not { AND not }
//	not     = NOT not | primary
//	primary = "(" or ")" | function | operand ( op operand | BETWEEN … AND … | IN ( … ) )
//	operand = path | :value | size ( path )
type parser struct {
	parameter string // such as ConditionExpression
	tokens    []token
	at        int
	refs      *placeholders
	operators int
}

func newParser(parameter, text string, refs *placeholders) (*parser, error) {
	p := &parser{parameter: parameter, refs: refs}
	if len(text) > maxExpression {
		return nil, p.fail("Expression size has exceeded the maximum allowed size; expression size: %d", len(text))
	}
	if strings.TrimSpace(text) == "" {
		return nil, p.fail("The expression can not be empty;")
	}
	tokens, bad, ok := lex(text)
	if !ok {
		return nil, p.fail("Syntax error; token: %q, near: %q", text[bad:bad+1], near(text, bad))
	}
	p.tokens = tokens
	return p, nil
}

func near(text string, at int) string { return text[max(0, at-8):min(len(text), at+8)] }

// parseCondition parses a ConditionExpression, FilterExpression or
// KeyConditionExpression.
// No expression is always true.
func parseCondition(parameter string, text *string, refs *placeholders) (condition, error) {
	if text == nil {
		return always{}, nil
	}
	p, err := newParser(parameter, *text, refs)
	if err != nil {
		return nil, err
	}
	c, err := p.or()
	if err == nil && p.peek().kind != tokenEnd {
		err = p.syntax()
	}
	if err == nil && p.operators > maxOperators {
		err = p.fail("The expression contains too many operators; operator count: %d", p.operators)
	}
	return c, err
}

// parseProjection parses a list of attribute names. No expression is nil.
func parseProjection(text *string, refs *placeholders) ([]string, error) {
	if text == nil {
		return nil, nil
	}
	p, err := newParser("ProjectionExpression", *text, refs)
	if err != nil {
		return nil, err
	}
	var names []string
	for {
		target, err := p.path()
		switch {
		case err != nil:
			return nil, err
		case len(target) > 1:
			return nil, unsupported("projections of nested attributes")
		case slices.Contains(names, target[0].name):
			return nil, p.fail("Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [%[1]s], path two: [%[1]s]", target[0].name)
		}
		names = append(names, target[0].name)
		if p.accept(",") {
			continue
		}
		if p.peek().kind != tokenEnd {
			return nil, p.syntax()
		}
		return names, nil
	}
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	p.at = min(p.at+1, len(p.tokens)-1)
	return t
}

func (p *parser) accept(word string) bool {
	if !p.peek().is(word) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(word string) error {
	if !p.accept(word) {
		return p.syntax()
	}
	return nil
}

func (p *parser) fail(format string, args ...any) error {
	return invalid("Invalid "+p.parameter+": "+format, args...)
}

func (p *parser) syntax() error {
	around := p.tokens[max(0, p.at-1):min(len(p.tokens), p.at+2)]
	texts := make([]string, len(around))
	for i, t := range around {
		texts[i] = t.text
	}
	return p.fail("Syntax error; token: %q, near: %q", p.peek().text, strings.Join(texts, " "))
}

func (p *parser) or() (condition, error) {
	return p.chain("OR", p.and, func(l, r condition) condition { return orNode{l, r} })
}

func (p *parser) and() (condition, error) {
	return p.chain("AND", p.not, func(l, r condition) condition { return andNode{l, r} })
}

// chain parses operands of a binary operator, which binds to the left.
func (p *parser) chain(word string, operand func() (condition, error), join func(l, r condition) condition) (condition, error) {
	left, err := operand()
	for err == nil && p.accept(word) {
		p.operators++
		var right condition
		if right, err = operand(); err == nil {
			left = join(left, right)
		}
	}
	return left, err
}

func (p *parser) not() (condition, error) {
	if !p.accept("NOT") {
		return p.primary()
	}
	p.operators++
	inner, err := p.not()
	return notNode{inner}, err
}

func (p *parser) primary() (condition, error) {
	if p.peek().is("(") {
		return p.group()
	}
	if t := p.peek(); t.kind == tokenName && p.tokens[p.at+1].is("(") && t.text != "size" {
		return p.function()
	}
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	p.operators++
	switch {
	case p.accept("BETWEEN"):
		return p.between(left)
	case p.accept("IN"):
		return p.in(left)
	}
	op := p.peek()
	if op.kind != tokenSign || !slices.Contains([]string{"=", "<>", "<", "<=", ">", ">="}, op.text) {
		return nil, p.syntax()
	}
	p.next()
	right, err := p.operand()
	if err != nil {
		return nil, err
	}
	return p.comparison(op.text, left, right)
}

// group parses a condition in parentheses. A second pair around the same
// condition is refused, as the service does.
func (p *parser) group() (condition, error) {
	open := p.at
	p.next()
	inner, err := p.or()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if p.tokens[open+1].is("(") && p.tokens[p.at-2].is(")") && p.closes(open+1) == p.at-2 {
		return nil, p.fail("The expression has redundant parentheses;")
	}
	return inner, nil
}

// closes is where the parenthesis that opens at a position closes.
func (p *parser) closes(open int) int {
	depth := 0
	for i := open; i < len(p.tokens); i++ {
		switch {
		case p.tokens[i].is("("):
			depth++
		case p.tokens[i].is(")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (p *parser) comparison(op string, left, right operand) (condition, error) {
	if left.same(right) {
		return nil, p.fail("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", op, left)
	}
	if op != "=" && op != "<>" {
		for _, o := range []operand{left, right} {
			if kind := o.literal(); kind != "" && !ordered(kind) {
				return nil, p.wrongType(op, kind)
			}
		}
	}
	return compareNode{op, left, right}, nil
}

func (p *parser) wrongType(operator, kind string) error {
	return p.fail("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, kind)
}

func (p *parser) between(subject operand) (condition, error) {
	low, err := p.operand()
	if err != nil {
		return nil, err
	}
	if err := p.expect("AND"); err != nil {
		return nil, err
	}
	high, err := p.operand()
	if err != nil {
		return nil, err
	}
	for _, o := range []operand{subject, low, high} {
		if kind := o.literal(); kind != "" && !ordered(kind) {
			return nil, p.wrongType("BETWEEN", kind)
		}
	}
	if low.value != nil && high.value != nil {
		if low.value.kind != high.value.kind {
			return nil, p.fail("The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s", low, high)
		}
		if low.value.compare(*high.value) > 0 {
			return nil, p.fail("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s", low, high)
		}
	}
	return betweenNode{subject, low, high}, nil
}

// maxIn is how many operands IN takes.
const maxIn = 100

func (p *parser) in(subject operand) (condition, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	list, err := p.operands()
	if err != nil {
		return nil, err
	}
	if len(list) > maxIn {
		return nil, p.fail("The IN operator is provided with too many operands; number of operands: %d", len(list))
	}
	return inNode{subject, list}, nil
}

// operands parses a list up to its closing parenthesis.
func (p *parser) operands() ([]operand, error) {
	var list []operand
	for {
		o, err := p.operand()
		if err != nil {
			return nil, err
		}
		list = append(list, o)
		if p.accept(")") {
			return list, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

func (p *parser) function() (condition, error) {
	name := p.next().text
	f, ok := functions[name]
	if !ok {
		return nil, p.fail("Invalid function name; function: %s", name)
	}
	p.next()
	p.operators++
	args, err := p.operands()
	if err != nil {
		return nil, err
	}
	if len(args) != f.operands {
		return nil, p.fail("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", name, len(args))
	}
	if args[0].path == nil && f.needsPath {
		return nil, p.fail("Operator or function requires a document path; operator or function: %s", name)
	}
	for i, arg := range args {
		if kind := arg.literal(); kind != "" && !slices.Contains(f.kinds[i], kind) {
			return nil, p.wrongType(name, kind)
		}
	}
	if len(args) == 2 && args[0].same(args[1]) {
		return nil, p.fail("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", name, args[0])
	}
	return callNode{f.holds, name, args}, nil
}

func (p *parser) operand() (operand, error) {
	switch t := p.peek(); t.kind {
	case tokenValueRef:
		p.next()
		v, ok := p.refs.values[t.text]
		if !ok {
			return operand{}, p.fail("An expression attribute value used in expression is not defined; attribute value: %s", t.text)
		}
		p.refs.use(t.text)
		return operand{value: &v}, nil
	case tokenName:
		if p.tokens[p.at+1].is("(") {
			return p.size()
		}
	}
	target, err := p.path()
	return operand{path: target}, err
}

// size parses the one function that has a value.
func (p *parser) size() (operand, error) {
	if name := p.peek().text; name != "size" {
		if _, known := functions[name]; known {
			return operand{}, p.fail("The function is not allowed to be used this way in an expression; function: %s", name)
		}
		return operand{}, p.fail("Invalid function name; function: %s", name)
	}
	p.next()
	p.next()
	inner, err := p.operand()
	if err != nil {
		return operand{}, err
	}
	if inner.size {
		return operand{}, p.fail("The function is not allowed to be used this way in an expression; function: size")
	}
	if inner.value != nil {
		if _, ok := inner.value.length(); !ok {
			return operand{}, p.wrongType("size", inner.value.kind)
		}
	}
	inner.size = true
	return inner, p.expect(")")
}

// path parses a.b[0].#c.
func (p *parser) path() (path, error) {
	var target path
	for {
		name, err := p.attribute()
		if err != nil {
			return nil, err
		}
		target = append(target, step{name: name})
		for p.accept("[") {
			index, err := strconv.Atoi(p.peek().text)
			if p.peek().kind != tokenIndex || err != nil {
				return nil, p.syntax()
			}
			p.next()
			target = append(target, step{index: index, indexed: true})
			if err := p.expect("]"); err != nil {
				return nil, err
			}
		}
		if !p.accept(".") {
			return target, nil
		}
	}
}

func (p *parser) attribute() (string, error) {
	t := p.peek()
	switch {
	case t.kind == tokenNameRef:
		name, ok := p.refs.names[t.text]
		if !ok {
			return "", p.fail("An expression attribute name used in the document path is not defined; attribute name: %s", t.text)
		}
		p.refs.use(t.text)
		p.next()
		return name, nil
	case t.kind == tokenName && reserved[strings.ToUpper(t.text)]:
		if slices.Contains([]string{"AND", "OR", "NOT", "BETWEEN", "IN"}, strings.ToUpper(t.text)) {
			return "", p.syntax()
		}
		return "", p.fail("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
	case t.kind == tokenName:
		p.next()
		return t.text, nil
	}
	return "", p.syntax()
}
