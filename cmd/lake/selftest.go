// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/spf13/cobra"

	"github.com/lakeplane/lake/cmd/lake/devserver"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

const (
	// selftestTimeout bounds the whole check.
	selftestTimeout = 2 * time.Minute
	// selftestDrop bounds the drop of its table after that.
	selftestDrop = 10 * time.Second
)

func (a *app) selftestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "selftest",
		Short: "Create, append, select, drop and verify, in some seconds",
		Long: "Makes a table, appends three rows, reads them back through SQL, drops the table\n" +
			"and waits until the procedure has deleted its last object. It uses the server\n" +
			"of --addr or LAKE_ADDR; when neither is given and none runs on the default\n" +
			"address, a temporary one in this process.",
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), selftestTimeout)
			defer cancel()
			client, objects, stop, err := a.selftestServer(ctx)
			if err != nil {
				return err
			}
			err = errors.Join(a.selftest(ctx, client, objects), client.Close(), stop())
			if err != nil {
				return err
			}
			return a.passed()
		},
	}
}

// passed says so, to a program in its format.
func (a *app) passed() error {
	if a.format == "table" {
		_, err := fmt.Fprintln(a.stdout, "self-check ok")
		return err
	}
	out := a.rows([]heading{{name: "self_check"}})
	if err := out.Row([]cell{textCell("ok")}); err != nil {
		return outputError(err)
	}
	return out.Close()
}

// selftestServer finds a server, or starts one. objects is the folder of its
// object store where that is known.
func (a *app) selftestServer(ctx context.Context) (c *sdk.Client, objects string, stop func() error, err error) {
	c, err = a.client(ctx)
	if err == nil || a.addrGiven || !lake.Is(err, lake.Unavailable) {
		return c, "", func() error { return nil }, err
	}
	dir, err := os.MkdirTemp("", "lake-selftest-")
	if err != nil {
		return nil, "", nil, lake.Errorf(lake.Unknown, "temporary directory: %w", err)
	}
	a.note("no server runs on %s: starting a temporary one", a.addr)
	server, err := devserver.Start(ctx, devserver.Options{
		DataDir: dir, Version: version, BuildProgress: a.buildProgress(), Log: a.logger("error"),
		Headless: true, Settle: time.Millisecond, // nobody looks at it, and nobody else writes to it
	})
	if err != nil {
		return nil, "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	stop = func() error { return errors.Join(server.Stop(), os.RemoveAll(dir)) }
	if c, err = sdk.Connect(ctx, server.State().Query); err != nil {
		return nil, "", nil, errors.Join(err, stop())
	}
	return c, filepath.Join(dir, "objects"), stop, nil
}

var selftestSchema = arrow.NewSchema([]arrow.Field{
	{Name: "robot_id", Type: arrow.BinaryTypes.String},
	{Name: "episode", Type: arrow.PrimitiveTypes.Int64},
	{Name: "reward", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
}, nil)

const selftestRows = `[
	{"robot_id": "arm-1", "episode": 1, "reward": 0.5},
	{"robot_id": "arm-1", "episode": 2, "reward": null},
	{"robot_id": "arm-2", "episode": 1, "reward": 1.5}]`

// selftest walks the whole line. A table that it made is dropped even when a
// step fails.
func (a *app) selftest(ctx context.Context, c *sdk.Client, objects string) (err error) {
	name := lake.TableName{Namespace: "lake_selftest", Name: "t_" + strings.ReplaceAll(lake.NewID().String(), "-", "")}
	created, err := c.CreateTable(ctx, name, selftestSchema)
	if err != nil {
		return err
	}
	a.note("created %s", name)
	checks := errors.Join(a.selftestAppend(ctx, c, name), a.selftestSelect(ctx, c, name))
	drop, err := dropAnyway(ctx, c, name, sdk.DropOptions{Incarnation: created.Snapshot.Incarnation, Reason: "lake selftest", UndropWindow: new(time.Duration)})
	if err != nil {
		return errors.Join(checks, err)
	}
	if checks != nil {
		return checks
	}
	if _, err := c.Table(ctx, name); !lake.Is(err, lake.NotFound) {
		return lake.Errorf(lake.Corrupt, "the dropped table %s is still there: %v", name, err)
	}
	a.note("dropped it, waiting for %s", drop.Procedure)
	return a.selftestPurge(ctx, c, drop, objects)
}

// dropAnyway drops a table also after an interrupt or the end of the time: nobody
// else knows of it.
func dropAnyway(ctx context.Context, c *sdk.Client, name lake.TableName, opts sdk.DropOptions) (sdk.Drop, error) {
	if ctx.Err() == nil {
		return c.DropTable(ctx, name, opts)
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), selftestDrop)
	defer cancel()
	return c.DropTable(late, name, opts)
}

func (a *app) selftestAppend(ctx context.Context, c *sdk.Client, name lake.TableName) error {
	rows, _, err := array.RecordFromJSON(memory.DefaultAllocator, selftestSchema, strings.NewReader(selftestRows))
	if err != nil {
		return err
	}
	defer rows.Release()
	result, err := c.Append(ctx, name, rows)
	if err != nil {
		return err
	}
	if result.Rows != 3 {
		return lake.Errorf(lake.Corrupt, "appended 3 rows, the server counts %d", result.Rows)
	}
	a.note("appended 3 rows as version %d", result.Version)
	return nil
}

func (a *app) selftestSelect(ctx context.Context, c *sdk.Client, name lake.TableName) error {
	result, err := c.Query(ctx, fmt.Sprintf("SELECT robot_id, count(*) AS n, sum(reward) AS r FROM %s.%s GROUP BY robot_id ORDER BY robot_id", name.Namespace, name.Name))
	if err != nil {
		return err
	}
	var got []string
	for batch, err := range result.Batches() {
		if err != nil {
			return err
		}
		for i := range int(batch.NumRows()) {
			got = append(got, batch.Column(0).ValueStr(i)+" "+batch.Column(1).ValueStr(i)+" "+batch.Column(2).ValueStr(i))
		}
	}
	if text := strings.Join(got, ", "); text != "arm-1 2 0.5, arm-2 1 1.5" {
		return lake.Errorf(lake.Corrupt, "the grouped SELECT returned %q", text)
	}
	a.note("a grouped SELECT returned the same rows")
	return nil
}

// selftestPurge waits for the drop, whose procedure verifies that no object is
// left before it completes, and looks itself where it can.
func (a *app) selftestPurge(ctx context.Context, c *sdk.Client, drop sdk.Drop, objects string) error {
	var last sdk.Procedure
	for p, err := range c.WatchProcedure(ctx, drop.Procedure, 100*time.Millisecond) {
		if err != nil {
			return lake.Errorf(lake.KindOf(err), "the drop is %s (does a worker run, with Temporal?): %w", summary(last), err)
		}
		last = p
	}
	if last.State != sdk.Completed {
		return lake.Errorf(lake.Corrupt, "the drop ended as %s", summary(last))
	}
	if left := countFiles(objects); left > 0 {
		return lake.Errorf(lake.Corrupt, "%d objects are left after the drop", left)
	}
	a.note("%s: no object is left", summary(last))
	return nil
}

// countFiles counts the objects below a folder; none when it is not known.
func countFiles(dir string) (n int) {
	if dir == "" {
		return 0
	}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == ".tmp" {
			return filepath.SkipDir
		}
		if err == nil && !e.IsDir() {
			n++
		}
		return nil
	})
	return n
}
