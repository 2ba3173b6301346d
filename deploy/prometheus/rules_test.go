// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package prometheus holds the alert rules and the dashboard to the metrics that
// the code has: an alert on a series that nobody exports never rings.
package prometheus

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// root is the repository.
const root = "../.."

// rule is one alert or one recorded series.
type rule struct {
	Alert       string            `yaml:"alert"`
	Record      string            `yaml:"record"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

func rules(t *testing.T) (out []rule) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string `yaml:"name"`
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	read(t, "lake.rules.yaml", func(text []byte, to any) error {
		d := yaml.NewDecoder(strings.NewReader(string(text)))
		d.KnownFields(true)
		return d.Decode(to)
	}, &file)
	for _, g := range file.Groups {
		out = append(out, g.Rules...)
	}
	require.Greater(t, len(out), 15)
	return out
}

func read(t *testing.T, path string, decode func([]byte, any) error, to any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, decode(text, to), path)
}

// TestRulesAskForMetricsThatExist, with labels and values that there are, also in
// the texts.
func TestRulesAskForMetricsThatExist(t *testing.T) {
	known, all := exported(t), rules(t)
	for _, r := range all {
		if r.Record != "" {
			known.record(r.Record, r.Expr)
		}
	}
	for _, r := range all {
		require.Empty(t, known.mistakes(r.Expr), r.Alert+r.Record)
		have := known.resultLabels(r.Expr)
		for _, text := range r.Annotations {
			for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
				require.Contains(t, have, m[1], "%s: the alert has no label %s", r.Alert, m[1])
			}
		}
	}
}

// TestAlertsAreComplete: whoever is woken learns what users suffer and which page
// says what to do.
func TestAlertsAreComplete(t *testing.T) {
	const pages = "https://github.com/lakeplane/lake/blob/main/"
	seen := map[string]bool{}
	for _, r := range rules(t) {
		if r.Record != "" {
			continue
		}
		require.Regexp(t, `^Lake[A-Z]\w+$`, r.Alert)
		require.False(t, seen[r.Alert], "%s is there twice", r.Alert)
		seen[r.Alert] = true
		require.NotEmpty(t, r.For, r.Alert)
		require.Contains(t, []string{"page", "ticket"}, r.Labels["severity"], r.Alert)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.NotEmpty(t, r.Annotations["description"], r.Alert)
		url, found := strings.CutPrefix(r.Annotations["runbook_url"], pages)
		require.True(t, found, "%s: runbook_url is below %s", r.Alert, pages)
		path, section, _ := strings.Cut(url, "#")
		require.True(t, strings.HasPrefix(path, "docs/runbooks/"), "%s: %s", r.Alert, path)
		require.Contains(t, sections(t, path), section, "%s: no such section in %s", r.Alert, path)
	}
}

// sections are the anchors of a page, and the empty one for the page as a whole.
func sections(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	out := []string{""}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		anchor := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(anchor, " ", "-"))
	}
	return out
}

// TestEveryAlertHasATest: one that fires, and one that does not.
func TestEveryAlertHasATest(t *testing.T) {
	type tests struct {
		Tests []struct {
			Queries []struct {
				Expr    string `yaml:"expr"`
				Samples []struct {
					Labels string `yaml:"labels"`
				} `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		} `yaml:"tests"`
	}
	var file, days tests
	read(t, "lake.rules_test.yaml", yaml.Unmarshal, &file)
	read(t, "lake.rules_days_test.yaml", yaml.Unmarshal, &days)
	fires, quiet := map[string]bool{}, map[string]bool{}
	asked := regexp.MustCompile(`alertname=(~?)"([^"]*)"`)
	for _, test := range append(file.Tests, days.Tests...) {
		for _, q := range test.Queries {
			firing := map[string]bool{}
			for _, s := range q.Samples {
				firing[asked.FindStringSubmatch(s.Labels)[2]] = true
			}
			about := regexp.MustCompile("^(?:" + asked.FindStringSubmatch(q.Expr)[2] + ")$")
			for _, r := range rules(t) {
				fires[r.Alert] = fires[r.Alert] || firing[r.Alert]
				quiet[r.Alert] = quiet[r.Alert] || about.MatchString(r.Alert) && !firing[r.Alert]
			}
		}
	}
	for _, r := range rules(t) {
		if r.Alert != "" {
			require.True(t, fires[r.Alert], "%s: no test in which it fires", r.Alert)
			require.True(t, quiet[r.Alert], "%s: no test in which it is quiet", r.Alert)
		}
	}
}

