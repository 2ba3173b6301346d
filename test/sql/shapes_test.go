// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"fmt"
	"slices"
	"strings"
)

// shapes are the forms of statement that the generator makes.
var shapes = []struct {
	name string
	make func(*generator) string
}{
	{"filter", (*generator).filter},
	{"aggregate", (*generator).aggregate},
	{"join", (*generator).join},
	{"window", (*generator).window},
	{"with", (*generator).with},
	{"recursive", (*generator).recursive},
	{"set", (*generator).set},
	{"limit", (*generator).limit},
	{"nested", (*generator).nested},
	{"grouping", (*generator).grouping},
	{"distinct", (*generator).distinct},
	{"pivot", (*generator).pivot},
	{"plain", (*generator).plain},
	{"summary", (*generator).summary},
}

// items are the expressions of a SELECT.
func (g *generator) items(s scope, n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = g.expr(s, kind(g.IntN(int(kinds))), 3)
	}
	return strings.Join(out, ", ")
}

func (g *generator) filter() string {
	s := g.source()
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s", g.items(s, 1+g.IntN(4)), s.from, g.expr(s, truth, 4))
}

// aggregateOf is an aggregate that does not depend on the order of its rows.
func (g *generator) aggregateOf(s scope) string {
	e := func(k kind) string { return g.expr(s, k, 2) }
	switch g.IntN(14) {
	case 0:
		return "count(*)"
	case 1:
		return "count(DISTINCT " + e(kind(g.IntN(int(kinds)))) + ")"
	case 2:
		return "sum(" + e(kind(g.IntN(3))) + ")"
	case 3:
		return "avg(" + e(kind(g.IntN(3))) + ")"
	case 4, 5:
		return g.oneOf("min", "max") + "(" + e(kind(g.IntN(int(kinds)))) + ")"
	case 6:
		return g.oneOf("bool_and", "bool_or") + "(" + e(truth) + ")"
	case 7:
		return fmt.Sprintf("list(%s ORDER BY %s)[1:5]", e(kind(g.IntN(int(kinds)))), s.key)
	case 8:
		return fmt.Sprintf("string_agg(%s, ',' ORDER BY %s)[1:60]", e(word), s.key)
	case 9:
		return fmt.Sprintf("%s(%s, %s)", g.oneOf("arg_min", "arg_max"), e(number), s.key)
	case 10:
		return "median(" + e(number) + ")"
	case 11:
		return fmt.Sprintf("count(%s) FILTER (WHERE %s)", e(number), e(truth))
	case 12:
		return "bit_xor(" + e(number) + ")"
	}
	return fmt.Sprintf("quantile_disc(%s, 0.%d)", e(g.numeric()), 1+g.IntN(9))
}

func (g *generator) numeric() kind { return []kind{number, money, real}[g.IntN(3)] }

func (g *generator) aggregate() string {
	s := g.source()
	aggs := g.aggregateOf(s) + ", " + g.aggregateOf(s)
	if g.IntN(4) == 0 {
		return fmt.Sprintf("SELECT %s FROM %s%s", aggs, s.from, g.where(s))
	}
	having := ""
	if g.IntN(3) == 0 {
		having = fmt.Sprintf(" HAVING count(*) > %d", g.IntN(5))
	}
	by := g.expr(s, kind(g.IntN(int(kinds))), 2)
	return fmt.Sprintf("SELECT %s AS k, %s FROM %s%s GROUP BY k%s", by, aggs, s.from, g.where(s), having)
}

