// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// kind is what an expression of the generator yields.
type kind int

const (
	number kind = iota // BIGINT or INTEGER
	money              // DECIMAL
	real               // DOUBLE, always a multiple of 1/8: sums are exact
	word               // VARCHAR
	truth              // BOOLEAN
	day                // DATE
	moment             // TIMESTAMP
	list               // INTEGER[]
	kinds
)

// generator writes statements whose result depends on the data alone: what
// needs an order has one, what has none is compared as a bag of rows.
type generator struct {
	*rand.Rand
	names int
}

// column is something that an expression may be made of.
type column struct {
	expr string
	kind kind
}

// scope is what the FROM of a query offers. key is unique in it.
type scope struct {
	from    string
	key     string
	columns []column
}

func (g *generator) oneOf(texts ...string) string { return texts[g.IntN(len(texts))] }

// name makes a new alias.
func (g *generator) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

// tables are what the data of the test hold; see sampleData.
var tables = map[string][]column{
	"lab.robots": {
		{"id", number},
		{"name", word},
		{"model", word},
		{"weight", real},
		{"born", day},
		{"tags", list},
		{"pose.x", real},
		{"pose.y", number},
		{"pose.frame", word},
	},
	"lab.episodes": {
		{"id", number},
		{"robot_id", number},
		{"task", word},
		{"reward", money},
		{"steps", number},
		{"ok", truth},
		{"started", moment},
		{"day", day},
		{"scores", list},
		{"small", number},
		{"f", real},
		{"info.a", number},
		{"info.b.c", word},
		{"info.b.d", list},
	},
	"lab.events": {
		{"id", number}, {"episode_id", number}, {"seq", number}, {"kind", word}, {"value", number}, {"at", moment},
	},
}

func (g *generator) table(name string) scope {
	a := g.name("t")
	s := scope{from: name + " " + a, key: a + ".id"}
	for _, c := range tables[name] {
		s.columns = append(s.columns, column{a + "." + c.expr, c.kind})
	}
	return s
}

// source is a table, or a query in its place.
func (g *generator) source() scope {
	name := g.oneOf("lab.robots", "lab.episodes", "lab.episodes", "lab.events")
	s := g.table(name)
	if g.IntN(4) > 0 {
		return s
	}
	a := g.name("q")
	inner := scope{key: a + ".k"}
	items := []string{s.key + " AS k"}
	for range 2 + g.IntN(3) {
		k, c := kind(g.IntN(int(kinds))), g.name("c")
		items = append(items, g.expr(s, k, 2)+" AS "+c)
		inner.columns = append(inner.columns, column{a + "." + c, k})
	}
	inner.columns = append(inner.columns, column{a + ".k", number})
	inner.from = fmt.Sprintf("(SELECT %s FROM %s%s) %s", strings.Join(items, ", "), s.from, g.where(s), a)
	return inner
}

// where is a filter, or nothing.
func (g *generator) where(s scope) string {
	if g.IntN(2) == 0 {
		return ""
	}
	return " WHERE " + g.expr(s, truth, 3)
}

