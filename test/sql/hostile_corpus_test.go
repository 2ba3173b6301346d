// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
)

// hostile is one statement of the corpus and what must become of it.
type hostile struct {
	name     string // file:line
	sql      string
	verdicts []string // any of them is right: on a busy machine a long text may be out of time before it is refused
	says     string   // part of the error, with the first of them
	// isolate marks a statement that a process of its own must run: it hangs
	// or kills the one it runs in.
	isolate bool
}

// The verdicts.
const (
	refused  = "refused"  // by the gate, with position and hint, before anything runs
	invalid  = "invalid"  // by the engine, as the author's mistake
	deadline = "deadline" // cancelled
	memory   = "memory"   // limited
	fine     = "fine"     // answered
	// contained: it ended its own process and no other.
	contained = "contained"
)

// readCorpus reads testdata/hostile/*.sql. A statement begins below a line
//
//	### verdict[|verdict…] [isolate] [: part of the error]
//
// where isolate means that it hangs, crashes or exceeds the memory of the process that
// runs it, and so needs one of its own,
// and is a text/template, in which {{x "text" 1000}} repeats a text.
func readCorpus(t testing.TB) (out []hostile) {
	t.Helper()
	files, err := filepath.Glob("testdata/hostile/*.sql")
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		out = append(out, parseCorpus(t, filepath.Base(file), string(data))...)
	}
	return out
}

func parseCorpus(t testing.TB, file, text string) (out []hostile) {
	var body strings.Builder
	end := func() {
		if len(out) > 0 {
			h := &out[len(out)-1]
			h.sql = expand(t, h.name, strings.TrimRight(body.String(), "\n"))
		}
		body.Reset()
	}
	line := 0
	for l := range strings.Lines(text) {
		line++
		head, ok := strings.CutPrefix(l, "### ")
		if !ok {
			body.WriteString(l)
			continue
		}
		end()
		words, says, _ := strings.Cut(strings.TrimSpace(head), " : ")
		fields := strings.Fields(words)
		h := hostile{name: fmt.Sprintf("%s:%d", file, line), says: says, verdicts: strings.Split(fields[0], "|"), isolate: slices.Contains(fields, "isolate")}
		for _, v := range h.verdicts {
			require.Contains(t, []string{refused, invalid, deadline, memory, fine, contained}, v, h.name)
		}
		out = append(out, h)
	}
	end()
	return out
}

func expand(t testing.TB, name, text string) string {
	tmpl, err := template.New(name).Funcs(template.FuncMap{
		"x": func(s string, n int) string { return strings.Repeat(s, n) },
		// n numbers the copies: every # becomes the number.
		"n": func(s string, n int) string {
			var out strings.Builder
			for i := range n {
				out.WriteString(strings.ReplaceAll(s, "#", fmt.Sprint(i)))
			}
			return out.String()
		},
		"byte": func(b int) string { return string([]byte{byte(b)}) },
	}).Parse(text)
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, tmpl.Execute(&out, nil), name)
	return out.String()
}
