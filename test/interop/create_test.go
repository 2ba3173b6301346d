// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/lakeplane/lake/activities/sweep"
	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/services/metasrv/lancens"
	"github.com/lakeplane/lake/workflows"
)

// TestStockClientsMakeTables: a stock client creates a table through the
// namespace, appends, deletes, compacts, indexes and drops it. Lake reads it, and
// appends to it in between.
func TestStockClientsMakeTables(t *testing.T) {
	for name, place := range map[string]func(*testing.T) (objstore.Store, lancens.Place){"local": localPlace, "s3": s3Place} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t, place)
			stock := startStock(t)
			run := func(op string, change func(*Command)) Answer {
				c := d.command(op, "made")
				change(&c)
				return do(t, stock, c)
			}
			same := func(want ...int64) {
				t.Helper()
				require.Equal(t, want, d.numbers(t, "made"))
				c := d.command("read", "made")
				c.IPC = filepath.Join(t.TempDir(), "out.arrow")
				require.EqualValues(t, len(want), do(t, stock, c).Rows)
			}
			require.EqualValues(t, 10, run("create", func(c *Command) { c.IPC = ipcOf(t, upTo(10)...) }).Rows)
			first := d.now(t, "made")
			require.Equal(t, lake.Version(1), first.Snapshot.Version)
			require.Equal(t, lake.Place(first.Name, first.Snapshot.Incarnation), first.Snapshot.Location)
			require.Equal(t, flight.SerializeSchema(numbersSchema, memory.DefaultAllocator), first.Schema)
			require.Empty(t, d.declarations(t))
			require.Equal(t, []string{"robots", "made"}, do(t, stock, Command{Op: "list", NS: d.url, Namespace: "robots"}).Names)
			same(upTo(10)...)
			require.NoError(t, d.append(t.Context(), "made", 10, 11))
			run("add", func(c *Command) { c.IPC = ipcOf(t, 12) })
			run("delete", func(c *Command) { c.Where = "n = 3" })
			run("optimize", func(*Command) {})
			run("index", func(c *Command) { c.Columns = []string{"n"} })
			require.NoError(t, d.append(t.Context(), "made", 13))
			same(0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
			d.requireWhole(t)

			// What is there is not made again, and with exist_ok it is opened.
			c := d.command("create", "made")
			c.IPC = ipcOf(t, 1)
			_, err := stock.Do(c)
			require.ErrorContains(t, err, "already exists")
			require.EqualValues(t, 13, run("create", func(c *Command) { c.IPC, c.Mode = ipcOf(t, 1), "exist_ok" }).Rows)

			run("drop", func(*Command) {})
			_, err = d.catalog.Get(t.Context(), first.Name)
			require.True(t, lake.Is(err, lake.NotFound))
			_, err = d.catalog.Tombstone(t.Context(), first.Name, first.Snapshot.Incarnation)
			require.NoError(t, err, "it can be undropped")
			_, err = stock.Do(d.command("drop", "made"))
			require.Error(t, err)
			run("create", func(c *Command) { c.IPC, c.Mode = ipcOf(t, 1), "empty" })
			require.NotEqual(t, first.Snapshot.Incarnation, d.now(t, "made").Snapshot.Incarnation)
			require.NoError(t, d.append(t.Context(), "made", 7))
			same(7)
			d.requireWhole(t)
		})
	}
}

// TestWhatIsNotTakenAsATable leaves nothing in the way, and the sweep cleans up
// after it. (LanceDB tells of any refusal that the table exists; why is in the
// server's log.)
func TestWhatIsNotTakenAsATable(t *testing.T) {
	d, stock := deploy(t, localPlace), startStock(t)
	c := d.command("create", "t")
	c.IPC, c.Options = ipcOf(t, 1), map[string]string{"new_table_data_storage_version": "2.0"}
	_, err := stock.Do(c)
	require.ErrorContains(t, err, "already exists")
	left := d.declarations(t)
	require.Len(t, left, 1)
	require.True(t, left[0].Abandoned())
	require.NotEmpty(t, d.objectsUnder(t, left[0].Location()))
	c.Options = nil
	require.EqualValues(t, 1, do(t, stock, c).Rows)

	// A client that declared and died keeps the name for a while. A drop frees it.
	declare(t, d.url, "dead")
	c = d.command("create", "dead")
	c.IPC = ipcOf(t, 2)
	_, err = stock.Do(c)
	require.ErrorContains(t, err, "is making a table of that name")
	do(t, stock, d.command("drop", "dead"))
	require.EqualValues(t, 1, do(t, stock, c).Rows)

	r := d.sweep(t, time.Now())
	require.Positive(t, r.Deleted)
	require.Empty(t, d.objectsUnder(t, left[0].Location()))
	d.sweep(t, time.Now().Add(24*time.Hour))
	require.Empty(t, d.declarations(t))
	require.Equal(t, []int64{1}, d.numbers(t, "t"))
	require.Equal(t, []int64{2}, d.numbers(t, "dead"))
	d.requireWhole(t)
}

