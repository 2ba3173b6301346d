// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/sdk/sdktest"
)

// cancelling ends a context at the first write.
type cancelling struct {
	bytes.Buffer
	cancel context.CancelFunc
	once   sync.Once
}

func (c *cancelling) Write(b []byte) (int, error) {
	c.once.Do(c.cancel)
	return c.Buffer.Write(b)
}

func TestAnInterruptIsNoFailure(t *testing.T) {
	addr := served.State().Query
	t.Run("of a call under way", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		out, errs := &cancelling{cancel: cancel}, &bytes.Buffer{}
		code := run(ctx, []string{"sql", "--format", "csv", "--addr", addr, "SELECT range FROM range(1000000000)"}, strings.NewReader(""), out, errs)
		require.Equal(t, exitInterrupted, code, errs.String())
		require.Equal(t, "lake: interrupted\n", errs.String())
		require.True(t, strings.HasSuffix(out.String(), "\n"), "whole rows")
	})
	for _, args := range [][]string{{"table", "list"}, {"sql", "SELECT 1"}, {"procedure", "list"}, {"table", "create", "never.t", "--column", "a:i8"}} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out, errs bytes.Buffer
		require.Equal(t, exitInterrupted, run(ctx, append(args, "--addr", addr), strings.NewReader(""), &out, &errs), errs.String())
		require.Equal(t, "lake: interrupted\n", errs.String())
		require.Empty(t, out.String())
	}
}

// TestNothingReachesTheTerminalThatControlsIt: reasons, errors and names are
// written by others.
func TestNothingReachesTheTerminalThatControlsIt(t *testing.T) {
	const hostile = "disk\x1b[2J\x07 on fire\u202e\n"
	var out, errs bytes.Buffer
	(&app{stdout: &out, stderr: &errs}).complain(errors.New(hostile))
	require.Equal(t, "lake: disk\uFFFD[2J\uFFFD on fire\uFFFD\n", errs.String())

	s := sdktest.New(t)
	s.PutProcedure(&lakepb.Procedure{
		Kind: "drop-table", Id: "a/b/c", State: lakepb.ProcedureState_PROCEDURE_STATE_FAILED, Phase: "done", LastError: hostile,
	})
	for _, args := range [][]string{{"procedure", "list"}, {"procedure", "watch", "a/b/c"}} {
		r := lakeAt(t, s.Addr(), args...)
		require.Contains(t, r.stdout, "disk\uFFFD[2J\uFFFD on fire", args)
		require.NotContains(t, r.stdout+r.stderr, "\x1b", args)
	}
	out.Reset()
	shown := sdk.Procedure{LastError: hostile, Approval: &sdk.Approval{By: hostile}}
	require.NoError(t, (&app{stdout: &out}).showLines(shown, []sdk.Event{{By: hostile, Reason: hostile}}))
	require.Equal(t, 4, strings.Count(out.String(), "disk\uFFFD[2J\uFFFD on fire"), out.String())
	require.NotContains(t, out.String(), "\x1b")
}

func TestProgramsGetTheirFormatFromEveryCommand(t *testing.T) {
	var version struct{ Version, Go, OS, Arch string }
	require.NoError(t, json.Unmarshal([]byte(must(t, "version", "--format", "json")), &version))
	require.Equal(t, "dev", version.Version)
	require.Equal(t, "version,go,os,arch", strings.Split(must(t, "version", "--format", "csv"), "\n")[0])

	var created struct {
		Table, Incarnation string
		Version            int
	}
	require.NoError(t, json.Unmarshal([]byte(must(t, "table", "create", "made.t", "--column", "a:i8", "--format", "json")), &created))
	require.Equal(t, "made.t", created.Table)
	require.Contains(t, must(t, "table", "describe", "made.t"), created.Incarnation)

	var out bytes.Buffer
	require.NoError(t, (&app{stdout: &out, format: "json"}).passed())
	require.Equal(t, `{"self_check":"ok"}`+"\n", out.String())
}

