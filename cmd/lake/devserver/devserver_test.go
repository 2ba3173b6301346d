// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/cmd/lake/devserver"
	"github.com/lakeplane/lake/cmd/lake/process"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
)

func options(dir string) devserver.Options {
	return devserver.Options{DataDir: dir, NoTemporal: true, Log: slog.New(slog.DiscardHandler)}
}

func start(t *testing.T, dir string) *devserver.Server {
	t.Helper()
	s, err := devserver.Start(t.Context(), options(dir))
	require.NoError(t, err)
	return s
}

func connect(t *testing.T, s *devserver.Server) *sdk.Client {
	t.Helper()
	c, err := sdk.Connect(t.Context(), s.State().Query)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestMain(m *testing.M) {
	process.RunSlotIfAsked()
	os.Exit(m.Run())
}

func TestServerComesBackWithEverything(t *testing.T) {
	dir := t.TempDir()
	name := lake.TableName{Namespace: "keep", Name: "t"}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	rows, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"n":1},{"n":2}]`))
	require.NoError(t, err)

	s := start(t, dir)
	c := connect(t, s)
	_, err = c.CreateTable(t.Context(), name, schema)
	require.NoError(t, err)
	_, err = c.Append(t.Context(), name, rows)
	require.NoError(t, err)
	before, err := c.Table(t.Context(), name)
	require.NoError(t, err)
	resp, err := http.Get(s.State().Metrics)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, errorsOf(err, resp.Body.Close()))
	require.Contains(t, string(body), "lake_")
	require.NoError(t, s.Stop())

	s = start(t, dir)
	c = connect(t, s)
	after, err := c.Table(t.Context(), name)
	require.NoError(t, err)
	require.Equal(t, before.Snapshot, after.Snapshot)
	result, err := c.Query(t.Context(), "SELECT sum(n)::BIGINT AS s FROM keep.t")
	require.NoError(t, err)
	for b, err := range result.Batches() {
		require.NoError(t, err)
		require.Equal(t, int64(3), b.Column(0).(*array.Int64).Value(0))
	}
	require.NoError(t, s.Stop())
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestStateFileTellsWhereTheServerIs(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	data, err := os.ReadFile(filepath.Join(dir, devserver.StateFile))
	require.NoError(t, err)
	var found devserver.State
	require.NoError(t, json.Unmarshal(data, &found))
	require.Equal(t, s.State(), found)
	require.Equal(t, os.Getpid(), found.PID)
	require.NoError(t, s.Stop())
	require.NoFileExists(t, filepath.Join(dir, devserver.StateFile))
}

func TestSecondServerSaysWhoHoldsTheData(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	defer s.Stop()
	_, err := devserver.Start(t.Context(), options(dir))
	require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	require.ErrorContains(t, err, dir)
	require.ErrorContains(t, err, fmt.Sprintf("process %d, since %s", os.Getpid(), time.Now().Format(time.DateOnly)))
	_, err = connect(t, s).Table(t.Context(), lake.TableName{Namespace: "a", Name: "b"})
	require.True(t, lake.Is(err, lake.NotFound), "the first one is unharmed: %v", err)
}

func TestTakenPortsAreNamedBeforeAnythingStarts(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	for offset, use := range []string{"query", "meta", "metrics", "Temporal", "Temporal UI"} {
		o := options(t.TempDir())
		o.NoTemporal = false
		o.PortBase = port - offset
		_, err := devserver.Start(t.Context(), o)
		require.True(t, lake.Is(err, lake.Precondition), "%v", err)
		require.ErrorContains(t, err, fmt.Sprintf("%d (%s)", port, use))
		require.ErrorContains(t, err, "--port-base ")
		require.NoDirExists(t, filepath.Join(o.DataDir, "temporal"))
	}
}

func TestWrongOptionsAreAllReported(t *testing.T) {
	_, err := devserver.Start(t.Context(), devserver.Options{
		Host: "0.0.0.0", PortBase: 70000, NoTemporal: true, TemporalAddress: "127.0.0.1:7233", Grace: -1,
	})
	for _, want := range []string{"a data directory is needed", "loopback", "port base 70000", "exclude each other", "negative"} {
		require.ErrorContains(t, err, want)
	}
	_, err = devserver.Start(t.Context(), devserver.Options{DataDir: t.TempDir(), TemporalUI: "http://x"})
	require.ErrorContains(t, err, "goes with that of its server")
}

// A Temporal server that does not answer stops nothing but the end of drops.
func TestWorksWithoutAnAnswerFromTemporal(t *testing.T) {
	o := options(t.TempDir())
	o.NoTemporal, o.TemporalAddress = false, "127.0.0.1:1"
	s, err := devserver.Start(t.Context(), o)
	require.NoError(t, err)
	c := connect(t, s)
	name := lake.TableName{Namespace: "a", Name: "b"}
	_, err = c.CreateTable(t.Context(), name, arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil))
	require.NoError(t, err)
	d, err := c.DropTable(t.Context(), name, sdk.DropOptions{})
	require.NoError(t, err)
	p, err := c.Procedure(t.Context(), d.Procedure)
	require.NoError(t, err)
	require.Equal(t, sdk.Pending, p.State)
	require.NoError(t, s.Stop())
}
