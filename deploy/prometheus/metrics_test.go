// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
)

// series is a metric as Prometheus has it.
type series struct {
	labels []string
	gauge  bool
}

// metrics are all that can be asked for: series by their names, with those that
// histograms are split into, and the words that are values of labels.
type metrics struct {
	series map[string]series
	words  map[string]bool
}

// target are the labels that Prometheus gives to what it scrapes.
var target = []string{"job", "instance"}

// exported reads the metrics out of the code, where each is made by a call like
// prometheus.NewCounterVec(prometheus.CounterOpts{Name: …}, labels).
func exported(t *testing.T) *metrics {
	t.Helper()
	m := &metrics{series: map[string]series{"up": {labels: target, gauge: true}}, words: map[string]bool{}}
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		m.words[code.String()] = true
	}
	own := 0
	for _, folder := range []string{"activities", "catalog", "cmd", "engine", "lake", "metastore", "objstore", "services", "worker", "workflows"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err == nil {
				own += m.declared(file)
			}
			return err
		}))
	}
	require.Greater(t, own, 40, "metrics are made in another way than this test knows")
	m.ofTheRuntime(t)
	return m
}

// declared takes the metrics and the words of a file, and counts the metrics.
func (m *metrics) declared(file *ast.File) (n int) {
	shared := constLabels(file)
	ast.Inspect(file, func(node ast.Node) bool {
		if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			word, _ := strconv.Unquote(lit.Value)
			m.words[word] = true
		}
		call, ok := node.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		kind := prometheusName(call.Fun)
		opts, ok := call.Args[0].(*ast.CompositeLit)
		if !ok || !strings.HasPrefix(kind, "New") {
			return true
		}
		name, labels := "", slices.Clone(target)
		for _, field := range opts.Elts {
			kv := field.(*ast.KeyValueExpr)
			switch kv.Key.(*ast.Ident).Name {
			case "Name":
				name = literals(kv.Value)[0]
			case "ConstLabels":
				if id, ok := kv.Value.(*ast.Ident); ok {
					labels = append(labels, shared[id.Name]...)
				}
				labels = append(labels, keys(kv.Value)...)
			}
		}
		if strings.HasSuffix(kind, "Vec") {
			labels = append(labels, literals(call.Args[1])...)
		}
		m.add(name, strings.Contains(kind, "Histogram"), strings.Contains(kind, "Gauge"), labels)
		n++
		return true
	})
	return n
}

func (m *metrics) add(name string, histogram, gauge bool, labels []string) {
	if !histogram {
		m.series[name] = series{labels: labels, gauge: gauge}
		return
	}
	m.series[name+"_count"], m.series[name+"_sum"] = series{labels: labels}, series{labels: labels}
	m.series[name+"_bucket"] = series{labels: append(slices.Clone(labels), "le")}
}

// ofTheRuntime adds what every Go process tells (process.NewTelemetry).
func (m *metrics) ofTheRuntime(t *testing.T) {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		m.series[f.GetName()] = series{labels: target, gauge: f.GetType().String() == "GAUGE"}
	}
}

// record adds a recorded series.
func (m *metrics) record(name, expr string) {
	m.series[name] = series{labels: m.resultLabels(expr), gauge: true}
}

// constLabels finds the labels that a file gives a name first.
func constLabels(file *ast.File) map[string][]string {
	out := map[string][]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		if a, ok := node.(*ast.AssignStmt); ok && len(a.Lhs) == 1 {
			if lit, ok := a.Rhs[0].(*ast.CompositeLit); ok && prometheusName(lit.Type) == "Labels" {
				out[a.Lhs[0].(*ast.Ident).Name] = keys(lit)
			}
		}
		return true
	})
	return out
}

// prometheusName returns X of the expression prometheus.X.
func prometheusName(e ast.Expr) string {
	if sel, ok := e.(*ast.SelectorExpr); ok {
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "prometheus" {
			return sel.Sel.Name
		}
	}
	return ""
}

func keys(e ast.Node) (out []string) {
	if lit, ok := e.(*ast.CompositeLit); ok {
		for _, field := range lit.Elts {
			out = append(out, literals(field.(*ast.KeyValueExpr).Key)...)
		}
	}
	return out
}

func literals(e ast.Node) (out []string) {
	ast.Inspect(e, func(node ast.Node) bool {
		if lit, ok := node.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			word, _ := strconv.Unquote(lit.Value)
			out = append(out, word)
		}
		return true
	})
	return out
}

