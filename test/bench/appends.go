// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

var small = arrow.NewSchema([]arrow.Field{
	{Name: "robot_id", Type: arrow.BinaryTypes.String},
	{Name: "episode", Type: arrow.PrimitiveTypes.Int64},
	{Name: "reward", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
}, nil)

func smallBatch(rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, small)
	defer b.Release()
	for i := range rows {
		b.Field(0).(*array.StringBuilder).Append("arm-7")
		b.Field(1).(*array.Int64Builder).Append(int64(i))
		b.Field(2).(*array.Float64Builder).Append(0.5)
	}
	return b.NewRecordBatch()
}

const appendSeconds = 2

// writer is somebody who makes one row durable at a time.
type writer struct {
	who string
	// rate returns the acknowledged rows a second of several at once.
	rate func(ctx context.Context, writers, round int) (float64, error)
}

// appends counts acknowledged one-row appends a second. The peers are a
// PostgreSQL that inserts single rows, stock LanceDB that adds them, and the
// disk itself: files of about the size of a manifest, each written, fsynced and
// renamed, which is the least that a durable object costs. The rounds
// are interleaved, so that what else the machine does falls on everybody.
func appends(ctx context.Context, s *lakeServer, c config, work string) ([]figure, error) {
	peers, stop, err := appendPeers(ctx, work)
	if err != nil {
		return nil, err
	}
	defer stop()
	all := []writer{
		{"Lake, one table", lakeWriter(s.client, "one", 1)},
		{"Lake, 20 tables", lakeWriter(s.client, "many", 20)},
	}
	var out []figure
	for _, writers := range []int{1, 8, 64} {
		figures, err := race(ctx, fmt.Sprintf("one-row appends, %d writers", writers), writers, c.rounds, append(all, peers...))
		if err != nil {
			return nil, err
		}
		out = append(out, figures...)
	}
	far, stopFar, err := startFar(ctx, work, farLatency)
	if err != nil {
		return nil, err
	}
	defer stopFar()
	figures, err := race(ctx, fmt.Sprintf("one-row appends, 64 writers, %s to the object store", farLatency), 64, c.rounds,
		[]writer{{"Lake, one table", lakeWriter(far, "far", 1)}})
	if err != nil {
		return nil, err
	}
	peak, err := largeStreams(ctx, s)
	return append(append(out, figures...), peak...), err
}

// race measures everybody in turn, several times.
func race(ctx context.Context, name string, writers, rounds int, all []writer) ([]figure, error) {
	rates := make([][]float64, len(all))
	for round := range rounds {
		for i, w := range all {
			rate, err := w.rate(ctx, writers, round)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", name, w.who, err)
			}
			rates[i] = append(rates[i], rate)
		}
	}
	out := make([]figure, len(all))
	for i, w := range all {
		out[i] = summary("append", name, w.who, "1/s", rates[i])
	}
	return out, nil
}

// lakeWriter appends through the SDK, to fresh tables each round.
func lakeWriter(client *sdk.Client, name string, tables int) func(context.Context, int, int) (float64, error) {
	return func(ctx context.Context, writers, round int) (float64, error) {
		names := make([]lake.TableName, tables)
		for i := range names {
			names[i] = lake.TableName{Namespace: "bench", Name: fmt.Sprintf("%s-%d-%d-%d", name, writers, round, i)}
			if _, err := client.CreateTable(ctx, names[i], small); err != nil {
				return 0, err
			}
		}
		batch := smallBatch(1)
		defer batch.Release()
		return perSecond(ctx, writers, func(ctx context.Context, writer, i int) error {
			_, err := client.Append(ctx, names[(writer+i)%tables], batch)
			return err
		})
	}
}

func perSecond(ctx context.Context, writers int, fn func(ctx context.Context, writer, i int) error) (float64, error) {
	var done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	end := began.Add(appendSeconds * time.Second)
	for w := range writers {
		g.Go(func() error {
			for i := 0; time.Now().Before(end); i++ {
				if err := fn(ctx, w, i); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
	}
	err := g.Wait()
	return float64(done.Load()) / time.Since(began).Seconds(), err
}

// diskWriter makes durable files in a directory of its own.
func diskWriter(work string) func(context.Context, int, int) (float64, error) {
	return func(ctx context.Context, writers, round int) (float64, error) {
		dir := filepath.Join(work, fmt.Sprintf("disk-%d-%d", writers, round))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return 0, err
		}
		return perSecond(ctx, writers, func(_ context.Context, writer, i int) error {
			return durableFile(dir, fmt.Sprintf("%d-%d", writer, i))
		})
	}
}

func durableFile(dir, name string) error {
	tmp := filepath.Join(dir, name+".tmp")
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 4096)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// largeStreams sends eight appends of nearly the largest size at a time, three
// times over, and reports how much memory the server had at most after each:
// flat means that the second and third add nothing.
func largeStreams(ctx context.Context, s *lakeServer) ([]figure, error) {
	const name, streams, rowBytes = "8 streams of 60 MiB at once", 8, 6 << 10
	schema := arrow.NewSchema([]arrow.Field{{Name: "frame", Type: arrow.BinaryTypes.Binary}}, nil)
	table := lake.TableName{Namespace: "bench", Name: "frames"}
	if _, err := s.client.CreateTable(ctx, table, schema); err != nil {
		return nil, err
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	frame := make([]byte, rowBytes)
	for range lake.MaxAppendRows {
		b.Field(0).(*array.BinaryBuilder).Append(frame)
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	var out []figure
	for round := range 3 {
		g, ctx := errgroup.WithContext(ctx)
		for range streams {
			g.Go(func() error {
				_, err := s.client.Append(ctx, table, batch)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		peak, err := peakMemory(s.cmd.Process.Pid)
		if err != nil {
			return nil, err
		}
		out = append(out, figure{Suite: "append", Case: name, Who: fmt.Sprintf("Lake, peak memory after round %d", round+1), Value: peak, Unit: "MiB"})
	}
	return out, nil
}