// joined is two or three tables joined on keys.
func (g *generator) joined() scope {
	r, e := g.table("lab.robots"), g.table("lab.episodes")
	id := strings.TrimSuffix(e.key, ".id")
	how := g.oneOf("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
	s := scope{
		from: fmt.Sprintf("%s %s %s ON %s = %s.robot_id", r.from, how, e.from, r.key, id),
		key:  e.key, columns: append(r.columns, e.columns...),
	}
	if g.IntN(2) == 0 {
		s.from += " AND " + g.expr(s, truth, 1)
	}
	if g.IntN(2) == 0 {
		v := g.table("lab.events")
		s.from += fmt.Sprintf(" %s %s ON %s.episode_id = %s AND %s < 20000", g.oneOf("JOIN", "LEFT JOIN"), v.from, strings.TrimSuffix(v.key, ".id"), e.key, v.key)
		s.columns = append(s.columns, v.columns...)
	}
	return s
}

func (g *generator) join() string {
	s := g.joined()
	switch g.IntN(4) {
	case 0:
		a, b := g.table("lab.episodes"), g.table("lab.events")
		return fmt.Sprintf("SELECT %s FROM %s %s JOIN %s ON %s.episode_id = %s%s", g.items(a, 2), a.from, g.oneOf("SEMI", "ANTI"), b.from, strings.TrimSuffix(b.key, ".id"), a.key, g.where(a))
	case 1:
		a, b := g.table("lab.robots"), g.table("lab.robots")
		return fmt.Sprintf("SELECT %s, %s FROM %s, %s WHERE %s < %s AND %s", a.key, b.key, a.from, b.from, a.key, b.key, g.expr(scope{columns: append(a.columns, b.columns...)}, truth, 3))
	case 2:
		return fmt.Sprintf("SELECT %s AS k, count(*), %s FROM %s%s GROUP BY k", g.expr(s, word, 2), "max("+g.expr(s, number, 2)+")", s.from, g.where(s))
	}
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s", g.items(s, 3), s.from, g.expr(s, truth, 3))
}

func (g *generator) window() string {
	s := g.table(g.oneOf("lab.robots", "lab.episodes", "lab.episodes"))
	part := ""
	if g.IntN(3) > 0 {
		part = "PARTITION BY " + g.expr(s, kind(g.IntN(int(kinds))), 1) + " "
	}
	over := "OVER (" + part + "ORDER BY " + s.key + g.oneOf("", " DESC") + ")"
	frame := fmt.Sprintf("OVER (%sORDER BY %s ROWS BETWEEN %d PRECEDING AND %s)", part, s.key, g.IntN(4), g.oneOf("CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING"))
	call := g.oneOf(
		"row_number() "+over,
		"rank() OVER ("+part+"ORDER BY "+g.expr(s, number, 1)+")",
		"dense_rank() OVER ("+part+"ORDER BY "+g.expr(s, word, 1)+")",
		fmt.Sprintf("lag(%s, %d) %s", g.expr(s, kind(g.IntN(int(kinds))), 1), 1+g.IntN(3), over),
		fmt.Sprintf("lead(%s) %s", g.expr(s, kind(g.IntN(int(kinds))), 1), over),
		fmt.Sprintf("sum(%s) %s", g.expr(s, g.numeric(), 1), frame),
		fmt.Sprintf("max(%s) %s", g.expr(s, kind(g.IntN(int(kinds))), 1), frame),
		fmt.Sprintf("count(%s) %s", g.expr(s, word, 1), frame),
		fmt.Sprintf("first_value(%s) %s", g.expr(s, word, 1), frame),
		fmt.Sprintf("ntile(%d) %s", 2+g.IntN(6), over),
		"cume_dist() OVER ("+part+"ORDER BY "+g.expr(s, number, 1)+")",
	)
	if g.IntN(4) == 0 {
		return fmt.Sprintf("SELECT %s, %s AS w FROM %s%s QUALIFY w IS NOT NULL", s.key, call, s.from, g.where(s))
	}
	return fmt.Sprintf("SELECT %s, %s FROM %s%s", s.key, call, s.from, g.where(s))
}

func (g *generator) with() string {
	s, a := g.source(), g.name("w")
	c := scope{key: a + ".k", columns: []column{{a + ".k", number}, {a + ".b", word}, {a + ".c", truth}}}
	body := fmt.Sprintf("SELECT %s AS k, %s AS b, %s AS c FROM %s%s", s.key, g.expr(s, word, 2), g.expr(s, truth, 2), s.from, g.where(s))
	m := g.oneOf("", "MATERIALIZED ", "NOT MATERIALIZED ")
	if g.IntN(2) == 0 {
		return fmt.Sprintf("WITH %s AS %s(%s) SELECT x.k, y.b, %s FROM %s x JOIN %s y ON x.k = y.k + 1", a, m, body, "x.c IS DISTINCT FROM y.c", a, a)
	}
	return fmt.Sprintf("WITH %s AS %s(%s) SELECT %s, count(*) FROM %s WHERE %s GROUP BY ALL", a, m, body, g.expr(c, word, 2), a, g.expr(c, truth, 2))
}

func (g *generator) recursive() string {
	return fmt.Sprintf(`WITH RECURSIVE r(id, next, depth) AS (
		SELECT id, (id * %d) %% 200, 0 FROM lab.robots WHERE id < %d
		UNION %s SELECT b.id, (b.id * %d + r.depth) %% 200, r.depth + 1 FROM r JOIN lab.robots b ON b.id = r.next WHERE r.depth < %d)
		SELECT depth, count(*), count(DISTINCT id), sum(next) FROM r GROUP BY depth`, 3+g.IntN(5), 1+g.IntN(40), g.oneOf("", "ALL"), 2+g.IntN(7), 1+g.IntN(12))
}

func (g *generator) set() string {
	part := func() string {
		s := g.source()
		return fmt.Sprintf("SELECT %s, %s FROM %s%s", g.expr(s, number, 2), g.expr(s, word, 2), s.from, g.where(s))
	}
	op := func() string {
		return g.oneOf(" UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT ", " EXCEPT ALL ", " INTERSECT ALL ")
	}
	sql := "(" + part() + ")" + op() + "(" + part() + ")"
	if g.IntN(2) == 0 {
		sql = "(" + sql + ")" + op() + "(" + part() + ")"
	}
	return sql
}

func (g *generator) limit() string {
	s := g.source()
	if g.IntN(3) == 0 {
		s = g.joined()
	}
	items := make([]string, 2+g.IntN(2))
	by := make([]string, len(items))
	for i := range items {
		items[i] = g.expr(s, kind(g.IntN(int(kinds)-1)), 2)
		by[i] = fmt.Sprint(i+1, g.oneOf("", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
	}
	sql := fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s LIMIT %d", strings.Join(items, ", "), s.from, g.where(s), strings.Join(by, ", "), g.IntN(300))
	if g.IntN(2) == 0 {
		sql += fmt.Sprintf(" OFFSET %d", g.IntN(50))
	}
	return sql
}

func (g *generator) nested() string {
	a := g.name("t")
	from := "lab.episodes " + a
	switch g.IntN(8) {
	case 0:
		return fmt.Sprintf("SELECT %s.id, unnest(scores) AS s FROM %s WHERE id %% %d = 0", a, from, 2+g.IntN(9))
	case 1:
		return fmt.Sprintf("SELECT id, info, attrs FROM %s WHERE info.a > %d", from, g.IntN(100))
	case 2:
		return fmt.Sprintf("SELECT id, map_from_entries(attrs)['k%d'], map_keys(map_from_entries(attrs)).list_sort(), map_from_entries(attrs) FROM %s WHERE attrs[1].value > %d", g.IntN(4), from, g.IntN(50))
	case 3:
		return fmt.Sprintf("SELECT {'id': id, 'again': [info.b.c, task], 'when': started} FROM %s WHERE id < %d", from, g.IntN(500))
	case 4:
		return fmt.Sprintf("SELECT s, count(*), sum(id) FROM (SELECT id, unnest(info.b.d) AS s FROM %s) GROUP BY s", from)
	case 5:
		return fmt.Sprintf("SELECT task, list({'a': steps, 'b': ok} ORDER BY id)[1:3] FROM %s GROUP BY task", from)
	case 6:
		return fmt.Sprintf("SELECT id, list_reduce(scores, lambda x, y: x + y), [x * 2 FOR x IN scores IF x > %d] FROM %s WHERE len(scores) > 0", g.IntN(9), from)
	}
	return fmt.Sprintf("SELECT r.id, u.tag FROM lab.robots r, unnest(r.tags) u(tag) WHERE u.tag > %d", g.IntN(8))
}

func (g *generator) grouping() string {
	how := g.oneOf("ROLLUP (task, ok)", "CUBE (task, ok)", "GROUPING SETS ((task), (ok), ())")
	s := g.table("lab.episodes")
	a := strings.TrimSuffix(s.key, ".id")
	return fmt.Sprintf("SELECT %[1]s.task, %[1]s.ok, grouping(%[1]s.task), %[2]s FROM %[3]s%[4]s GROUP BY %[5]s", a, g.aggregateOf(s), s.from, g.where(s), how)
}

func (g *generator) distinct() string {
	s := g.source()
	if g.IntN(2) == 0 {
		return fmt.Sprintf("SELECT DISTINCT %s FROM %s%s", g.items(s, 2), s.from, g.where(s))
	}
	return fmt.Sprintf("SELECT DISTINCT ON (k) %s AS k, %s FROM %s%s ORDER BY k, %s", g.expr(s, word, 2), g.expr(s, number, 1), s.from, g.where(s), s.key)
}

func (g *generator) pivot() string {
	return fmt.Sprintf("PIVOT (SELECT task, ok, steps, id %% %d AS m FROM lab.episodes) ON task IN ('pick', 'place', 'push') USING %s GROUP BY m", 2+g.IntN(9),
		g.oneOf("sum(steps)", "count(*)", "max(steps)"))
}

// bare is a table under its own name, with the columns that are no fields of
// others; half of the names say where they are from.
func (g *generator) bare() scope {
	name := g.oneOf("lab.robots", "lab.episodes", "lab.events")
	s := scope{from: name, key: "id"}
	alias := ""
	switch g.IntN(4) {
	case 0:
		alias = g.name("t") + "."
		s.from += " " + strings.TrimSuffix(alias, ".")
	case 1:
		alias = strings.TrimPrefix(name, "lab.") + "."
	}
	for _, c := range tables[name] {
		if !strings.Contains(c.expr, ".") {
			s.columns = append(s.columns, column{alias + c.expr, c.kind})
		}
	}
	return s
}

// columnOf is a column of one of the kinds.
func (g *generator) columnOf(s scope, of ...kind) column {
	var fit []column
	for _, c := range s.columns {
		if len(of) == 0 || slices.Contains(of, c.kind) {
			fit = append(fit, c)
		}
	}
	return fit[g.IntN(len(fit))]
}

// tests are conditions that hold columns against constants.
func (g *generator) tests(s scope) string {
	var all []string
	for range 1 + g.IntN(3) {
		c := g.columnOf(s, number, real, word, truth, day, moment)
		constant := func() string { return strings.TrimSuffix(g.leaf(scope{}, c.kind), "::DOUBLE") }
		switch g.IntN(6) {
		case 0:
			all = append(all, c.expr+" IS "+g.oneOf("", "NOT ")+"NULL")
		case 1:
			all = append(all, fmt.Sprintf("%s %sIN (%s, %s)", c.expr, g.oneOf("", "NOT "), constant(), constant()))
		case 2:
			all = append(all, fmt.Sprintf("(%s = %s OR %s > %s)", c.expr, constant(), c.expr, constant()))
		default:
			all = append(all, c.expr+" "+g.oneOf("=", "<>", "<", "<=", ">", ">=")+" "+constant())
		}
	}
	return strings.Join(all, " AND ")
}

// plain only names columns of rows.
func (g *generator) plain() string {
	s := g.bare()
	items := make([]string, 0, len(s.columns))
	for i, at := range g.Perm(len(s.columns))[:1+g.IntN(3)] {
		items = append(items, fmt.Sprintf("%s AS c%d", s.columns[at].expr, i))
	}
	return fmt.Sprintf("SELECT %s FROM %s WHERE %s", strings.Join(items, ", "), s.from, g.tests(s))
}

// summary calls functions of columns, of groups that columns tell apart.
func (g *generator) summary() string {
	s := g.bare()
	var items []string
	for i := range g.IntN(3) {
		items = append(items, fmt.Sprintf("%s AS k%d", g.columnOf(s, number, word, truth, day, moment).expr, i))
	}
	for i := range 1 + g.IntN(3) {
		call := "count(*)"
		switch g.IntN(5) {
		case 0:
			call = "count(" + g.columnOf(s).expr + ")"
		case 1, 2:
			call = g.oneOf("sum", "avg") + "(" + g.columnOf(s, number).expr + ")"
		case 3:
			call = g.oneOf("min", "max") + "(" + g.columnOf(s, number, word, day, moment).expr + ")"
		}
		items = append(items, fmt.Sprintf("%s AS f%d", call, i))
	}
	where := ""
	if g.IntN(3) > 0 {
		where = " WHERE " + g.tests(s)
	}
	return fmt.Sprintf("SELECT %s FROM %s%s GROUP BY ALL", strings.Join(items, ", "), s.from, where)
}
