// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

/*
#include <stdlib.h>
#include "scan.h"
#include "run.h"
*/
import "C"

import (
	"strings"
	"unsafe"

	"github.com/lakeplane/lake/lake"
)

// database is one DuckDB instance in memory.
type database struct{ c C.duckdb_database }

// openDatabase starts an instance with the given settings.
func openDatabase(settings map[string]string) (*database, error) {
	var config C.duckdb_config
	if C.duckdb_create_config(&config) != C.DuckDBSuccess {
		return nil, lake.Errorf(lake.Unknown, "duckdb: cannot create a configuration")
	}
	defer C.duckdb_destroy_config(&config)
	for name, value := range settings {
		if !setConfig(config, name, value) {
			return nil, lake.Errorf(lake.Invalid, "duckdb: setting %s cannot be %q", name, value)
		}
	}
	d := &database{}
	var msg *C.char
	if C.duckdb_open_ext(nil, &d.c, config, &msg) != C.DuckDBSuccess {
		return nil, lake.Errorf(lake.Invalid, "duckdb: cannot open: %s", takeString(msg))
	}
	return d, nil
}

func setConfig(config C.duckdb_config, name, value string) bool {
	n, v := C.CString(name), C.CString(value)
	defer C.free(unsafe.Pointer(n))
	defer C.free(unsafe.Pointer(v))
	return C.duckdb_set_config(config, n, v) == C.DuckDBSuccess
}

func (d *database) close() { C.duckdb_close(&d.c) }

func (d *database) connect() (*connection, error) {
	c := &connection{}
	if C.duckdb_connect(d.c, &c.c) != C.DuckDBSuccess {
		return nil, lake.Errorf(lake.Unknown, "duckdb: cannot connect")
	}
	return c, nil
}

// connection runs one statement at a time. Only interrupt may be called while
// another call is running.
type connection struct{ c C.duckdb_connection }

func (c *connection) close()     { C.duckdb_disconnect(&c.c) }
func (c *connection) interrupt() { C.duckdb_interrupt(c.c) }

// exec runs statements of our own for their effect.
func (c *connection) exec(sql string) error {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	var result C.duckdb_result
	state := C.duckdb_query(c.c, text, &result)
	defer C.duckdb_destroy_result(&result)
	if state != C.DuckDBSuccess {
		return sqlError(C.GoString(C.duckdb_result_error(&result)))
	}
	return nil
}

func (c *connection) registerScan(slot uint64) error {
	if C.lake_register_scan(c.c, C.uint64_t(slot)) != C.DuckDBSuccess {
		return lake.Errorf(lake.Unknown, "duckdb: cannot register lake_scan")
	}
	return nil
}

// statement is a prepared statement.
type statement struct{ c C.duckdb_prepared_statement }

func (c *connection) prepare(sql string) (*statement, error) {
	if i := strings.IndexByte(sql, 0); i >= 0 {
		return nil, lake.Errorf(lake.Invalid, "the statement holds a NUL byte (at byte %d)", i) // C would end it there
	}
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	s := &statement{}
	if C.duckdb_prepare(c.c, text, &s.c) != C.DuckDBSuccess {
		defer s.close()
		return nil, sqlError(C.GoString(C.duckdb_prepare_error(s.c)))
	}
	return s, nil
}

func (s *statement) close() { C.duckdb_destroy_prepare(&s.c) }

func (s *statement) params() int { return int(C.duckdb_nparams(s.c)) }

func (s *statement) param(i int) (name string, typ logical) {
	name = takeString((*C.char)(unsafe.Pointer(C.duckdb_parameter_name(s.c, C.idx_t(i+1)))))
	return name, readLogical(C.duckdb_param_logical_type(s.c, C.idx_t(i+1)))
}

// columns describes the result as far as the bound parameters determine it.
func (s *statement) columns() []outColumn {
	out := make([]outColumn, C.duckdb_prepared_statement_column_count(s.c))
	for i := range out {
		out[i].name = takeString((*C.char)(unsafe.Pointer(C.duckdb_prepared_statement_column_name(s.c, C.idx_t(i)))))
		out[i].typ = readLogical(C.duckdb_prepared_statement_column_logical_type(s.c, C.idx_t(i)))
	}
	return out
}