var (
	grouping = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	duration = regexp.MustCompile(`\[[^\]]*\]|\boffset\s+\w+`)
	selector = regexp.MustCompile(`\b([a-zA-Z_:][\w:]*)\s*(\{[^}]*\}|\()?`)
	matcher  = regexp.MustCompile(`(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"`)
	growth   = regexp.MustCompile(`\b(?:rate|irate|increase)\s*\(\s*([\w:]+)`)
	keywords = []string{"and", "or", "unless", "bool"}
)

// selected are the metrics of an expression with the matchers of each. It knows
// as much of the language as the files here use.
func selected(expr string) (out [][2]string) {
	expr = duration.ReplaceAllString(grouping.ReplaceAllString(expr, " "), " ")
	for _, s := range selector.FindAllStringSubmatch(expr, -1) {
		if s[2] != "(" && !slices.Contains(keywords, s[1]) {
			out = append(out, [2]string{s[1], s[2]})
		}
	}
	return out
}

// mistakes says what an expression asks for that there is not.
func (m *metrics) mistakes(expr string) (out []string) {
	var have []string
	found := selected(expr)
	if len(found) == 0 {
		return []string{"it asks for no metric"}
	}
	for _, s := range found {
		metric, ok := m.series[s[0]]
		if !ok {
			out = append(out, "there is no metric "+s[0])
			continue
		}
		have = append(have, metric.labels...)
		for _, match := range matcher.FindAllStringSubmatch(s[1], -1) {
			if !slices.Contains(metric.labels, match[1]) {
				out = append(out, fmt.Sprintf("%s has no label %s", s[0], match[1]))
			}
			for _, value := range strings.Split(match[3], "|") {
				if !m.words[value] {
					out = append(out, fmt.Sprintf("%s: nothing in the code gives %s the value %q", s[0], match[1], value))
				}
			}
		}
	}
	for _, g := range growth.FindAllStringSubmatch(expr, -1) {
		if m.series[g[1]].gauge {
			out = append(out, g[1]+" is a gauge, which has no rate")
		}
	}
	for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
		for _, label := range words(g[2]) {
			if len(out) == 0 && !slices.Contains(have, label) {
				out = append(out, "no metric of the expression has the label "+label)
			}
		}
	}
	return out
}

// resultLabels are the labels that the result of an expression may have: those
// that it sums by, or all of its first metric.
func (m *metrics) resultLabels(expr string) []string {
	for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
		if g[1] == "by" {
			return words(g[2])
		}
	}
	if strings.Contains(expr, "sum(") || strings.Contains(expr, "absent(") {
		return nil
	}
	return m.series[selected(expr)[0][0]].labels
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// TestMistakesAreFound: the tests of the files can fail.
func TestMistakesAreFound(t *testing.T) {
	known := exported(t)
	for expr, mistake := range map[string]string{
		`sum(lake_metasrv_write_reddy) > 1`:                                      "no metric lake_metasrv_write_reddy",
		`up == 0 and on (job) lake_process_inf`:                                  "no metric lake_process_inf",
		`rate(lake_rpc_duration_seconds[5m])`:                                    "no metric lake_rpc_duration_seconds",
		`lake_query_slots{status="busy"}`:                                        "lake_query_slots has no label status",
		`sum(lake_query_slots{pool="query",state="bussy"})`:                      `the value "bussy"`,
		`rate(lake_metasrv_commit_total{outcome=~"unavailable|lost track"}[5m])`: `the value "lost track"`,
		`sum by (job, tennant) (lake_query_slots)`:                               "the label tennant",
		`rate(lake_query_inflight_requests[5m])`:                                 "is a gauge",
		`1 > 0`:                                                                  "asks for no metric",
	} {
		require.Contains(t, strings.Join(known.mistakes(expr), "; "), mistake, expr)
	}
	require.Empty(t, known.mistakes(`histogram_quantile(0.9, sum by (le, pool) (rate(lake_query_slot_wait_seconds_bucket[5m]))) > 1e3`))
	require.ElementsMatch(t, []string{"job", "instance", "pool", "state"}, known.series["lake_query_slots"].labels)
	require.ElementsMatch(t, []string{"job", "instance", "pool", "reason"}, known.series["lake_query_slot_restarts_total"].labels)
	require.ElementsMatch(t, []string{"job", "instance", "state"}, known.series["lake_query_ingestions"].labels)
	require.Contains(t, known.series["process_resident_memory_bytes"].labels, "job")
}
