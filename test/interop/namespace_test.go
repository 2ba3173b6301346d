// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/lakeplane/lake/activities/maintain"
	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/audit"
	"github.com/lakeplane/lake/catalog"
	"github.com/lakeplane/lake/engine"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/internal/appendwire"
	"github.com/lakeplane/lake/internal/s3test"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	memstore "github.com/lakeplane/lake/metastore/memory"
	"github.com/lakeplane/lake/objstore"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/objstore/s3"
	"github.com/lakeplane/lake/retention"
	"github.com/lakeplane/lake/services/access"
	"github.com/lakeplane/lake/services/metasrv"
	"github.com/lakeplane/lake/services/metasrv/lancens"
	"github.com/lakeplane/lake/workflows"
)

// numbersSchema is the schema of the tables here.
var numbersSchema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

// deployment is a metadata server with its namespace for other Lance clients.
type deployment struct {
	objects objstore.Store
	records metastore.Store
	catalog *catalog.Catalog
	engine  *enginelance.Engine
	flight  flight.FlightServiceClient
	tables  lakepb.CatalogClient
	url     string
	storage map[string]string
}

// localPlace keeps objects in a folder.
func localPlace(t *testing.T) (objstore.Store, lancens.Place) {
	t.Helper()
	dir := t.TempDir()
	store, err := local.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store, lancens.Place{Folder: dir}
}

// s3Place keeps objects in a bucket of a real S3 server.
func s3Place(t *testing.T) (objstore.Store, lancens.Place) {
	t.Helper()
	server, err := s3test.Start()
	if errors.Is(err, s3test.ErrMissing) {
		t.Skipf("skipped: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	store, err := s3.Open(t.Context(), s3.Options{Bucket: s3test.Bucket, Prefix: "tables/", Endpoint: server.URL(), Region: "us-east-1", PathStyle: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	return store, lancens.Place{Bucket: s3test.Bucket, Prefix: "tables", Storage: map[string]string{
		"aws_endpoint": server.URL(), "aws_region": "us-east-1", "allow_http": "true", "aws_virtual_hosted_style_request": "false",
	}}
}

func deploy(t *testing.T, place func(*testing.T) (objstore.Store, lancens.Place)) *deployment {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	d := &deployment{records: memstore.New()}
	var where lancens.Place
	d.objects, where = place(t)
	var err error
	d.engine, err = enginelance.New(enginelance.Options{Store: d.objects})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.engine.Close() })
	meta, err := metasrv.New(metasrv.Options{
		Store: d.records, Engine: d.engine, Logger: quiet, Election: catalog.ElectionOptions{Exclusive: true, Logger: quiet},
	})
	require.NoError(t, err)
	d.catalog = meta.Catalog()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() {
		served <- meta.Serve(ctx, lis, metasrv.ListenOptions{Auth: access.Development(), Logger: quiet})
	}()
	namespace, err := lancens.New(lancens.Options{
		Catalog: d.catalog, Records: d.records, Engine: d.engine, Authority: meta,
		Auth: access.Development(), Place: where, Logger: quiet,
	})
	require.NoError(t, err)
	web := httptest.NewServer(namespace)
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		web.Close()
		cancel()
		require.NoError(t, <-served)
	})
	d.flight, d.tables, d.url, d.storage = flight.NewFlightServiceClient(conn), lakepb.NewCatalogClient(conn), web.URL, where.Storage
	require.Eventually(t, meta.Leading, 20*time.Second, time.Millisecond)
	return d
}

func (d *deployment) create(t *testing.T, name string) catalog.Table {
	t.Helper()
	_, err := d.tables.CreateTable(t.Context(), &lakepb.CreateTableRequest{
		Name: &lakepb.TableName{Namespace: "robots", Name: name}, Schema: flight.SerializeSchema(numbersSchema, memory.DefaultAllocator),
	})
	require.NoError(t, err)
	return d.now(t, name)
}

func (d *deployment) now(t *testing.T, name string) catalog.Table {
	t.Helper()
	table, err := d.catalog.Get(t.Context(), lake.TableName{Namespace: "robots", Name: name})
	require.NoError(t, err)
	return table
}

// command is a command on a table of the namespace.
func (d *deployment) command(op, table string) Command {
	return Command{Op: op, NS: d.url, Namespace: "robots", Table: table, Storage: d.storage}
}

func batchOf(numbers ...int64) arrow.RecordBatch {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(numbers, nil)
	return array.NewRecordBatch(numbersSchema, []arrow.Array{b.NewArray()}, int64(len(numbers)))
}

