// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build robustness && unix

package robustness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

const (
	loadWriters = 8
	loadAppends = 500 // of each writer, to all tables together, or to each of them
	loadTables  = 20
	loadReaders = 2
)

// devServer starts `lake dev` without Temporal and returns where queries go.
func devServer(t *testing.T) (query string) {
	t.Helper()
	bin := os.Getenv("LAKE_BIN")
	if bin == "" {
		t.Skip("LAKE_BIN does not name a lake binary: use make test-robustness")
	}
	dir := t.TempDir()
	cmd := exec.Command(bin, "dev", "--data-dir", dir, "--port-base", "0", "--no-temporal")
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	var state struct {
		Query string `json:"query"`
	}
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(filepath.Join(dir, "dev.json"))
		return err == nil && json.Unmarshal(data, &state) == nil && state.Query != ""
	}, time.Minute, 20*time.Millisecond)
	return state.Query
}

// TestSnapshotsUnderLoad lets writers append to twenty tables of the real
// binary, and readers ask by SQL for appends of which a part is missing, or
// which come and go. LAKE_ROBUSTNESS_FULL=1 makes twenty times the appends.
func TestSnapshotsUnderLoad(t *testing.T) {
	c, err := sdk.Connect(t.Context(), devServer(t))
	require.NoError(t, err)
	defer c.Close()
	each := loadAppends / loadTables
	if os.Getenv("LAKE_ROBUSTNESS_FULL") != "" {
		each = loadAppends
	}
	var tables []*loadTable
	for i := range loadTables {
		name := lake.TableName{Namespace: "load", Name: fmt.Sprintf("t%02d", i)}
		_, err := c.CreateTable(t.Context(), name, rowSchema)
		require.NoError(t, err)
		tables = append(tables, &loadTable{client: c, name: name})
	}
	began := time.Now()
	writing, stop := context.WithCancel(t.Context())
	var writers, readers errgroup.Group
	for range loadWriters {
		writers.Go(func() error { return writeLoad(t.Context(), tables, each) })
	}
	var reads atomic.Int64
	for r := range loadReaders {
		readers.Go(func() error { return readLoad(writing, tables[r:], &reads) })
	}
	require.NoError(t, writers.Wait())
	stop()
	require.NoError(t, readers.Wait())
	for _, table := range tables {
		seen, err := table.look(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, loadWriters*each, seen.appends, "appends in %s", table.name)
		require.Equal(t, table.rows.Load(), seen.rows, "rows in %s", table.name)
	}
	t.Logf("%d appends to %d tables beside %d reads in %s", loadWriters*each*loadTables, loadTables, reads.Load(), time.Since(began).Round(time.Millisecond))
	require.Greater(t, reads.Load(), int64(loadTables))
}

// loadTable is a table and what was acknowledged of it.
type loadTable struct {
	client        *sdk.Client
	name          lake.TableName
	appends, rows atomic.Int64
}

// writeLoad appends to one table after the other.
func writeLoad(ctx context.Context, tables []*loadTable, each int) error {
	for n := range each * len(tables) {
		table, marker := tables[n%len(tables)], lastMarker.Add(1)
		rows := int(1 + marker%20)
		batch := rowBatch(marker, rows)
		result, err := table.client.Append(ctx, table.name, batch)
		batch.Release()
		if err != nil {
			return err
		}
		if result.Rows != uint64(rows) || result.Replayed {
			return fmt.Errorf("append %d to %s, of %d rows: %+v", marker, table.name, rows, result)
		}
		table.rows.Add(int64(rows))
		table.appends.Add(1)
	}
	return nil
}

// sight is what one query saw.
type sight struct{ appends, rows, partial int64 }

// look asks for the appends of one snapshot, and how many of them are not
// whole.
func (l *loadTable) look(ctx context.Context) (s sight, err error) {
	r, err := l.client.Query(ctx, fmt.Sprintf(`
		SELECT count(*), coalesce(sum(found), 0)::BIGINT, count(*) FILTER (found <> want OR distinct_rows <> want)
		FROM (SELECT marker, max("rows") AS want, count(*) AS found, count(DISTINCT "row") AS distinct_rows FROM %s GROUP BY marker)`, l.name))
	if err != nil {
		return s, err
	}
	defer r.Release()
	for batch, err := range r.Batches() {
		if err != nil {
			return s, err
		}
		value := func(column int) int64 { return batch.Column(column).(*array.Int64).Value(0) }
		s = sight{value(0), value(1), value(2)}
	}
	if s.partial > 0 {
		return s, fmt.Errorf("%s shows a part of %d appends", l.name, s.partial)
	}
	return s, nil
}

// readLoad looks at the tables until ctx ends. What was seen must stay, and what
// was acknowledged to the client must be seen.
func readLoad(ctx context.Context, tables []*loadTable, reads *atomic.Int64) error {
	last := map[*loadTable]sight{}
	for ctx.Err() == nil {
		for _, table := range tables {
			acked := table.appends.Load()
			now, err := table.look(context.WithoutCancel(ctx))
			if err != nil {
				return err
			}
			if was := last[table]; now.appends < max(was.appends, acked) || now.rows < was.rows {
				return fmt.Errorf("%s had %d appends, %d acknowledged to this client, and now has %d", table.name, was.appends, acked, now.appends)
			}
			last[table] = now
			reads.Add(1)
			sleep(ctx, 20*time.Millisecond)
		}
	}
	return nil
}
