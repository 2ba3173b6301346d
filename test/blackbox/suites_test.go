// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package blackbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"
)

// suiteTimeout bounds the tests of one client on a busy machine.
const suiteTimeout = 3 * time.Minute

// The folders of clients in other languages. What each needs is installed into
// its folder by tools/setup.sh; a suite that could not be installed is skipped.
const clients = "../clients"

// need skips the test unless the file that proves an installation is there.
func need(t *testing.T, what, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(clients, file))
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not installed (no %s): tools/setup.sh clients installs it where its registry can be reached", what, file)
	}
	return path
}

// suite runs the tests of one client against both servers, which it finds in
// its environment.
func (s *secured) suite(t *testing.T, folder, name string, args ...string) {
	t.Helper()
	table := folder + ".wide"
	ingestArrow(t, table, wideBatch(t))
	doc, err := filepath.Abs(page)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), suiteTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second // a grandchild may hold the output open
	cmd.Dir = filepath.Join(clients, folder)
	cmd.Env = withoutLake(
		"LAKE_QUERY="+shared.query, "LAKE_METRICS="+shared.metrics,
		"LAKE_SECURED="+s.plain, "LAKE_TLS="+s.tls, "LAKE_CA="+s.ca,
		"LAKE_TOKEN="+annToken, "LAKE_BOB_TOKEN="+bobToken, "LAKE_WIDE="+table, "LAKE_DOC="+doc,
		"LAKE_LONG="+long,
	)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	t.Logf("%s:\n%s", folder, out.String())
	require.NoError(t, err, "the tests of the %s client failed", folder)
}

// ingestArrow appends the batch to a table, by way of an Arrow file.
func ingestArrow(t *testing.T, table string, batch arrow.RecordBatch) {
	t.Helper()
	shared.lake(t, "ingest", table, arrowFile(t, batch))
}

// arrowFile writes the batch, which it releases, into an Arrow file.
func arrowFile(t *testing.T, batch arrow.RecordBatch) string {
	t.Helper()
	defer batch.Release()
	path := filepath.Join(t.TempDir(), "rows.arrow")
	f, err := os.Create(path)
	require.NoError(t, err)
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(batch.Schema()))
	require.NoError(t, err)
	require.NoError(t, w.Write(batch))
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())
	return path
}

// TestClients runs the suites of clients in other languages, one after the
// other, against one secured deployment and the shared open one.
func TestClients(t *testing.T) {
	if testing.Short() {
		t.Skip("short: clients in other languages take a minute")
	}
	s := deploySecured(t)
	s.ingestLong(t)
	t.Run("python", func(t *testing.T) {
		pytest := need(t, "the ADBC driver for Python", "python/.venv/bin/pytest")
		s.suite(t, "python", pytest, "-q", "-rs", "-p", "no:cacheprovider")
	})
	t.Run("node", func(t *testing.T) {
		need(t, "the Rust client for Node", "node/node_modules/@lakehouse-rs/flight-sql-client/package.json")
		s.suite(t, "node", "node", "--test", "--test-reporter=spec", ".")
	})
	t.Run("jdbc", func(t *testing.T) {
		jar := need(t, "the JDBC driver", "jdbc/lib/flight-sql-jdbc-driver-18.3.0.jar")
		classes := compile(t, jar)
		s.suite(t, "jdbc", "java", "-Xmx1g", "-XX:TieredStopAtLevel=1", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", classes+":"+jar, "Main")
	})
}

// compile compiles the tests of the JDBC driver and returns where they are.
func compile(t *testing.T, jar string) string {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(clients, "jdbc/src/*.java"))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	classes := t.TempDir()
	out, err := exec.Command("javac", append([]string{"-Xlint:all", "-d", classes, "-cp", jar}, sources...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return classes
}