// declare reserves a name and does nothing more.
func declare(t *testing.T, url, name string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/table/robots$"+name+"/declare", strings.NewReader("{}"))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// TestRaceOfMakers: two stock clients and Lake make, fill and drop one table
// together. Every make that succeeds is one incarnation, and what the others left
// is gone after a sweep.
func TestRaceOfMakers(t *testing.T) {
	d := deploy(t, localPlace)
	var makers sync.WaitGroup
	made := make(chan string, 100)
	for range 2 {
		stock := startStock(t)
		makers.Go(func() {
			for i := range 8 {
				c := d.command("create", "race")
				c.IPC = ipcOf(t, int64(i))
				if _, err := stock.Do(c); err == nil {
					made <- "stock"
				} else if !expectedInRace(err) {
					t.Errorf("create: %v", err)
				}
				if i%2 == 1 {
					if _, err := stock.Do(d.command("drop", "race")); err != nil && !expectedInRace(err) {
						t.Errorf("drop: %v", err)
					}
				}
			}
		})
	}
	makers.Go(func() {
		for range 20 {
			_, err := d.tables.CreateTable(t.Context(), &lakepb.CreateTableRequest{
				Name:   &lakepb.TableName{Namespace: "robots", Name: "race"},
				Schema: flight.SerializeSchema(numbersSchema, memory.DefaultAllocator),
			})
			if err == nil {
				made <- "lake"
			}
			_, _ = d.tables.DropTable(t.Context(), &lakepb.DropTableRequest{Name: &lakepb.TableName{Namespace: "robots", Name: "race"}})
		}
	})
	makers.Wait()
	close(made)
	total := 0
	for range made {
		total++
	}
	require.Positive(t, total)
	graves, _, err := d.catalog.TombstonesOf(t.Context(), lake.TableName{Namespace: "robots", Name: "race"}, "", 500)
	require.NoError(t, err)
	known := map[lake.Location]bool{}
	for _, g := range graves {
		known[g.Table.Snapshot.Location] = true
	}
	if table, err := d.catalog.Get(t.Context(), lake.TableName{Namespace: "robots", Name: "race"}); err == nil {
		known[table.Snapshot.Location] = true
	}
	require.Len(t, known, total, "one incarnation each")
	d.sweep(t, time.Now().Add(2*time.Hour))
	d.sweep(t, time.Now().Add(24*time.Hour))
	require.Empty(t, d.declarations(t))
	for _, key := range d.objectsUnder(t, "robots/race") {
		folder, _, _ := strings.Cut(key, ".lance/")
		require.True(t, known[lake.Location(folder+".lance")], "%s is of no table", key)
	}
	d.requireWhole(t)
}

// expectedInRace reports whether an error says that another was faster.
func expectedInRace(err error) bool {
	return slices.ContainsFunc([]string{"exists", "making a table", "given up", "not declared", "no table", "nobody is making", "the table is at version", "ropped", "Conflict", "conflict", "overwrite"},
		func(s string) bool { return strings.Contains(err.Error(), s) })
}

func (d *deployment) declarations(t *testing.T) []catalog.Declaration {
	t.Helper()
	page, _, err := d.catalog.Declarations(t.Context(), "", 500)
	require.NoError(t, err)
	return page
}

func (d *deployment) objectsUnder(t *testing.T, loc lake.Location) (keys []string) {
	t.Helper()
	for page, err := range objstore.Pages(t.Context(), d.objects, loc.Prefix(), "", objstore.MaxPage) {
		require.NoError(t, err)
		for _, o := range page {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// idle is a workflow engine in which nothing runs.
type idle struct{}

func (idle) Start(context.Context, string, string) error { return nil }
func (idle) Open(context.Context, workflows.Kind) (map[string]bool, error) {
	return map[string]bool{}, nil
}
func (idle) Recheck(context.Context, workflows.Ref) error { return nil }

// sweep runs one sweep as of a time.
func (d *deployment) sweep(t *testing.T, now time.Time) (r workflows.SweepResult) {
	t.Helper()
	a := sweep.New(d.catalog, idle{}, sweep.Options{
		Declarations: d.catalog, Objects: d.objects, StartEvery: 1, Now: func() time.Time { return now },
	})
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a.Sweep)
	v, err := env.ExecuteActivity(a.Sweep, workflows.SweepStep{})
	require.NoError(t, err)
	require.NoError(t, v.Get(&r))
	require.Zero(t, r.Failed, r.LastError)
	return r
}
