// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build robustness && unix

package procedures

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/lakeplane/lake/engine"
	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/internal/devtemporal"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/metastore"
	"github.com/lakeplane/lake/metastore/remote"
	"github.com/lakeplane/lake/objstore/local"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/worker"
)

// appends is how many small appends a table that is kept gets.
const appends = 4

var schema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)

// deployment is a metadata server, two workers and a Temporal server.
type deployment struct {
	bin       string
	dir       string
	address   string // of the metadata server
	temporal  *devtemporal.Server
	workflows client.Client
	client    *sdk.Client
	store     metastore.Store // the metadata server's, lent
	meta      *process
	workers   []*process

	disturbances atomic.Int64
	mu           sync.Mutex
	counts       map[string]int
	ids          map[string]lake.OperationID // of appends, by table and number
	littered     map[lake.TableName]int
	dropped      []sdk.Table // whose drops have ended
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{
		bin: os.Getenv("LAKE_BIN"), dir: t.TempDir(), counts: map[string]int{},
		ids: map[string]lake.OperationID{}, littered: map[lake.TableName]int{},
	}
	if d.bin == "" {
		t.Skip("LAKE_BIN does not name a lake binary: use make test-robustness")
	}
	binary, err := devtemporal.Binary(t.Context(), devtemporal.BuildOptions{}, nil)
	require.NoError(t, err)
	d.temporal, err = devtemporal.Start(t.Context(), devtemporal.Options{Binary: binary, DBFile: filepath.Join(d.dir, "temporal.db"), Headless: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.temporal.Stop(0) })
	d.workflows, err = client.NewLazyClient(client.Options{HostPort: d.temporal.Address(), Namespace: "lake", Logger: worker.Logger(slog.New(slog.DiscardHandler))})
	require.NoError(t, err)
	t.Cleanup(d.workflows.Close)
	d.address = freeAddress(t)
	common := []string{"--objects", "file://" + filepath.Join(d.dir, "objects"), "--temporal-address", d.temporal.Address(), "--log-level", "error"}
	d.meta = d.start(t, append([]string{"meta", "--listen", d.address, "--metastore", "pebble://" + filepath.Join(d.dir, "metastore")}, common...))
	require.Eventually(t, func() bool {
		d.client, err = sdk.Connect(t.Context(), d.address)
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	t.Cleanup(func() { _ = d.client.Close() })
	conn, err := grpc.NewClient("passthrough:///"+d.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, insist(t.Context(), func() (err error) { d.store, err = remote.Open(t.Context(), conn, remote.Options{}); return err }))
	t.Cleanup(func() { _ = d.store.Close() })
	for range 2 {
		d.workers = append(d.workers, d.start(t, append([]string{
			"worker", "--metastore", "lake://" + d.address, "--drop-settle", "1ms", "--procedure-sweep-every", "3s",
		}, common...)))
	}
	return d
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// process is a server that is started again whenever it was killed. Its methods
// are called by one goroutine at a time.
type process struct {
	t    *testing.T
	args []string
	cmd  *exec.Cmd
	said bytes.Buffer
}

func (d *deployment) start(t *testing.T, args []string) *process {
	t.Helper()
	p := &process{t: t, args: args}
	p.spawn(d)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		for _, bad := range []string{"panic:", "fatal error:", "DATA RACE"} {
			if strings.Contains(p.said.String(), bad) {
				t.Errorf("lake %s broke:\n%s", args[0], p.said.String())
			}
		}
	})
	return p
}

func (p *process) spawn(d *deployment) {
	p.cmd = exec.Command(d.bin, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.cmd.Env = withoutLake()
	if err := p.cmd.Start(); err != nil {
		p.t.Errorf("start lake %s: %v", p.args[0], err)
	}
}

// withoutLake is the environment without settings of whoever runs the test.
func withoutLake() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "LAKE_") })
}

// again kills the process as a power cut would, and starts it again.
func (p *process) again(d *deployment, what string) {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.spawn(d)
	d.count("kills of " + what)
}

// stall stops the process for longer than its heartbeats may be missing, and
// lets it go on, unaware, unless it was killed meanwhile.
func (p *process) stall(d *deployment) {
	stalled := p.cmd.Process
	_ = stalled.Signal(syscall.SIGSTOP)
	d.count("stalls")
	time.AfterFunc(16*time.Second, func() { _ = stalled.Signal(syscall.SIGCONT) })
}

func (d *deployment) killTemporal() {
	if pid := d.temporal.PID(); pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		d.count("kills of Temporal")
	}
}

func (d *deployment) count(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[what]++
}

func (d *deployment) tally() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprint(d.counts)
}

// table makes a table, or finds the one that a lost answer made.
func (d *deployment) table(ctx context.Context, name lake.TableName) (table sdk.Table, err error) {
	err = insist(ctx, func() (err error) {
		if table, err = d.client.CreateTable(ctx, name, schema); lake.Is(err, lake.AlreadyExists) {
			table, err = d.client.Table(ctx, name)
		}
		return err
	})
	return table, err
}

