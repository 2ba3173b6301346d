// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/test/tpch"
)

const resumedRows = 200_000

// TestKillMidIngest kills `lake ingest` five times at random moments, and the
// server with it once, and resumes it each time. In the end the table holds
// what the file holds: every row once, and every value.
func TestKillMidIngest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lineitem.parquet")
	require.NoError(t, tpch.WriteParquet(file, resumedRows, 11))
	dir := t.TempDir()
	d := startDev(t, dir, "--no-temporal")
	k := killer{T: t, state: filepath.Join(t.TempDir(), "state")}
	for round := range 5 {
		k.kill(d, round, "ingest", "demo.lineitem", file)
		if round == 2 { // the machine ends, not only the program
			d.kill()
			d = startDev(t, dir, "--no-temporal")
		}
	}
	said := k.finish(d, "ingest", "demo.lineitem", file)
	t.Log(said)

	c := d.client(t)
	want := readParquet(t, file)
	sums := query(t, c, "SELECT count(*) AS n, sum(l_orderkey)::BIGINT AS k, sum(l_linenumber)::BIGINT AS l FROM demo.lineitem")
	require.Equal(t, []int64{resumedRows, sum(want, "l_orderkey"), sum(want, "l_linenumber")}, integers(sums))
	got := query(t, c, "SELECT * FROM demo.lineitem ORDER BY l_orderkey, l_linenumber")
	requireSameColumns(t, want, got)
}

// TestKillMidIngestOfCSV does the same to a file that has no index to skip by.
func TestKillMidIngestOfCSV(t *testing.T) {
	var text strings.Builder
	text.WriteString("n,s,f\n")
	for i := range resumedRows {
		fmt.Fprintf(&text, "%d,\"row, %d\",%s\n", i, i, strings.Repeat("0.5", i%3%2))
	}
	file := filepath.Join(t.TempDir(), "numbers.csv")
	writeFile(t, file, text.String())
	d := startDev(t, t.TempDir(), "--no-temporal")
	k := killer{T: t, state: filepath.Join(t.TempDir(), "state")}
	for round := range 5 {
		k.kill(d, round, "ingest", "demo.numbers", file)
	}
	k.finish(d, "ingest", "demo.numbers", file)
	sums := query(t, d.client(t), "SELECT count(*) AS n, count(DISTINCT n) AS d, sum(n)::BIGINT AS s, sum(f * 2)::BIGINT AS f, count(f) AS c FROM demo.numbers WHERE s = 'row, ' || n")
	halves := int64(resumedRows+1) / 3
	require.Equal(t, []int64{resumedRows, resumedRows, resumedRows * (resumedRows - 1) / 2, halves, halves}, integers(sums))
}

// killer runs ingests that are killed.
type killer struct {
	*testing.T
	state string
}

// args add what every run has; those after the first resume.
func (k killer) args(d *dev, again bool, args []string) []string {
	args = append(args, "--state", k.state, "--addr", d.state.Query)
	if again {
		args = append(args, "--resume")
	}
	return args
}

// kill runs an ingest and kills it some appends later, somewhere in the next.
func (k killer) kill(d *dev, round int, args ...string) {
	k.Helper()
	before := k.appends()
	cmd := exec.Command(lakeBin, k.args(d, round > 0, args)...)
	out := new(logBuffer)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(k, cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	until := before + 1 + rand.IntN(3)
	require.Eventually(k, func() bool {
		select {
		case <-ended:
			k.Fatalf("the ingest ended before it was killed: %s", out)
		default:
		}
		return k.appends() >= until
	}, time.Minute, time.Millisecond, "%s", out)
	time.Sleep(time.Duration(rand.IntN(40_000)) * time.Microsecond)
	require.NoError(k, cmd.Process.Kill())
	<-ended
	require.NotZero(k, k.appends(), "the journal is there")
	k.Logf("round %d: killed after %d appends", round, k.appends())
}

// finish runs the ingest to its end.
func (k killer) finish(d *dev, args ...string) string {
	k.Helper()
	r := runLake(k.T, k.args(d, true, args)...)
	require.Zero(k, r.code, r.stderr)
	require.Contains(k, r.stderr, "by earlier runs")
	left, err := os.ReadDir(k.state)
	require.NoError(k, err)
	require.Empty(k, left, "a finished ingest has no journal")
	return r.stderr
}

// appends counts those that a journal knows to be committed.
func (k killer) appends() (n int) {
	k.Helper()
	paths, err := filepath.Glob(filepath.Join(k.state, "*.journal"))
	require.NoError(k, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err == nil {
			n += bytes.Count(data, []byte(`{"ack":`))
		}
	}
	return n
}

// sum adds up a column of integers.
func sum(table arrow.Table, name string) (total int64) {
	for _, i := range table.Schema().FieldIndices(name) {
		for _, c := range table.Column(i).Data().Chunks() {
			for row := range c.Len() {
				switch c := c.(type) {
				case *array.Int64:
					total += c.Value(row)
				case *array.Int32:
					total += int64(c.Value(row))
				}
			}
		}
	}
	return total
}

// integers is the first row of a result.
func integers(table arrow.Table) (row []int64) {
	for i := range int(table.NumCols()) {
		row = append(row, table.Column(i).Data().Chunk(0).(*array.Int64).Value(0))
	}
	return row
}
