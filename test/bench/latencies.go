// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lakeplane/lake/lake"
)

const latencyRounds = 400

// smallSelect has a constant, so that a statement may be the same each time, whose
// answer Lake remembers, or another one.
const smallSelect = "SELECT robot_id, sum(reward) FROM %s WHERE episode < %d GROUP BY ALL"

// smallClients is how many clients ask at a time for the rate.
const smallClients = 8

// latencies measures a small SELECT from the client's call to its last row,
// warm: by one client, and how many a second eight clients get, repeated and with
// another constant each time. The peers are
// the same SELECT in a DuckDB in this process, without any network, and a bare
// Flight server with the answer ready, without any SQL.
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
	answer := smallBatch(1)
	defer answer.Release()
	flights, stop, err := serveBare(answer, 1)
	if err != nil {
		return nil, err
	}
	defer stop()
	var asked atomic.Int64
	another := func() int64 { return 1 + asked.Add(1) }
	ask := func(ctx context.Context) error { return s.drain(ctx, fmt.Sprintf(smallSelect, table, 500)) }
	askAnother := func(ctx context.Context) error { return s.drain(ctx, fmt.Sprintf(smallSelect, table, another())) }
	askReady := func(ctx context.Context) error { return askBare(ctx, flights) }
	askDuck := func(context.Context) error { return duck.run(fmt.Sprintf(smallSelect, "small", another())) }
	const name = "small grouped SELECT"
	repeated, other := caller{"Lake, repeated", ask}, caller{"Lake, another each time", askAnother}
	bare := caller{"bare Flight server", askReady}
	all, err := takeTurns(ctx, name, []caller{repeated, other, bare, {"DuckDB in process", askDuck}})
	if err != nil {
		return nil, err
	}
	for _, who := range []caller{repeated, other, bare} {
		rate, err := perSecond(ctx, smallClients, func(ctx context.Context, _, _ int) error { return who.call(ctx) })
		if err != nil {
			return nil, err
		}
		all = append(all, figure{Suite: "latency", Case: fmt.Sprintf("%s, %d clients", name, smallClients), Who: who.name, Value: rate, Unit: "1/s"})
	}
	return all, nil
}

// caller is one that answers small questions.
type caller struct {
	name string
	call func(context.Context) error
}

// takeTurns measures the latency of one call after the other, each caller in
// turn, so that what else the machine does weighs on all of them.
func takeTurns(ctx context.Context, name string, callers []caller) (all []figure, err error) {
	const warm = 20
	took := make([][]float64, len(callers))
	for round := range latencyRounds + warm {
		for i, c := range callers {
			began := time.Now()
			if err := c.call(ctx); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", name, c.name, err)
			}
			if round >= warm {
				took[i] = append(took[i], ms(time.Since(began)))
			}
		}
	}
	for i, c := range callers {
		slices.Sort(took[i])
		at := func(q float64) float64 { return took[i][int(q*float64(len(took[i])-1))] }
		all = append(all,
			figure{Suite: "latency", Case: name, Who: c.name, Value: at(0.5), Unit: "p50 ms", Low: took[i][0], High: at(0.9)},
			figure{Suite: "latency", Case: name, Who: c.name, Value: at(0.99), Unit: "p99 ms"})
	}
	return all, nil
}
