// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package prune

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
	"github.com/lakeplane/lake/services/query/literal"
	"github.com/lakeplane/lake/services/query/tree"
)

// op is a comparison of a column with a constant.
type op uint8

const (
	equal op = iota
	notEqual
	less
	atMost
	greater
	atLeast
)

// turned is the comparison with its sides changed.
func (o op) turned() op {
	switch o {
	case less:
		return greater
	case atMost:
		return atLeast
	case greater:
		return less
	case atLeast:
		return atMost
	}
	return o
}

// The conditions.
type (
	compare struct {
		column []string
		op     op
		value  literal.Value
	}
	in struct {
		column []string
		values []literal.Value
	}
	inside struct {
		column    []string
		low, high literal.Value
	}
	null struct {
		column []string
		want   bool
	}
	begins struct {
		column []string
		prefix string
	}
	and []condition
	or  []condition
)

// binder makes predicates on one table of a scope.
type binder struct {
	scope  *scope
	tables []Table
	at     int // of the table
	params arrow.RecordBatch
}

// maxConditions bounds the conditions of one conjunction and the sides of one
// disjunction; what they save does not grow with them.
const maxConditions = 256

// all binds a conjunction: what is not known is left out.
func (b *binder) all(conditions []condition) predicate.Predicate {
	var out predicate.And
	for _, c := range conditions {
		if p := c.bind(b); p != nil {
			out = append(out, p)
		}
		if len(out) == maxConditions {
			break
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return out
}

func (c and) bind(b *binder) predicate.Predicate { return b.all(c) }

// bind needs to know every side.
func (c or) bind(b *binder) predicate.Predicate {
	if len(c) > maxConditions {
		return nil
	}
	out := make(predicate.Or, len(c))
	for i, side := range c {
		if out[i] = side.bind(b); out[i] == nil {
			return nil
		}
	}
	return out
}

func (c null) bind(b *binder) predicate.Predicate {
	at, ok := b.find(c.column)
	switch {
	case !ok:
		return nil
	case !c.want:
		return predicate.NotNull{Column: at}
	case b.scope.outer: // a row of nulls may come of what is left out
		return nil
	}
	return predicate.Null{Column: at}
}

func (c compare) bind(b *binder) predicate.Predicate {
	at, ok := b.find(c.column)
	if !ok {
		return nil
	}
	within, ok := b.interval(c.value, at)
	if !ok {
		return nil
	}
	return within.compare(at, c.op)
}

func (c inside) bind(b *binder) predicate.Predicate {
	within := b.intervals(c.column, []literal.Value{c.low, c.high})
	if len(within) != 2 {
		return nil
	}
	at, _ := b.find(c.column)
	return predicate.And{within[0].compare(at, atLeast), within[1].compare(at, atMost)}
}

func (c in) bind(b *binder) predicate.Predicate {
	within := b.intervals(c.column, c.values)
	if len(within) == 0 {
		return nil
	}
	at, _ := b.find(c.column)
	return oneOf(within, at)
}

// intervals returns those of constants that SQL compares a column with at once,
// without nulls, which equal nothing; nil when one of them is not known.
func (b *binder) intervals(name []string, constants []literal.Value) []interval {
	at, ok := b.find(name)
	if !ok {
		return nil
	}
	var values []literal.Value
	for _, c := range constants {
		if c = b.value(c); c != (literal.Null{}) {
			values = append(values, c)
		}
	}
	if values = unify(values); values == nil {
		return nil
	}
	within := make([]interval, len(values))
	for i, v := range values {
		if within[i], ok = b.interval(v, at); !ok {
			return nil
		}
	}
	return within
}

// value looks a placeholder up; nil is not known.
func (b *binder) value(c literal.Value) literal.Value {
	if p, ok := c.(literal.Placeholder); ok {
		return p.Parameter(b.params)
	}
	return c
}

// unify makes constants of one type, as SQL does before it compares a column
// with several; nil when they have none, or which is not known.
func unify(values []literal.Value) []literal.Value {
	joint, numbers := literal.Number{}, 0
	for _, v := range values {
		switch v := v.(type) {
		case literal.Number:
			numbers++
			joint.Whole, joint.Fraction = max(joint.Whole, v.Whole), max(joint.Fraction, v.Fraction)
			if v.Float != 0 && (joint.Float == 0 || v.Float < joint.Float) {
				joint.Float = v.Float // the coarser one, to be safe
			}
		case literal.Text:
			if first, ok := values[0].(literal.Text); !ok || first.As != v.As {
				return nil
			}
		case literal.Moment:
			if first, ok := values[0].(literal.Moment); !ok || first.Zoned != v.Zoned {
				return nil
			}
		case literal.Boolean:
		default:
			return nil
		}
	}
	switch numbers {
	case 0:
		return values
	case len(values):
	default:
		return nil
	}
	out := make([]literal.Value, len(values))
	for i, v := range values {
		joint.Value = v.(literal.Number).Value
		out[i] = joint
	}
	return out
}

// oneOf asks for one of the intervals, or for the range of all where there are
// many.
func oneOf(within []interval, at int) predicate.Predicate {
	if len(within) == 0 {
		return nil
	}
	if len(within) > maxConditions {
		return hull(within).compare(at, equal)
	}
	exact := predicate.In{Column: at}
	var some predicate.Or
	for _, i := range within {
		if i.exact() {
			exact.Values = append(exact.Values, i.low)
		} else {
			some = append(some, i.compare(at, equal))
		}
	}
	switch {
	case len(some) == 0:
		return exact
	case len(exact.Values) > 0:
		some = append(some, exact)
	}
	return some
}

func (c begins) bind(b *binder) predicate.Predicate {
	at, ok := b.find(c.column)
	if !ok || c.prefix == "" || !isText(b.field(at).Type) {
		return nil
	}
	from := predicate.Compare{Column: at, Op: predicate.GreaterOrEqual, Value: c.prefix}
	if end, ok := after(c.prefix); ok {
		return predicate.And{from, predicate.Compare{Column: at, Op: predicate.Less, Value: end}}
	}
	return from
}

// after is the first text above all that begin with s.
func after(s string) (string, bool) {
	end := []byte(s)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return string(end[:i+1]), true
		}
	}
	return "", false
}