// ipcOf writes rows to a file for the other process.
func ipcOf(t *testing.T, numbers ...int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.arrow")
	f, err := os.Create(path)
	require.NoError(t, err)
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(numbersSchema))
	require.NoError(t, err)
	require.NoError(t, w.Write(batchOf(numbers...)))
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	return path
}

// sent collects the messages of an append.
type sent struct{ messages []*flight.FlightData }

func (s *sent) Send(m *flight.FlightData) error {
	s.messages = append(s.messages, &flight.FlightData{DataHeader: m.DataHeader, DataBody: append([]byte{}, m.DataBody...)})
	return nil
}

// append is an append by Lake's own protocol.
func (d *deployment) append(ctx context.Context, table string, numbers ...int64) error {
	var s sent
	w := flight.NewRecordWriter(&s, ipc.WithSchema(numbersSchema))
	if err := errors.Join(w.Write(batchOf(numbers...)), w.Close()); err != nil {
		return err
	}
	c := appendwire.Command{Table: lake.TableName{Namespace: "robots", Name: table}, Operation: lake.NewID(), Digest: appendwire.DigestOf(s.messages...)}
	var err error
	if s.messages[0].FlightDescriptor, err = c.Descriptor(); err != nil {
		return err
	}
	stream, err := d.flight.DoPut(ctx)
	if err != nil {
		return err
	}
	for _, m := range s.messages {
		if stream.Send(m) != nil {
			break // the reason is received
		}
	}
	_ = stream.CloseSend()
	for {
		if _, err := stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// numbers are the rows of the current version by Lake, sorted.
func (d *deployment) numbers(t *testing.T, table string) (out []int64) {
	t.Helper()
	dataset, err := d.engine.Open(t.Context(), d.now(t, table).Snapshot)
	require.NoError(t, err)
	defer dataset.Close()
	scan, err := dataset.Scan(t.Context(), engine.ScanOptions{})
	require.NoError(t, err)
	defer scan.Close()
	for {
		b, err := scan.Next(t.Context())
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out
		}
		require.NoError(t, err)
		out = append(out, b.Column(0).(*array.Int64).Int64Values()...)
		b.Release()
	}
}

// requireWhole audits the table: every version has what it needs.
func (d *deployment) requireWhole(t *testing.T) {
	t.Helper()
	a, err := audit.New(audit.Options{Catalog: d.catalog, Records: d.records, Objects: d.objects, Engine: d.engine})
	require.NoError(t, err)
	require.NoError(t, a.All(t.Context(), "", func(f audit.Finding) error { return fmt.Errorf("%+v", f) }))
}

func do(t *testing.T, s *Stock, c Command) Answer {
	t.Helper()
	a, err := s.Do(c)
	require.NoError(t, err, c.Op)
	return a
}

func upTo(n int64) (out []int64) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// TestStockClientsWriteThroughTheNamespace: a stock client appends, deletes,
// updates, merges, compacts and indexes a table that Lake appends to in between,
// and both read the same.
func TestStockClientsWriteThroughTheNamespace(t *testing.T) {
	for name, place := range map[string]func(*testing.T) (objstore.Store, lancens.Place){"local": localPlace, "s3": s3Place} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t, place) // before the other process, which inherits credentials
			stock := startStock(t)
			d.create(t, "t")
			require.Equal(t, []string{"robots", "t"}, do(t, stock, Command{Op: "list", NS: d.url, Namespace: "robots"}).Names)
			run := func(op string, change func(*Command)) {
				c := d.command(op, "t")
				change(&c)
				do(t, stock, c)
			}
			same := func(want ...int64) {
				t.Helper()
				require.Equal(t, want, d.numbers(t, "t"))
				c := d.command("read", "t")
				c.IPC = filepath.Join(t.TempDir(), "out.arrow")
				require.EqualValues(t, len(want), do(t, stock, c).Rows)
			}
			run("add", func(c *Command) { c.IPC = ipcOf(t, upTo(10)...) })
			require.NoError(t, d.append(t.Context(), "t", 10, 11))
			run("delete", func(c *Command) { c.Where = "n = 3" })
			require.NoError(t, d.append(t.Context(), "t", 12))
			same(0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12)
			run("update", func(c *Command) { c.Where, c.Set = "n = 12", map[string]string{"n": "n + 100"} })
			run("merge", func(c *Command) { c.IPC, c.Columns = ipcOf(t, 0, 1000), []string{"n"} })
			same(0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 112, 1000)
			run("optimize", func(*Command) {})
			require.NoError(t, d.append(t.Context(), "t", 13))
			run("index", func(c *Command) { c.Columns = []string{"n"} })
			require.NoError(t, d.append(t.Context(), "t", 14))
			run("add", func(c *Command) { c.IPC = ipcOf(t, 15) })
			same(0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 112, 1000)
			require.Greater(t, d.now(t, "t").Snapshot.Version, lake.Version(11))
			d.requireWhole(t)
		})
	}
}