// expr writes an expression of a kind.
func (g *generator) expr(s scope, k kind, depth int) string {
	if depth <= 0 || g.IntN(5) == 0 {
		return g.leaf(s, k)
	}
	sub := func(k kind) string { return g.expr(s, k, depth-1) }
	if g.IntN(7) == 0 {
		switch g.IntN(4) {
		case 0:
			return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", sub(truth), sub(k), sub(k))
		case 1:
			return fmt.Sprintf("coalesce(%s, %s)", sub(k), sub(k))
		case 2:
			return fmt.Sprintf("nullif(%s, %s)", sub(k), g.leaf(s, k))
		}
		return fmt.Sprintf("CASE WHEN %s THEN %s END", sub(truth), sub(k))
	}
	switch k {
	case number:
		return g.numberExpr(sub)
	case money:
		return g.oneOf("("+sub(money)+" + 1.250)", "round("+sub(money)+", 1)", "("+sub(number)+" % 1000)::DECIMAL(12,3)", "-"+sub(money), "abs("+sub(money)+")")
	case real:
		return g.oneOf("("+sub(real)+" + 0.125)", "("+sub(number)+" % 4096)::DOUBLE", "floor("+sub(real)+")", "("+sub(real)+" * 0.5)", "greatest("+sub(real)+", "+sub(real)+")")
	case word:
		return g.wordExpr(sub)
	case truth:
		return g.truthExpr(s, sub, depth)
	case day:
		return g.oneOf(fmt.Sprintf("(%s + %d)", sub(day), g.IntN(400)-200), "date_trunc('month', "+sub(day)+")::DATE", sub(moment)+"::DATE", "last_day("+sub(day)+")")
	case moment:
		return g.oneOf(fmt.Sprintf("(%s + INTERVAL %d HOUR)", sub(moment), g.IntN(100)), "date_trunc('"+g.oneOf("hour", "day", "quarter")+"', "+sub(moment)+")::TIMESTAMP", sub(day)+"::TIMESTAMP")
	}
	return g.listExpr(sub)
}

func (g *generator) numberExpr(sub func(kind) string) string {
	switch g.IntN(11) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", sub(number), g.oneOf("+", "-"), sub(number))
	case 1:
		return fmt.Sprintf("(%s %% %d)", sub(number), 2+g.IntN(50))
	case 2:
		return "length(" + sub(word) + ")"
	case 3:
		return "len(" + sub(list) + ")"
	case 4:
		return fmt.Sprintf("extract(%s FROM %s)", g.oneOf("year", "month", "dow", "quarter"), sub(day))
	case 5:
		return "(" + sub(truth) + ")::INTEGER"
	case 6:
		return fmt.Sprintf("date_diff('day', %s, %s)", sub(day), sub(day))
	case 7:
		return g.oneOf("list_sum(", "list_max(", "list_min(") + sub(list) + ")::BIGINT"
	case 8:
		return sub(list) + fmt.Sprintf("[%d]", 1+g.IntN(3))
	case 9:
		return fmt.Sprintf("(%s // %d)", sub(number), 1+g.IntN(9))
	}
	return "abs(" + sub(number) + " % 100000)"
}

func (g *generator) wordExpr(sub func(kind) string) string {
	switch g.IntN(8) {
	case 0:
		return g.oneOf("upper(", "lower(", "reverse(", "trim(", "md5(") + sub(word) + ")"
	case 1:
		return fmt.Sprintf("substr(%s, %d, %d)", sub(word), 1+g.IntN(4), 1+g.IntN(6))
	case 2:
		return "(" + sub(word) + " || " + sub(word) + ")[1:40]"
	case 3:
		return g.oneOf(sub(number), sub(day), sub(truth), sub(moment), sub(list)) + "::VARCHAR"
	case 4:
		return "replace(" + sub(word) + ", 'a', 'ä')"
	case 5:
		return "strftime(" + sub(day) + ", '%Y/%m')"
	case 6:
		return "lpad(" + sub(word) + ", 12, '*')"
	}
	return "concat_ws('-', " + sub(word) + ", " + sub(number) + ")[1:40]"
}