func (b *binder) field(at int) arrow.Field { return b.tables[b.at].Schema.Field(at) }

// find returns the column a name means, if it is sure to be one of the table.
func (b *binder) find(name []string) (int, bool) {
	own := b.scope.tables[b.at]
	switch len(name) {
	case 1:
		if b.elsewhere(name[0]) {
			return 0, false
		}
	case 2:
		if !tree.SameName(name[0], own.name) || b.ambiguous(own.name) {
			return 0, false
		}
	default:
		if own.name != own.ref.Table || !tree.SameName(name[0], own.ref.Schema) || !tree.SameName(name[1], own.name) || b.ambiguous(own.name) {
			return 0, false
		}
	}
	return indexOf(b.tables[b.at].Schema, name[len(name)-1])
}

// elsewhere reports whether a name alone may mean a column of another table.
func (b *binder) elsewhere(name string) bool {
	if slices.ContainsFunc(b.scope.using, func(s string) bool { return tree.SameName(s, name) }) {
		return true
	}
	for i, t := range b.tables {
		if i == b.at {
			continue
		}
		if t.Schema == nil { // not in storage: its columns are not known
			return true
		}
		if _, ok := indexOf(t.Schema, name); ok {
			return true
		}
	}
	return false
}

// ambiguous reports whether a qualifier may mean something else: another table,
// or a column with fields.
func (b *binder) ambiguous(qualifier string) bool {
	same := func(s string) bool { return tree.SameName(s, qualifier) }
	if slices.ContainsFunc(b.scope.others, same) {
		return true
	}
	for i, src := range b.scope.tables {
		if i != b.at && same(src.name) {
			return true
		}
		if s := b.tables[i].Schema; s != nil && slices.ContainsFunc(s.Fields(), func(f arrow.Field) bool { return same(f.Name) }) {
			return true
		}
	}
	return false
}

// indexOf finds the one column of a name, see [tree.SameName].
func indexOf(s *arrow.Schema, name string) (int, bool) {
	found := -1
	for i, f := range s.Fields() {
		if tree.SameName(f.Name, name) {
			if found >= 0 {
				return 0, false
			}
			found = i
		}
	}
	return found, found >= 0
}
