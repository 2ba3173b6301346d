// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

var telemetryTable = lake.TableName{Namespace: "bench", Name: "telemetry"}

var theTable = regexp.MustCompile(`\bT\b`)

// asked are queries over the telemetry; T is the table.
var asked = []struct{ name, sql string }{
	{"scan of all columns", "SELECT count(*), sum(id), max(robot), max(ts), sum(skill), sum(x), sum(y), count(*) FILTER (WHERE ok), max(note) FROM T"},
	{"sum of one column", "SELECT sum(x) FROM T"},
	{"aggregates of three columns", "SELECT min(x), max(x), avg(y), stddev(y), sum(id) FROM T"},
	{"filter", "SELECT count(*), sum(x), max(note) FROM T WHERE skill = 42 AND y < 50"},
	{"filter on text", "SELECT count(*) FROM T WHERE note LIKE '%77%'"},
	{"top 100", "SELECT id, x, note FROM T ORDER BY x DESC, id LIMIT 100"},
	{"group-by of text", "SELECT robot, count(*), avg(x), max(y) FROM T GROUP BY robot ORDER BY robot"},
	{"group-by of numbers", "SELECT skill, count(*), avg(x), sum(y) FROM T GROUP BY skill ORDER BY skill"},
	{"join", "SELECT count(*), sum(b.x) FROM T a JOIN T b ON a.id = b.id + 1 WHERE a.skill < 10"},
}

// queries compares whole queries over compacted telemetry, through Flight SQL,
// with DuckDB's own table and with its Parquet reader.
func queries(ctx context.Context, _ *lakeServer, c config, work string) ([]figure, error) {
	s, err := startServer(ctx, c.lake, filepath.Join(work, "query"), true)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	if err := loadCompact(ctx, s, c.rows); err != nil {
		return nil, err
	}
	file := filepath.Join(work, "telemetry.parquet")
	if err := telemetryParquet(file, c.rows); err != nil {
		return nil, err
	}
	duck, parquet, err := openPeerOver("telemetry", file)
	if err != nil {
		return nil, err
	}
	defer duck.close()
	var all []figure
	for _, q := range asked {
		from := func(table string) string { return theTable.ReplaceAllLiteralString(q.sql, table) }
		figures, err := versus(fmt.Sprintf("query of %d rows", c.rows), q.name, c.rounds, []contender{
			{"Lake, Flight SQL", s.pids(), func() error { return s.drain(ctx, unasked(from(telemetryTable.String()))) }},
			{"DuckDB table", nil, func() error { return duck.run(from("telemetry")) }},
			{"DuckDB read_parquet", nil, func() error { return duck.run(from(parquet)) }},
		})
		if err != nil {
			return nil, err
		}
		all = append(all, figures...)
	}
	points, err := pointLookups(ctx, s, c.rows)
	if err != nil {
		return nil, err
	}
	bulk, err := bulkReads(ctx, s, c)
	return append(append(all, points...), bulk...), err
}

// asks counts the statements that unasked has made.
var asks int

// unasked makes a statement that nobody has asked before: the answer to one that
// was is remembered, and not what is measured.
func unasked(sql string) string {
	asks++
	return fmt.Sprintf("%s -- %d", sql, asks)
}

// pointLookups finds single rows by the clustered key, each time another.
func pointLookups(ctx context.Context, s *lakeServer, rows int) ([]figure, error) {
	random := rand.New(rand.NewPCG(3, 4))
	return takeTurns(ctx, "point lookup by the clustered key", []caller{{"Lake, Flight SQL", func(ctx context.Context) error {
		return s.drain(ctx, fmt.Sprintf("SELECT * FROM %s WHERE id = %d", telemetryTable, random.IntN(rows)))
	}}})
}

// bulkReads reads the whole table, and as many ready rows from a bare server.
func bulkReads(ctx context.Context, s *lakeServer, c config) ([]figure, error) {
	const batchRows = 1 << 15
	var ready arrow.RecordBatch
	if err := telemetryRows(batchRows, batchRows, func(b arrow.RecordBatch) error { b.Retain(); ready = b; return nil }); err != nil {
		return nil, err
	}
	defer ready.Release()
	flights, stop, err := serveBare(ready, c.rows/batchRows)
	if err != nil {
		return nil, err
	}
	defer stop()
	return versus("bulk", fmt.Sprintf("all %d rows", c.rows), c.rounds, []contender{
		{"Lake, Flight SQL", s.pids(), func() error { return s.drain(ctx, "SELECT * FROM "+telemetryTable.String()) }},
		{"bare Flight server", nil, func() error { return askBare(ctx, flights) }},
	})
}

// loadCompact fills the table by appends and joins what they leave, as table
// maintenance does by itself sooner or later.
func loadCompact(ctx context.Context, s *lakeServer, rows int) error {
	if err := load(ctx, s, telemetryTable, telemetry, rows, telemetryRows); err != nil {
		return err
	}
	began := time.Now()
	compaction, err := s.client.CompactTable(ctx, telemetryTable, sdk.CompactOptions{})
	if err != nil {
		return err
	}
	for p, err := range s.client.WatchProcedure(ctx, compaction.Procedure, 0) {
		if err != nil {
			return err
		}
		if p.State.Terminal() {
			break
		}
	}
	fmt.Printf("%d pieces became %d in %s\n", compaction.PartsBefore, compaction.PartsAfter, time.Since(began).Round(time.Millisecond))
	return nil
}