func (g *generator) truthExpr(s scope, sub func(kind) string, depth int) string {
	switch g.IntN(12) {
	case 0:
		return "(" + sub(truth) + " AND " + sub(truth) + ")"
	case 1:
		return "(" + sub(truth) + " OR " + sub(truth) + ")"
	case 2:
		return "NOT " + sub(truth)
	case 3:
		return "(" + sub(kind(g.IntN(int(kinds)))) + " IS " + g.oneOf("", "NOT ") + "NULL)"
	case 4:
		return "(" + sub(word) + " LIKE '" + g.oneOf("%a%", "r_b%", "%e", "%1%") + "')"
	case 5:
		return fmt.Sprintf("(%s IN (%d, %d, %d, NULL))", sub(number), g.IntN(10), g.IntN(100), g.IntN(1000))
	case 6:
		return fmt.Sprintf("list_contains(%s, %d)", sub(list), g.IntN(10))
	case 7:
		k := kind(g.IntN(int(kinds) - 1))
		return "(" + sub(k) + " IS DISTINCT FROM " + sub(k) + ")"
	case 8:
		k := kind(g.IntN(3))
		return "(" + sub(k) + " BETWEEN " + sub(k) + " AND " + sub(k) + ")"
	case 9:
		if depth > 2 {
			return g.correlated(s)
		}
	}
	k := kind(g.IntN(int(kinds) - 1))
	return "(" + sub(k) + " " + g.oneOf("=", "<>", "<", "<=", ">", ">=") + " " + sub(k) + ")"
}

// correlated asks about another table for each row of this one.
func (g *generator) correlated(s scope) string {
	in := g.table(g.oneOf("lab.robots", "lab.episodes"))
	own := g.leaf(s, number)
	switch g.IntN(3) {
	case 0:
		return fmt.Sprintf("%sEXISTS (SELECT 1 FROM %s WHERE %s = %s AND %s)", g.oneOf("", "NOT "), in.from, in.key, own, g.expr(in, truth, 1))
	case 1:
		return fmt.Sprintf("(%s IN (SELECT %s FROM %s WHERE %s))", own, g.leaf(in, number), in.from, g.expr(in, truth, 1))
	}
	return fmt.Sprintf("((SELECT max(%s) FROM %s WHERE %s = %s) > %d)", g.leaf(in, number), in.from, in.key, own, g.IntN(50))
}

func (g *generator) listExpr(sub func(kind) string) string {
	switch g.IntN(6) {
	case 0:
		return fmt.Sprintf("list_transform(%s, lambda x: x + %d)", sub(list), g.IntN(9))
	case 1:
		return fmt.Sprintf("list_filter(%s, lambda x: x %% 2 = %d)", sub(list), g.IntN(2))
	case 2:
		return "list_sort(" + sub(list) + ")"
	case 3:
		return sub(list) + "[1:2]"
	case 4:
		return "list_concat(" + sub(list) + ", " + sub(list) + ")[1:6]"
	}
	return "list_distinct(" + sub(list) + ").list_sort()"
}

// leaf is a column, or a constant where there is none of the kind.
func (g *generator) leaf(s scope, k kind) string {
	var fit []string
	for _, c := range s.columns {
		if c.kind == k {
			fit = append(fit, c.expr)
		}
	}
	if len(fit) > 0 && g.IntN(8) > 0 {
		return fit[g.IntN(len(fit))]
	}
	if g.IntN(12) == 0 {
		return "CAST(NULL AS " + []string{"BIGINT", "DECIMAL(10,3)", "DOUBLE", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "INTEGER[]"}[k] + ")"
	}
	switch k {
	case number:
		return fmt.Sprint(g.IntN(2000) - 500)
	case money:
		return fmt.Sprintf("%d.%03d", g.IntN(100), g.IntN(1000))
	case real:
		return fmt.Sprintf("%d.%s::DOUBLE", g.IntN(100), g.oneOf("0", "125", "25", "5"))
	case word:
		return g.oneOf("'pick'", "'r2'", "''", "'naïve'", "'it''s'")
	case truth:
		return g.oneOf("true", "false")
	case day:
		return fmt.Sprintf("DATE '2026-%02d-%02d'", 1+g.IntN(12), 1+g.IntN(28))
	case moment:
		return fmt.Sprintf("TIMESTAMP '2026-%02d-%02d 0%d:30:00'", 1+g.IntN(12), 1+g.IntN(28), g.IntN(10))
	}
	return g.oneOf("([]::INTEGER[])", "[1, 2, NULL, 3]", "[7]")
}
