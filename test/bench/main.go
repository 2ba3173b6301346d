// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Command bench measures a real `lake dev` against peers in the same run and
// prints a table for docs/performance.md. Machines are noisy, so it reports
// CPU time beside wall time, medians with their spread, and ratios.
//
//	go run ./test/bench [-lake bin/lake] [-rows 5000000] [-only append] [-step drops] [-json out.json]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
)

type config struct {
	lake   string
	rows   int
	rounds int
	json   string
	only   string
	// steps selects among what a suite measures; only procedures asks.
	steps *regexp.Regexp
}

// suite is a set of benchmarks. One that is alone has a deployment of its own,
// and gets no server.
type suite struct {
	name  string
	run   func(context.Context, *lakeServer, config, string) ([]figure, error)
	alone bool
}

func main() {
	var c config
	flag.StringVar(&c.lake, "lake", "bin/lake", "the lake binary")
	flag.IntVar(&c.rows, "rows", 5_000_000, "rows of the scanned table")
	flag.IntVar(&c.rounds, "rounds", 5, "repetitions of each query")
	flag.StringVar(&c.json, "json", "", "write the figures to this file as well")
	flag.StringVar(&c.only, "only", "", "run only this suite: query, scan, append, latency or procedures")
	c.steps = regexp.MustCompile("")
	flag.Func("step", "of the procedures, measure only those whose `pattern` matches: operation-gc, drops, large, takeover or schedules", func(text string) (err error) {
		c.steps, err = regexp.Compile(text)
		return err
	})
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c config) (err error) {
	work, err := os.MkdirTemp("", "lake-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	suites := []suite{
		{"scan", scans, false},
		{"append", appends, false},
		{"latency", latencies, false},
		{"query", queries, true},
		{"procedures", procedures, true},
	}
	suites = slices.DeleteFunc(suites, func(s suite) bool { return c.only != "" && c.only != s.name })
	if len(suites) == 0 {
		return fmt.Errorf("there is no suite %q", c.only)
	}
	var server *lakeServer
	if slices.ContainsFunc(suites, func(s suite) bool { return !s.alone }) {
		if server, err = startServer(ctx, c.lake, work, false); err != nil {
			return err
		}
		defer server.stop()
	}
	var all []figure
	for _, suite := range suites {
		figures, err := suite.run(ctx, server, c, work)
		if err != nil {
			return err
		}
		show(figures)
		all = append(all, figures...)
	}
	if c.json == "" {
		return nil
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.json, data, 0o644)
}
