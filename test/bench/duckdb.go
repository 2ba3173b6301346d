// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// peer is a plain DuckDB in this process.
type peer struct {
	db   duckdb.Database
	conn duckdb.Connection
}

func openPeer() (*peer, error) {
	p := new(peer)
	if duckdb.Open("", &p.db) == duckdb.StateError {
		return nil, errors.New("duckdb: open failed")
	}
	if duckdb.Connect(p.db, &p.conn) == duckdb.StateError {
		duckdb.Close(&p.db)
		return nil, errors.New("duckdb: connect failed")
	}
	return p, nil
}

// openPeerOver also loads a Parquet file into a table of that name, and returns
// what reads the file itself in a FROM clause.
func openPeerOver(table, file string) (p *peer, parquet string, err error) {
	if p, err = openPeer(); err != nil {
		return nil, "", err
	}
	parquet = "read_parquet('" + file + "')"
	if err = p.run("CREATE TABLE " + table + " AS SELECT * FROM " + parquet); err != nil {
		p.close()
	}
	return p, parquet, err
}

func (p *peer) close() {
	duckdb.Disconnect(&p.conn)
	duckdb.Close(&p.db)
}

// run executes a statement and drops its result.
func (p *peer) run(sql string) error {
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	if duckdb.Query(p.conn, sql, &res) == duckdb.StateError {
		return errors.New(duckdb.ResultError(&res))
	}
	return nil
}
