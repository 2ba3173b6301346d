// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"time"

	"github.com/lakeplane/lake/lake"
)

const latencyRounds = 400

// latencies measures a small SELECT from the client's call to its last row,
// warm, one client. The peer is the same SELECT in a DuckDB in this process,
// without any network.
func latencies(ctx context.Context, s *lakeServer, _ config, _ string) ([]figure, error) {
	table := lake.TableName{Namespace: "bench", Name: "small"}
	if _, err := s.client.CreateTable(ctx, table, small); err != nil {
		return nil, err
	}
	batch := smallBatch(1000)
	defer batch.Release()
	if _, err := s.client.Append(ctx, table, batch); err != nil {
		return nil, err
	}
	duck, err := openPeer()
	if err != nil {
		return nil, err
	}
	defer duck.close()
	if err := duck.run("CREATE TABLE small AS SELECT 'arm-7' AS robot_id, i AS episode, 0.5::DOUBLE AS reward FROM range(1000) t(i)"); err != nil {
		return nil, err
	}
	var all []figure
	for _, who := range []struct {
		name string
		run  func() error
	}{
		{"Lake, Flight SQL", func() error {
			return s.drain(ctx, "SELECT robot_id, sum(reward) FROM bench.small WHERE episode < 500 GROUP BY ALL")
		}},
		{"DuckDB in process", func() error {
			return duck.run("SELECT robot_id, sum(reward) FROM small WHERE episode < 500 GROUP BY ALL")
		}},
	} {
		figures, err := percentiles(who.name, who.run)
		if err != nil {
			return nil, err
		}
		all = append(all, figures...)
	}
	return all, nil
}

func percentiles(who string, fn func() error) ([]figure, error) {
	var took []float64
	for i := range latencyRounds + 20 {
		began := time.Now()
		if err := fn(); err != nil {
			return nil, err
		}
		if i >= 20 { // the first calls warm the caches
			took = append(took, ms(time.Since(began)))
		}
	}
	slices.Sort(took)
	at := func(q float64) float64 { return took[int(q*float64(len(took)-1))] }
	const suite, name = "latency", "small grouped SELECT"
	return []figure{
		{Suite: suite, Case: name, Who: who, Value: at(0.5), Unit: "p50 ms", Low: took[0], High: at(0.9)},
		{Suite: suite, Case: name, Who: who, Value: at(0.99), Unit: "p99 ms"},
	}, nil
}
