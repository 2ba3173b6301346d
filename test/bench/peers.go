// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lakeplane/lake/internal/pgtest"
	"github.com/lakeplane/lake/test/interop"
)

// appendPeers starts those peers that the machine has and says which are
// missing.
func appendPeers(ctx context.Context, work string) (peers []writer, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	peers = []writer{{"durable 4 KiB files", diskWriter(work)}}
	switch rate, end, err := postgresWriter(ctx); {
	case errors.Is(err, pgtest.ErrMissing):
		fmt.Fprintln(os.Stderr, "bench: without PostgreSQL:", err)
	case err != nil:
		return nil, stop, err
	default:
		stops = append(stops, end)
		peers = append(peers, writer{"PostgreSQL single-row insert", rate})
	}
	switch stock, err := interop.Start(); {
	case errors.Is(err, interop.ErrUnavailable):
		fmt.Fprintln(os.Stderr, "bench: without LanceDB:", err)
	case err != nil:
		stop()
		return nil, func() {}, err
	default:
		stops = append(stops, func() { _ = stock.Close() })
		peers = append(peers, writer{"stock LanceDB add, one table", stockWriter(stock, work)})
	}
	return peers, stop, nil
}

// postgresWriter inserts with the server's defaults: every commit is synced.
func postgresWriter(ctx context.Context) (rate func(context.Context, int, int) (float64, error), stop func(), err error) {
	server, err := pgtest.Start("max_connections=200")
	if err != nil {
		return nil, nil, err
	}
	pool, err := pgxpool.New(ctx, server.DSN()+"&pool_max_conns=64")
	if err != nil {
		return nil, nil, errors.Join(err, server.Stop())
	}
	stop = func() { pool.Close(); _ = server.Stop() }
	return func(ctx context.Context, writers, round int) (float64, error) {
		table := fmt.Sprintf("rows_%d_%d", writers, round)
		if _, err := pool.Exec(ctx, "CREATE TABLE "+table+" (robot_id text, episode bigint, reward double precision)"); err != nil {
			return 0, err
		}
		return perSecond(ctx, writers, func(ctx context.Context, _, i int) error {
			_, err := pool.Exec(ctx, "INSERT INTO "+table+" VALUES ($1, $2, $3)", "arm-7", i, 0.5)
			return err
		})
	}, stop, nil
}

func stockWriter(stock *interop.Stock, work string) func(context.Context, int, int) (float64, error) {
	return func(_ context.Context, writers, round int) (float64, error) {
		file := filepath.Join(work, "row.arrow")
		if err := writeIPC(file); err != nil {
			return 0, err
		}
		answer, err := stock.Do(interop.Command{
			Op: "benchadd", Dir: filepath.Join(work, fmt.Sprintf("stock-%d-%d", writers, round)), IPC: file,
			Writers: writers, Seconds: appendSeconds,
		})
		return float64(answer.Rows) / appendSeconds, err
	}
}

// writeIPC stores one row for a peer that reads Arrow files.
func writeIPC(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	batch := smallBatch(1)
	defer batch.Release()
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(batch.Schema()))
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(w.Write(batch), w.Close(), f.Close())
}

// peakMemory returns the most memory a process had resident, in MiB.
func peakMemory(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d does not tell its peak memory", pid)
}