// TestCleanUpKeepsWhatStockClientsMade: Lake deletes what old versions by stock
// clients left behind. Their rows, deletions and index stay, and they go on.
func TestCleanUpKeepsWhatStockClientsMade(t *testing.T) {
	for name, place := range map[string]func(*testing.T) (objstore.Store, lancens.Place){"local": localPlace, "s3": s3Place} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t, place)
			stock := startStock(t)
			d.create(t, "t")
			run := func(op string, change func(*Command)) {
				c := d.command(op, "t")
				change(&c)
				do(t, stock, c)
			}
			for i := range int64(6) {
				run("add", func(c *Command) { c.IPC = ipcOf(t, 3*i, 3*i+1, 3*i+2) })
			}
			run("delete", func(c *Command) { c.Where = "n = 4" })
			run("index", func(c *Command) { c.Columns = []string{"n"} })
			run("add", func(c *Command) { c.IPC = ipcOf(t, 100) })
			run("optimize", func(*Command) {})
			first, last := d.now(t, "t").Snapshot, d.now(t, "t").Snapshot.Version
			d.cleanUp(t, "t", retention.Policy{Versions: 2, For: time.Nanosecond, OrphanAge: time.Nanosecond})
			d.requireWhole(t)
			rows, _, err := retention.Rows(t.Context(), d.records, d.engine.HistoryPrefix(first.Location), "", 100)
			require.NoError(t, err)
			require.Len(t, rows, 2)
			run("add", func(c *Command) { c.IPC = ipcOf(t, 101) })
			want := slices.DeleteFunc(append(upTo(18), 100, 101), func(n int64) bool { return n == 4 })
			require.Equal(t, want, d.numbers(t, "t"))
			c := d.command("read", "t")
			c.IPC = filepath.Join(t.TempDir(), "out.arrow")
			require.EqualValues(t, len(want), do(t, stock, c).Rows)
			require.Equal(t, last+1, d.now(t, "t").Snapshot.Version)
			c.At = 2
			_, err = stock.Do(c)
			require.Error(t, err, "version 2 was deleted")
		})
	}
}

// cleanUp runs the clean-up of a table to its end.
func (d *deployment) cleanUp(t *testing.T, name string, policy retention.Policy) {
	t.Helper()
	a, err := maintain.New(d.catalog, nil, map[string]maintain.Engine{enginelance.Name: d.engine}, maintain.Options{
		Records: d.records, Objects: d.objects, Retention: policy,
	})
	require.NoError(t, err)
	table := d.now(t, name)
	step := workflows.MaintenanceStep{Namespace: table.Name.Namespace, Name: name, Incarnation: table.Snapshot.Incarnation}
	_, _, err = d.catalog.OpenProcedure(t.Context(), catalog.Procedure{
		Kind: catalog.MaintenanceKind, ID: step.Ref().ID, Namespace: step.Namespace, Table: name,
	})
	require.NoError(t, err)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a.Reclaim)
	v, err := env.ExecuteActivity(a.Reclaim, step)
	require.NoError(t, err)
	var out workflows.MaintenanceProgress
	require.NoError(t, v.Get(&out))
	require.True(t, out.Over)
	p, err := d.catalog.Procedure(t.Context(), catalog.MaintenanceKind, step.Ref().ID)
	require.NoError(t, err)
	require.Equal(t, catalog.ProcedureCompleted, p.State, p.LastError)
	require.Positive(t, out.Counters[workflows.CountObjects])
}

// TestRaceOfWriters: two of Lake's writers and a stock one write one table
// together; nothing is lost and nothing is there twice.
func TestRaceOfWriters(t *testing.T) {
	d, stock := deploy(t, localPlace), startStock(t)
	d.create(t, "race")
	const each, byNode = 100, 30
	var want []int64
	var writers sync.WaitGroup
	for w := range int64(2) {
		for i := range int64(each) {
			want = append(want, 10_000*(w+1)+i)
		}
		writers.Go(func() {
			for i := range int64(each) {
				if err := d.append(t.Context(), "race", 10_000*(w+1)+i); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(20 * time.Millisecond) // a robot, not a loop
			}
		})
	}
	c := d.command("numbers", "race")
	c.Count = byNode
	do(t, stock, c)
	for i := range int64(byNode) {
		if i%10 != 8 {
			want = append(want, i)
		}
	}
	writers.Wait()
	slices.Sort(want)
	require.Equal(t, want, d.numbers(t, "race"))
	d.requireWhole(t)
	require.Greater(t, d.now(t, "race").Snapshot.Version, lake.Version(byNode))
}
