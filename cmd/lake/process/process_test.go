// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package process_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakeplane/lake/api/lakepb"
	"github.com/lakeplane/lake/cmd/lake/config"
	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

func TestMain(m *testing.M) {
	process.RunSlotIfAsked()
	goleak.VerifyTestMain(m)
}

// logged is a log that tests read while processes write it.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// line returns the first line whose message is msg; nil when there is none yet.
func (l *logged) line(msg string) map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	for text := range strings.Lines(l.buf.String()) {
		var line map[string]any
		if json.Unmarshal([]byte(text), &line) == nil && line["msg"] == msg {
			return line
		}
	}
	return nil
}

// running is a process that runs in this one.
type running struct {
	log   *logged
	stop  context.CancelFunc
	ended chan error
	line  map[string]any // what it said when it started
}

// begin runs a process until the test ends or stops it.
func begin(t *testing.T, name string, run func(context.Context, process.Telemetry) error) *running {
	t.Helper()
	r := &running{log: new(logged), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	t.Cleanup(cancel)
	tel := process.NewTelemetry(name, "test", slog.New(slog.NewJSONHandler(r.log, nil)))
	go func() { r.ended <- run(ctx, tel) }()
	require.Eventually(t, func() bool {
		r.line = r.log.line("lake " + name + " started")
		return r.line != nil
	}, 30*time.Second, 5*time.Millisecond, "%s", &r.log.buf)
	return r
}

func (r *running) address(key string) string { return r.line[key].(string) }

// page gets a page of the process.
func (r *running) page(t *testing.T, path string) (status int, text string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + r.address("metrics") + path)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func (r *running) awaitReady(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { status, _ := r.page(t, "/readyz"); return status == http.StatusOK }, 30*time.Second, 10*time.Millisecond)
}

// common are the settings of a process of the test.
func common(c *config.Common, dir string) {
	c.Objects.URL, c.MetricsListen, c.Grace = "file://"+filepath.Join(dir, "objects"), "127.0.0.1:0", 10*time.Second
}

func metaConfig(dir string) *config.Meta {
	c := config.NewMeta()
	common(&c.Common, dir)
	c.Address, c.Metastore.URL = "127.0.0.1:0", "pebble://"+filepath.Join(dir, "metastore")
	return c
}

func queryConfig(dir string, meta ...string) *config.Query {
	c := config.NewQuery()
	common(&c.Common, dir)
	c.Address, c.Meta, c.Slots = "127.0.0.1:0", meta, 2
	return c
}

func runMeta(c *config.Meta) func(context.Context, process.Telemetry) error {
	return func(ctx context.Context, tel process.Telemetry) error { return process.RunMeta(ctx, c, tel) }
}

func runQuery(c *config.Query) func(context.Context, process.Telemetry) error {
	return func(ctx context.Context, tel process.Telemetry) error { return process.RunQuery(ctx, c, tel) }
}

// TestProcessesStartAndStop: what a process says and shows, that a replica may
// start first, and that nothing is left of them (goleak).
func TestProcessesStartAndStop(t *testing.T) {
	dir, temporary := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	later := lis.Addr().String()
	require.NoError(t, lis.Close())

	q := begin(t, "query", runQuery(queryConfig(dir, later)))
	status, _ := q.page(t, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status, "no metadata server yet")
	status, _ = q.page(t, "/healthz")
	require.Equal(t, http.StatusOK, status)

	c := metaConfig(dir)
	c.Address = later
	m := begin(t, "meta", runMeta(c))
	require.Equal(t, later, m.address("advertise"))
	require.Equal(t, "pebble", m.address("metastore"))
	require.NotContains(t, m.line, "args")
	m.awaitReady(t)
	q.awaitReady(t)
	_, series := m.page(t, "/metrics")
	require.Contains(t, series, `lake_process_info{process="meta",version="test"} 1`)
	require.Contains(t, series, "lake_metasrv_write_ready 1")

	client, err := sdk.Connect(t.Context(), q.address("listen"))
	require.NoError(t, err)
	_, err = client.Table(t.Context(), lake.TableName{Namespace: "a", Name: "b"})
	require.Equal(t, lake.NotFound, lake.KindOf(err))
	require.NoError(t, client.Close())
	for _, r := range []*running{q, m} {
		r.stop()
		require.NoError(t, <-r.ended)
	}
	left, err := filepath.Glob(filepath.Join(temporary, "*"))
	require.NoError(t, err)
	require.Empty(t, left, "the directory for spilling is gone")
}

