// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	duckdb "github.com/duckdb/duckdb-go-bindings"
	"github.com/stretchr/testify/require"
)

// peer is a plain DuckDB in this process: its own tables, none of our
// code.
type peer struct {
	db   duckdb.Database
	conn duckdb.Connection
}

func newPeer(t testing.TB) *peer {
	t.Helper()
	p := new(peer)
	require.Equal(t, duckdb.StateSuccess, duckdb.Open("", &p.db))
	require.Equal(t, duckdb.StateSuccess, duckdb.Connect(p.db, &p.conn))
	t.Cleanup(func() {
		duckdb.Disconnect(&p.conn)
		duckdb.Close(&p.db)
	})
	// What Lake's engine is set to and a statement can see.
	p.must(t, "SET TimeZone = 'UTC'")
	return p
}

func (p *peer) must(t testing.TB, sql string) {
	t.Helper()
	require.NoError(t, p.run(sql, nil), sql)
}

// run executes a statement and hands over its rows, if emit is set.
func (p *peer) run(sql string, emit func(cells []string) error) error {
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	if duckdb.Query(p.conn, sql, &res) == duckdb.StateError {
		return errors.New(duckdb.ResultError(&res))
	}
	if emit == nil {
		return nil
	}
	cells := make([]string, duckdb.ColumnCount(&res))
	types := make([]duckdb.LogicalType, len(cells))
	for i := range types {
		types[i] = duckdb.ColumnLogicalType(&res, duckdb.IdxT(i))
		defer duckdb.DestroyLogicalType(&types[i])
	}
	for {
		chunk := duckdb.FetchChunk(res)
		if chunk.Ptr == nil {
			return nil
		}
		for row := range int(duckdb.DataChunkGetSize(chunk)) {
			for i := range cells {
				cells[i] = peerText(duckdb.DataChunkGetVector(chunk, duckdb.IdxT(i)), types[i], row)
			}
			if err := emit(cells); err != nil {
				return err
			}
		}
		duckdb.DestroyDataChunk(&chunk)
	}
}

// copyTo makes the peer's table a table of Lake, as a user would: by a Parquet
// file and lake ingest.
func (p *peer) copyTo(t testing.TB, server *process, table string) {
	t.Helper()
	p.ingest(t, server, table, "FROM "+table)
}

// ingest appends the rows of a statement of the peer to a table of Lake, in the
// same way.
func (p *peer) ingest(t testing.TB, server *process, table, sql string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), table+".parquet")
	p.must(t, fmt.Sprintf("COPY (%s) TO '%s' (FORMAT parquet)", sql, file))
	cmd := exec.Command(lakeBin, "ingest", table, file, "--addr", server.address, "--state", t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", table, out)
}
