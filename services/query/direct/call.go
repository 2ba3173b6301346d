// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package direct

import (
	_ "embed" // the list of keywords
	"regexp"
	"strconv"
	"strings"

	"github.com/lakeplane/lake/services/query/fold"
	"github.com/lakeplane/lake/services/query/tree"
)

// functions are those of one column, by the names SQL has for them.
var functions = map[any]fold.Func{
	"count": fold.Count, "sum": fold.Sum, "min": fold.Min, "max": fold.Max, "avg": fold.Avg, "mean": fold.Avg,
	"stddev": fold.StddevSamp, "stddev_samp": fold.StddevSamp, "stddev_pop": fold.StddevPop,
	"variance": fold.VarSamp, "var_samp": fold.VarSamp, "var_pop": fold.VarPop,
}

// call takes a call of an aggregate function of a column, or of none.
func (s *names) call(n tree.Object) (c Column, ok bool) {
	order, _ := n["order_bys"].(tree.Object)
	if n["class"] != "FUNCTION" || !tree.NothingBut(order, "type") ||
		!tree.NothingBut(n, "class", "type", "alias", "query_location", "function_name", "children", "filter", "order_bys") {
		return c, false
	}
	c.As, _ = n["alias"].(string)
	name, _ := n["function_name"].(string)
	children, _ := n["children"].([]any)
	argument, ok := "", len(children) < 2
	if len(children) == 1 {
		argument, ok = s.argument(&c, name, children[0])
	} else if c.Func = fold.CountRows; name != "count_star" {
		return c, false
	}
	if !ok {
		return c, false
	}
	c.Call = name + "(" + argument + ")"
	if n["filter"] != nil {
		if c.Filter, ok = s.column(n["filter"]); !ok {
			return c, false
		}
		c.Call += " FILTER (WHERE " + written(n["filter"]) + ")"
	}
	return c, true
}

// argument takes a column, and returns it as SQL writes it. What count counts
// may also be a number, which no row lacks.
func (s *names) argument(c *Column, function string, v any) (text string, ok bool) {
	if number, isCount := tree.Count(v); isCount && function == "count" {
		c.Func = fold.CountRows
		return strconv.FormatInt(number, 10), true
	}
	if c.Func, ok = functions[function]; !ok {
		return "", false
	}
	if c.Name, ok = s.column(v); !ok {
		return "", false
	}
	return written(v), true
}

// written is a column as SQL writes it.
func written(v any) string {
	n, _ := v.(tree.Object)
	parts, _ := n["column_names"].([]any)
	names := make([]string, len(parts))
	for i, part := range parts {
		name, _ := part.(string)
		names[i] = quoted(name)
	}
	return strings.Join(names, ".")
}

//go:embed keywords.txt
var keywordsText string

var (
	keywords = tree.Names(keywordsText)
	simple   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// quoted is a name as SQL writes it.
func quoted(name string) string {
	if simple.MatchString(name) && !keywords[strings.ToLower(name)] {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
