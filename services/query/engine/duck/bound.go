// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"slices"
	"strings"

	"github.com/lakeplane/lake/lake"
)

// plannedColumns is what the statement's columns will be once it runs with its
// parameters.
//
// DuckDB binds a statement again when parameters have other types than it
// inferred, but tells the new columns only after execution began. DESCRIBE
// binds in the same way and executes nothing of the statement.
func (s *slot) plannedColumns(q *query, stmt *statement) ([]outColumn, error) {
	columns := stmt.columns()
	if stmt.params() == 0 {
		return columns, nil
	}
	open := slices.ContainsFunc(columns, func(c outColumn) bool { return c.typ.id == tInvalid })
	if q.req.Params == nil && !open {
		return columns, nil
	}
	d, err := s.conn.prepare("DESCRIBE " + q.req.SQL)
	if err != nil {
		return nil, err
	}
	defer d.close()
	if q.req.Params != nil {
		err = d.bindRow(q.req.Params)
	} else {
		err = d.bindNulls() // an open placeholder counts as NULL
	}
	if err != nil {
		return nil, err
	}
	return s.described(d)
}

// described runs a DESCRIBE and turns its type names into types.
func (s *slot) described(d *statement) ([]outColumn, error) {
	rows, err := d.texts()
	if err != nil {
		return nil, err
	}
	casts := make([]string, len(rows))
	for i, row := range rows {
		casts[i] = "NULL::" + row[1]
	}
	types, err := s.conn.prepare("SELECT " + strings.Join(casts, ", "))
	if err != nil {
		return nil, lake.Errorf(lake.Unknown, "types of a described statement: %w", err)
	}
	defer types.close()
	columns := types.columns()
	for i := range columns {
		columns[i].name = rows[i][0]
	}
	return columns, nil
}

// texts runs a statement of our own whose first two columns are text.
func (s *statement) texts() ([][2]string, error) {
	cur, err := s.start()
	if err != nil {
		return nil, err
	}
	defer cur.close()
	if err := cur.open(); err != nil {
		return nil, err
	}
	reader := newChunkReader([]logical{{id: tVarchar}, {id: tVarchar}})
	var out [][2]string
	for {
		c, err := cur.next()
		if err != nil {
			return nil, err
		}
		if c.c == nil {
			return out, nil
		}
		v := reader.read(c)
		for i := range c.rows() {
			out = append(out, [2]string{string(stringAt(v[0].data, i)), string(stringAt(v[1].data, i))})
		}
		c.destroy()
	}
}
