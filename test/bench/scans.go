// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/test/tpch"
)

// scanned are queries over the line items; %s is the table.
var scanned = []struct{ name, sql string }{
	{"sum of one column", "SELECT sum(l_orderkey) FROM %s"},
	{"filtered aggregate (TPC-H Q6)", "SELECT sum(l_extendedprice * l_discount) FROM %s WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"},
	{"group-by (TPC-H Q1)", "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), avg(l_discount), count(*) FROM %s WHERE l_shipdate <= DATE '1998-09-02' GROUP BY ALL ORDER BY ALL"},
	{"top 10", "SELECT l_orderkey, l_extendedprice FROM %s ORDER BY l_extendedprice DESC LIMIT 10"},
	{"count distinct strings", "SELECT count(DISTINCT l_comment) FROM %s"},
}

// scans compares whole queries through Flight SQL with DuckDB's own table and
// with its Parquet reader, all over the same rows.
func scans(ctx context.Context, s *lakeServer, c config, work string) ([]figure, error) {
	table := lake.TableName{Namespace: "bench", Name: "lineitem"}
	if err := load(ctx, s, table, tpch.LineItem, c.rows, lineItems); err != nil {
		return nil, err
	}
	file := filepath.Join(work, "lineitem.parquet")
	if err := tpch.WriteParquet(file, c.rows, 1); err != nil {
		return nil, err
	}
	duck, parquet, err := openPeerOver("lineitem", file)
	if err != nil {
		return nil, err
	}
	defer duck.close()
	suite := fmt.Sprintf("scan of %d rows", c.rows)
	var all []figure
	for _, q := range scanned {
		figures, err := versus(suite, q.name, c.rounds, []contender{
			{"Lake, Flight SQL", s.pids(), func() error { return s.drain(ctx, unasked(fmt.Sprintf(q.sql, table))) }},
			{"DuckDB table", nil, func() error { return duck.run(fmt.Sprintf(q.sql, "lineitem")) }},
			{"DuckDB read_parquet", nil, func() error { return duck.run(fmt.Sprintf(q.sql, parquet)) }},
		})
		if err != nil {
			return nil, err
		}
		all = append(all, figures...)
	}
	return all, nil
}

// lineItems makes the rows of the table.
func lineItems(rows, batchRows int, emit func(arrow.RecordBatch) error) error {
	return tpch.LineItems(rows, batchRows, 1, emit)
}

// load appends generated rows with a few appends in flight.
func load(ctx context.Context, s *lakeServer, table lake.TableName, schema *arrow.Schema, rows int,
	generate func(rows, batchRows int, emit func(arrow.RecordBatch) error) error,
) error {
	if _, err := s.client.CreateTable(ctx, table, schema); err != nil {
		return err
	}
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	err := generate(rows, lake.MaxAppendRows, func(b arrow.RecordBatch) error {
		b.Retain()
		g.Go(func() error {
			defer b.Release()
			_, err := s.client.Append(ctx, table, b)
			return err
		})
		return ctx.Err()
	})
	if waited := g.Wait(); waited != nil {
		err = waited
	}
	fmt.Printf("loaded %d rows in %s\n", rows, time.Since(began).Round(time.Millisecond))
	return err
}