// TestPromtool takes the rules, passes their unit tests, and reads the expressions
// of the dashboard.
func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath(filepath.Join(root, "bin", "promtool"))
	if err != nil {
		promtool, err = exec.LookPath("promtool")
	}
	if err != nil {
		t.Skip("promtool is neither in bin/ nor in PATH: `tools/setup.sh promtool` gets it where Debian's packages can be had")
	}
	var queries []map[string]string
	for _, p := range dashboard(t).Panels {
		for _, target := range p.Targets {
			queries = append(queries, map[string]string{
				"record": fmt.Sprintf("panel:%d:%d", p.ID, len(queries)),
				"expr":   strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"),
			})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": queries}}})
	require.NoError(t, err)
	ofDashboard := filepath.Join(t.TempDir(), "dashboard.yaml")
	require.NoError(t, os.WriteFile(ofDashboard, text, 0o600))
	for _, args := range [][]string{{"check", "rules", "lake.rules.yaml"}, {"check", "rules", ofDashboard}, {"test", "rules", "lake.rules_test.yaml", "lake.rules_days_test.yaml"}} {
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		require.NoError(t, err, "promtool %s:\n%s", strings.Join(args, " "), out)
	}
}

// panel is what the dashboard shows in one place. A row has no queries.
type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	DataSource  struct {
		UID string `json:"uid"`
	} `json:"datasource"`
	GridPos     struct{ X, Y, W, H int } `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		Expr   string `json:"expr"`
		Legend string `json:"legendFormat"`
	} `json:"targets"`
}

// board is the dashboard.
type board struct {
	Panels     []panel `json:"panels"`
	Templating struct {
		List []struct{ Name, Type string } `json:"list"`
	} `json:"templating"`
}

func dashboard(t *testing.T) (b board) {
	t.Helper()
	read(t, filepath.Join("..", "grafana", "lake.json"), json.Unmarshal, &b)
	require.Greater(t, len(b.Panels), 30)
	return b
}

// TestDashboardAsksForMetricsThatExist, says what each panel means and in which
// unit, and overlaps nowhere.
func TestDashboardAsksForMetricsThatExist(t *testing.T) {
	board := dashboard(t)
	require.Len(t, board.Templating.List, 1)
	require.Equal(t, "datasource", board.Templating.List[0].Type)
	source := "${" + board.Templating.List[0].Name + "}"
	known, ids, cells, rows := exported(t), map[int]bool{}, map[[2]int]string{}, []string{}
	for _, p := range board.Panels {
		require.False(t, ids[p.ID], "%s: id %d is taken", p.Title, p.ID)
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Empty(t, cells[[2]int{x, y}], "%s lies over another panel", p.Title)
				require.Less(t, x, 24, "%s is wider than the board", p.Title)
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		require.NotEmpty(t, p.Description, p.Title)
		require.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
		require.Equal(t, source, p.DataSource.UID, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			require.Empty(t, known.mistakes(target.Expr), "%s: %s", p.Title, target.Expr)
			have := known.resultLabels(target.Expr)
			for _, m := range regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(target.Legend, -1) {
				require.Contains(t, have, m[1], "%s: the legend's label is not in the result", p.Title)
			}
		}
	}
	require.Equal(t, []string{"Overview", "Appends", "Queries", "Procedures", "Object store and metastore"}, rows)
}