// TestReadsMoveToAnotherServer: a replica with two metadata servers notices
// nothing of one that dies. The two are of one deployment only as far as a
// reader of one table can see.
func TestReadsMoveToAnotherServer(t *testing.T) {
	first, second := begin(t, "meta", runMeta(metaConfig(t.TempDir()))), begin(t, "meta", runMeta(metaConfig(t.TempDir())))
	first.awaitReady(t)
	second.awaitReady(t)
	q := begin(t, "query", runQuery(queryConfig(t.TempDir(), first.address("listen"), second.address("listen"))))
	q.awaitReady(t)
	client, err := sdk.Connect(t.Context(), q.address("listen"))
	require.NoError(t, err)
	defer client.Close()
	ask := func() {
		t.Helper()
		_, err := client.Table(t.Context(), lake.TableName{Namespace: "a", Name: "b"})
		require.Equal(t, lake.NotFound, lake.KindOf(err), "%v", err)
	}
	for range 10 {
		ask()
	}
	first.stop()
	for range 200 { // while it stops and after
		ask()
	}
	require.NoError(t, <-first.ended)
	ask()
	for _, r := range []*running{q, second} {
		r.stop()
		require.NoError(t, <-r.ended)
	}
}

// TestStartsThatFail end with the reason, and leave nothing running.
func TestStartsThatFail(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	tel := process.NewTelemetry("test", "test", slog.New(slog.DiscardHandler))
	meta := func(change func(*config.Meta)) error {
		c := metaConfig(t.TempDir())
		change(c)
		return process.RunMeta(t.Context(), c, process.NewTelemetry("meta", "test", slog.New(slog.DiscardHandler)))
	}
	worker := config.NewWorker()
	common(&worker.Common, t.TempDir())
	worker.Metastore.URL = "lake://127.0.0.1:1"
	for says, err := range map[string]error{
		"address already in use": meta(func(c *config.Meta) { c.Address = taken.Addr().String() }),
		"not a directory":        meta(func(c *config.Meta) { c.Objects.URL = "file://" + file }),
		"connection refused":     meta(func(c *config.Meta) { c.Metastore.URL = "postgres://x@127.0.0.1:1/db" }),
		"open remote metastore":  process.RunWorker(t.Context(), worker, tel),
		"loopback only":          meta(func(c *config.Meta) { c.Address = "0.0.0.0:0" }),
	} {
		require.ErrorContains(t, err, says)
	}
	c := metaConfig(t.TempDir())
	c.Address, c.MetricsListen = taken.Addr().String(), taken.Addr().String()
	err = process.RunMeta(t.Context(), c, process.NewTelemetry("meta", "test", slog.New(slog.DiscardHandler)))
	require.Equal(t, 2, strings.Count(err.Error(), "address already in use"), "both are told: %v", err)
}

// TestSecondProcessSaysWhoHoldsTheRecords: an embedded metastore has one user.
func TestSecondProcessSaysWhoHoldsTheRecords(t *testing.T) {
	dir := t.TempDir()
	m := begin(t, "meta", runMeta(metaConfig(dir)))
	err := process.RunMeta(t.Context(), metaConfig(dir), process.NewTelemetry("meta", "test", slog.New(slog.DiscardHandler)))
	require.ErrorContains(t, err, "in use by process")
	m.stop()
	require.NoError(t, <-m.ended)
}

// TestFollowersOfALentStore: members without records of their own answer and
// take writes, and go on when the one that lends them was away.
func TestFollowersOfALentStore(t *testing.T) {
	dir := t.TempDir()
	lender := metaConfig(dir)
	lender.Lend, lender.LeaseTTL, lender.ClockSkew = true, time.Second, 100*time.Millisecond
	first := begin(t, "meta", runMeta(lender))
	first.awaitReady(t)
	lender.Address = first.address("listen") // where it comes back
	members := []*running{first}
	for range 2 {
		c := metaConfig(dir)
		c.Metastore.URL, c.LeaseTTL, c.ClockSkew = "lake://"+lender.Address, lender.LeaseTTL, lender.ClockSkew
		m := begin(t, "meta", runMeta(c))
		require.Equal(t, "lake", m.address("metastore"))
		m.awaitReady(t)
		members = append(members, m)
	}
	create := func(m *running, name string) error {
		conn, err := process.DialMeta([]string{m.address("listen")}, config.Caller{}, false)
		require.NoError(t, err)
		defer conn.Close()
		_, err = lakepb.NewCatalogClient(conn).CreateTable(t.Context(), &lakepb.CreateTableRequest{
			Name:   &lakepb.TableName{Namespace: "a", Name: name},
			Schema: flight.SerializeSchema(arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil), memory.DefaultAllocator),
		})
		return err
	}
	all := func(name string) {
		for i, m := range members {
			require.Eventually(t, func() bool { return create(m, fmt.Sprint(name, i)) == nil }, 20*time.Second, 50*time.Millisecond)
		}
	}
	all("first")
	first.stop()
	require.NoError(t, <-first.ended)
	require.Error(t, create(members[1], "lost"), "the records are away")
	members[0] = begin(t, "meta", runMeta(lender))
	all("again")
	for i := len(members) - 1; i >= 0; i-- {
		members[i].stop()
		require.NoError(t, <-members[i].ended)
	}
}