// litter writes objects under a table's location.
func (d *deployment) litter(t *testing.T, table sdk.Table, n int) {
	folder := filepath.Join(d.dir, "objects", string(table.Snapshot.Location), "litter")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Error(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%04d", i)), []byte("x"), 0o644); err != nil {
			t.Error(err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.littered[table.Name] = d.objects(table)
}

// most is how many objects a table had when it was dropped.
func (d *deployment) most(name lake.TableName) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.littered[name]
}

// objects counts the objects under a table's location.
func (d *deployment) objects(table sdk.Table) (n int) {
	_ = filepath.WalkDir(filepath.Join(d.dir, "objects", string(table.Snapshot.Location)), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return nil // files vanish while a drop runs
	})
	return n
}

// appendOnce appends a number under an id that stays the same however often it
// is tried.
func (d *deployment) appendOnce(ctx context.Context, name lake.TableName, n int64) error {
	b := array.NewInt64Builder(arrowmem.DefaultAllocator)
	defer b.Release()
	b.Append(n)
	column := b.NewArray()
	defer column.Release()
	batch := array.NewRecordBatch(schema, []arrow.Array{column}, 1)
	defer batch.Release()
	prepared, err := d.client.PrepareAppend(name, batch)
	if err == nil {
		_, err = prepared.WithOperation(d.operation(fmt.Sprint(name, n))).Resume(ctx)
	}
	return err
}

func (d *deployment) operation(key string) lake.OperationID {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.ids[key]; !ok {
		d.ids[key] = lake.NewID()
	}
	return d.ids[key]
}

const marker = "__lake_internal/catalog-directory-authoritative"

// forgetMarker takes the marker of the directory's authority away.
func (d *deployment) forgetMarker(ctx context.Context) error {
	return insist(ctx, func() error {
		r, err := d.store.Get(ctx, marker)
		if errors.Is(err, metastore.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return d.store.Commit(ctx, metastore.Txn{Ops: []metastore.Op{metastore.Remove(marker, r.Value)}, Token: lake.NewID().String()})
	})
}

// keys returns the metastore's keys under a prefix.
func (d *deployment) keys(t *testing.T, prefix string) (keys []string) {
	t.Helper()
	for cursor := ""; ; {
		var page metastore.Page
		require.NoError(t, insist(t.Context(), func() (err error) { page, err = d.store.Scan(t.Context(), prefix, cursor, 1000); return err }))
		for _, r := range page.Records {
			keys = append(keys, r.Key)
		}
		if cursor = page.Next; cursor == "" {
			return keys
		}
	}
}

// verify holds what is left against what should be.
func (d *deployment) verify(t *testing.T) {
	t.Helper()
	require.Empty(t, d.keys(t, "drop/"), "tombstones are left")
	tables := d.keys(t, "tbl/")
	require.Len(t, tables, loops(t), "the tables that were kept")
	require.Len(t, d.keys(t, "lance-manifest-latest/"), len(tables), "pointers of dropped tables are left")
	for _, key := range d.keys(t, "lance-manifest/") {
		require.Contains(t, key, "/kept/", "a version record of a dropped table is left")
	}
	require.NotEmpty(t, d.keys(t, marker), "the directory is authoritative")
	for p, err := range d.client.ListProcedures(t.Context(), "") {
		require.NoError(t, err)
		require.True(t, p.State.Terminal(), "%s", p)
	}
	for _, table := range d.dropped { // still, after everybody who was stopped went on
		require.Zero(t, d.objects(table), "%s", table.Snapshot.Location)
	}
	d.verifyTables(t)
}

// verifyTables holds every version against its objects, and reads the rows.
func (d *deployment) verifyTables(t *testing.T) {
	t.Helper()
	run := func(args ...string) string {
		var out, said bytes.Buffer
		cmd := exec.Command(d.bin, args...)
		cmd.Stdout, cmd.Stderr, cmd.Env = &out, &said, withoutLake()
		require.NoError(t, cmd.Run(), "lake %v\n%s%s", args, out.String(), said.String())
		return out.String()
	}
	found := run("fsck", "--metastore", "lake://"+d.address, "--objects", "file://"+filepath.Join(d.dir, "objects"), "--format", "csv")
	for _, bad := range []string{"missing", "short", "damaged", "gap", "foreign"} {
		require.NotContains(t, found, bad)
	}
	files, err := local.Open(filepath.Join(d.dir, "objects"))
	require.NoError(t, err)
	defer files.Close()
	tables, err := enginelance.New(enginelance.Options{Store: files})
	require.NoError(t, err)
	defer tables.Close()
	for _, key := range d.keys(t, "tbl/kept/") {
		name := lake.TableName{Namespace: "kept", Name: strings.TrimPrefix(key, "tbl/kept/")}
		table, err := d.client.Table(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, []int64{0, 1, 2, 3}, rowsOf(t, tables, table.Snapshot), name)
	}
}

// rowsOf reads the numbers of a version, in the order of its rows.
func rowsOf(t *testing.T, tables *enginelance.Engine, snap lake.Snapshot) (rows []int64) {
	t.Helper()
	version, err := tables.Open(t.Context(), snap)
	require.NoError(t, err)
	defer version.Close()
	scan, err := version.Scan(t.Context(), engine.ScanOptions{Ordered: true})
	require.NoError(t, err)
	defer scan.Close()
	for {
		batch, err := scan.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return rows
		}
		require.NoError(t, err)
		rows = append(rows, batch.Column(0).(*array.Int64).Int64Values()...)
		batch.Release()
	}
}
