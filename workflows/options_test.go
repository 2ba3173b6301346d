// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/workflows/control"
)

// longest is how long an activity may run without a heartbeat: one that is over in
// this time hears of a cancellation by ending.
const longest = 30 * time.Second

// TestEveryLongActivitySetsAHeartbeatTimeout: without one, a cancellation reaches an
// activity when it ends, and a dead worker is noticed after the whole time that the
// activity may take. (Report 46.) The options are read from the source, so that
// those of the next procedure are, too.
func TestEveryLongActivitySetsAHeartbeatTimeout(t *testing.T) {
	seen := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if fields, ok := activityOptions(n); ok {
				seen++
				if why := wrong(fields); why != "" {
					t.Errorf("%s: %s", files.Position(n.Pos()), why)
				}
			}
			return true
		})
		return nil
	}))
	require.GreaterOrEqual(t, seen, 6, "the options are found no more")
}

// activityOptions returns the fields of a literal of workflow.ActivityOptions.
func activityOptions(n ast.Node) (fields map[string]ast.Expr, ok bool) {
	literal, ok := n.(*ast.CompositeLit)
	if !ok {
		return nil, false
	}
	if kind, ok := literal.Type.(*ast.SelectorExpr); !ok || kind.Sel.Name != "ActivityOptions" {
		return nil, false
	}
	fields = map[string]ast.Expr{}
	for _, e := range literal.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			fields[fmt.Sprint(kv.Key)] = kv.Value
		}
	}
	return fields, true
}

// wrong says what is missing of the options of an activity.
func wrong(fields map[string]ast.Expr) string {
	takes, err := duration(fields["StartToCloseTimeout"])
	if err != nil {
		return "StartToCloseTimeout: " + err.Error()
	}
	if takes <= longest {
		return ""
	}
	if named, ok := fields["HeartbeatTimeout"].(*ast.Ident); ok && named.Name == "BeatWithin" {
		fields["HeartbeatTimeout"] = &ast.SelectorExpr{Sel: named}
	}
	beat, err := duration(fields["HeartbeatTimeout"])
	switch {
	case err != nil:
		return fmt.Sprintf("it may take %s and has no good HeartbeatTimeout: %v", takes, err)
	case beat > time.Minute:
		return fmt.Sprintf("a HeartbeatTimeout of %s: want a minute at most", beat)
	case fields["RetryPolicy"] == nil:
		return "without a RetryPolicy it is tried for ever, in silence"
	}
	return ""
}

var units = map[string]time.Duration{"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour, "Millisecond": time.Millisecond, "BeatWithin": control.BeatWithin}

// duration reads n*time.Unit and time.Unit.
func duration(e ast.Expr) (time.Duration, error) {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		if unit, ok := units[e.Sel.Name]; ok {
			return unit, nil
		}
	case *ast.BinaryExpr:
		n, ok := e.X.(*ast.BasicLit)
		unit, err := duration(e.Y)
		if ok && err == nil && e.Op == token.MUL {
			times, err := strconv.Atoi(n.Value)
			return time.Duration(times) * unit, err
		}
	}
	return 0, fmt.Errorf("want a number times a unit of package time, written out")
}

func TestOptionsThatAreWrongAreFound(t *testing.T) {
	for source, want := range map[string]string{
		"w.ActivityOptions{StartToCloseTimeout: time.Hour, RetryPolicy: p}":                                          "has no good HeartbeatTimeout",
		"w.ActivityOptions{StartToCloseTimeout: 2 * time.Minute, HeartbeatTimeout: 2 * time.Minute, RetryPolicy: p}": "want a minute at most",
		"w.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Second}":                           "without a RetryPolicy",
		"w.ActivityOptions{HeartbeatTimeout: time.Second}":                                                           "StartToCloseTimeout",
		"w.ActivityOptions{StartToCloseTimeout: 30 * time.Second}":                                                   "",
	} {
		e, err := parser.ParseExpr(source)
		require.NoError(t, err)
		fields, ok := activityOptions(e)
		require.True(t, ok)
		if got := wrong(fields); want == "" {
			require.Empty(t, got, source)
		} else {
			require.Contains(t, got, want, source)
		}
	}
}