// outColumn is one column of a result as the engine names and types it.
type outColumn struct {
	name string
	typ  logical
}

// cursor is a statement being executed, whose rows arrive as they are made.
type cursor struct {
	pending C.duckdb_pending_result
	result  C.duckdb_result
	opened  bool
}

// start plans the statement with its parameters. Background threads may begin
// to work at once.
func (s *statement) start() (*cursor, error) {
	cur := &cursor{}
	if C.duckdb_pending_prepared_streaming(s.c, &cur.pending) != C.DuckDBSuccess {
		defer cur.close()
		return nil, sqlError(C.GoString(C.duckdb_pending_error(cur.pending)))
	}
	return cur, nil
}

// open blocks until the first rows are ready, or there are none.
func (cur *cursor) open() error {
	cur.opened = true
	if C.lake_run(cur.pending, &cur.result) == C.DuckDBSuccess {
		return nil
	}
	if msg := C.GoString(C.duckdb_pending_error(cur.pending)); msg != "" {
		return sqlError(msg)
	}
	return sqlError(C.GoString(C.duckdb_result_error(&cur.result)))
}

// columns describes the opened result.
func (cur *cursor) columns() []outColumn {
	out := make([]outColumn, C.duckdb_column_count(&cur.result))
	for i := range out {
		out[i].name = C.GoString(C.duckdb_column_name(&cur.result, C.idx_t(i)))
		out[i].typ = readLogical(C.duckdb_column_logical_type(&cur.result, C.idx_t(i)))
	}
	return out
}

// next returns the next chunk, or nil at the end. The caller destroys it.
func (cur *cursor) next() (chunk, error) {
	c := C.duckdb_fetch_chunk(cur.result)
	if c != nil {
		return chunk{c}, nil
	}
	if msg := C.duckdb_result_error(&cur.result); msg != nil {
		if text := C.GoString(msg); text != "" {
			return chunk{}, sqlError(text)
		}
	}
	return chunk{}, nil
}

// close stops the execution, waiting for threads that are inside it.
func (cur *cursor) close() {
	if cur.opened {
		C.duckdb_destroy_result(&cur.result)
	}
	C.duckdb_destroy_pending(&cur.pending)
}

// chunk is up to one vector of rows, owned by DuckDB's allocator.
type chunk struct{ c C.duckdb_data_chunk }

func (c chunk) destroy()  { C.duckdb_destroy_data_chunk(&c.c) }
func (c chunk) rows() int { return int(C.duckdb_data_chunk_get_size(c.c)) }

// lookupText runs a statement of our own with one text parameter and returns
// the text of its first row and column.
func (c *connection) lookupText(sql, arg string) ([]byte, error) {
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.lookupText(arg)
}

func (s *statement) lookupText(arg string) ([]byte, error) {
	if err := s.bindText(0, arg); err != nil {
		return nil, err
	}
	cur, err := s.start()
	if err != nil {
		return nil, err
	}
	defer cur.close()
	if err := cur.open(); err != nil {
		return nil, err
	}
	return cur.firstText()
}

func (s *statement) bindText(i int, text string) error {
	v, err := textValue(text)
	if err != nil {
		return err
	}
	defer C.duckdb_destroy_value(&v)
	return s.bind(i, v)
}

func (s *statement) bind(i int, v C.duckdb_value) error {
	if C.duckdb_bind_value(s.c, C.idx_t(i+1), v) != C.DuckDBSuccess {
		return lake.Errorf(lake.Invalid, "parameter %d: %s", i+1, decodeError(C.GoString(C.duckdb_prepare_error(s.c))).text())
	}
	return nil
}

func (cur *cursor) firstText() ([]byte, error) {
	ch, err := cur.next()
	if err != nil {
		return nil, err
	}
	if ch.c == nil {
		return nil, lake.Errorf(lake.Unknown, "duckdb: no row where one was expected")
	}
	defer ch.destroy()
	v := C.duckdb_data_chunk_get_vector(ch.c, 0)
	if mask := C.duckdb_vector_get_validity(v); mask != nil && *mask&1 == 0 {
		return nil, lake.Errorf(lake.Unknown, "duckdb: null where text was expected")
	}
	return append([]byte(nil), stringAt(C.duckdb_vector_get_data(v), 0)...), nil
}
