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

const appendSeconds = 4

// appends counts acknowledged one-row appends a second. The peer is the disk:
// files of about the size of a manifest, each written, fsynced and renamed,
// which is the least that any durable commit costs.
func appends(ctx context.Context, s *lakeServer, _ config, work string) ([]figure, error) {
	var all []figure
	for _, writers := range []int{1, 8, 64} {
		table := lake.TableName{Namespace: "bench", Name: fmt.Sprintf("appends%d", writers)}
		if _, err := s.client.CreateTable(ctx, table, small); err != nil {
			return nil, err
		}
		batch := smallBatch(1)
		rate, err := perSecond(ctx, writers, func(ctx context.Context, _, _ int) error {
			_, err := s.client.Append(ctx, table, batch)
			return err
		})
		batch.Release()
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(work, fmt.Sprintf("disk%d", writers))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		disk, err := perSecond(ctx, writers, func(_ context.Context, writer, i int) error {
			return durableFile(dir, fmt.Sprintf("%d-%d", writer, i))
		})
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("one-row appends, one table, %d writers", writers)
		all = append(all,
			figure{Suite: "append", Case: name, Who: "Lake", Value: rate, Unit: "1/s"},
			figure{Suite: "append", Case: name, Who: "durable 4 KiB files", Value: disk, Unit: "1/s"})
	}
	return all, nil
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