func TestABrokenListingKeepsItsRows(t *testing.T) {
	for format, want := range map[string]string{"json": `{"n":"1"}` + "\n", "csv": "n\n1\n", "table": " n\n───\n 1\n"} {
		var out bytes.Buffer
		a := &app{stdout: &out, format: format}
		failure := errors.New("the server went")
		require.Equal(t, failure, a.rows([]heading{{name: "n"}}).broken(failure))
		require.Empty(t, out.String(), "nothing was found")
		l := a.rows([]heading{{name: "n"}})
		require.NoError(t, l.Row([]cell{textCell("1")}))
		require.Equal(t, failure, l.broken(failure))
		require.Equal(t, want, out.String())
	}
}

func TestHowAServerIsNamed(t *testing.T) {
	addr := served.State().Query
	require.Equal(t, "x\n1\n", must(t, "sql", "SELECT 1 AS x", "--format", "csv", "--addr", addr))
	r := alone(t, "sql", "SELECT 1 AS x", "--format", "csv", "--addr", "grpc://"+addr)
	require.Zero(t, r.code, "the form that lake dev shows: %s", r.stderr)
	require.Equal(t, "x\n1\n", r.stdout)

	for _, text := range []string{"", "\n", "two tokens"} {
		fails(t, 1, "want one token, alone", "table", "list", "--token-file", put(t, "token", text))
	}
	fails(t, exitUsage, "--interval -1s: want a positive time", "procedure", "watch", "a/b/c", "--interval", "-1s")
}

// TestHelpNamesValuesInAWord: a text between backticks would be taken for the name
// of a flag's value.
func TestHelpNamesValuesInAWord(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name, usage := pflag.UnquoteUsage(f)
			require.NotContains(t, name, " ", "%s --%s", c.CommandPath(), f.Name)
			require.NotEmpty(t, usage, "%s --%s", c.CommandPath(), f.Name)
		})
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit((&app{}).root())
}

// scripted does something when a text is printed, once for each text.
type scripted struct {
	bytes.Buffer
	on map[string]func()
}

func (s *scripted) Write(b []byte) (int, error) {
	for text, do := range s.on {
		if bytes.Contains(b, []byte(text)) {
			delete(s.on, text)
			do()
		}
	}
	return s.Buffer.Write(b)
}

// TestAWatchSaysThatNobodyAnswers: one that shows the state of half an hour ago, and
// nothing else, tells an operator that all is well.
func TestAWatchSaysThatNobodyAnswers(t *testing.T) {
	s := sdktest.New(t)
	front := s.NewFront(t)
	put := func(state lakepb.ProcedureState) {
		s.PutProcedure(&lakepb.Procedure{Kind: "drop-table", Id: "a/b/c", State: state, Phase: "p"})
	}
	put(lakepb.ProcedureState_PROCEDURE_STATE_RUNNING)
	errs := &scripted{on: map[string]func(){
		"running, p": front.Stop,
		"no answer": func() {
			put(lakepb.ProcedureState_PROCEDURE_STATE_COMPLETED)
			assert.NoError(t, front.Start())
		},
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	code := run(ctx, []string{"procedure", "watch", "a/b/c", "--interval", "10ms", "--addr", front.Addr()}, strings.NewReader(""), &out, errs)
	require.Zero(t, code, errs.String())
	require.Regexp(t, `(?s)running, p\n.*no answer, asking on: [^\n]+\n[^\n]*completed, p\n$`, errs.String())
	require.Equal(t, "drop-table/a/b/c completed, p\n", out.String())
}

func TestAListingThatCannotHoldAnythingSaysSo(t *testing.T) {
	fails(t, exitUsage, "--open excludes --state completed", "procedure", "list", "--open", "--state", "completed")
	r := lakeRun(t, "procedure", "list", "--kind", "drop-tables", "--format", "json")
	require.Zero(t, r.code)
	require.Contains(t, r.stderr, `nothing of kind "drop-tables"; this release knows [drop-table `)
}

// An interrupted self-check leaves no table behind.
func TestAnInterruptedSelftestDropsItsTable(t *testing.T) {
	for _, at := range []string{"created lake_selftest", "appended 3 rows"} {
		ctx, cancel := context.WithCancel(t.Context())
		errs := &scripted{on: map[string]func(){at: cancel}}
		var out bytes.Buffer
		code := run(ctx, []string{"selftest", "--addr", served.State().Query}, strings.NewReader(""), &out, errs)
		require.Equal(t, exitInterrupted, code, errs.String())
		require.Empty(t, out.String())
		require.NotContains(t, must(t, "table", "list", "--format", "csv"), "lake_selftest", at)
	}
}
