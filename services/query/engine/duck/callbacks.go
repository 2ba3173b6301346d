// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

// #include <stdlib.h>
// #include "scan.h"
import "C"

import (
	"errors"
	"io"
	"runtime/debug"
	"unsafe"

	storage "github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
)

// The numbers C holds. They are process-wide because a DuckDB thread knows
// nothing but the number.
var (
	slots  registry[*slot]
	scans  registry[*scan]
	locals registry[*localScan]
)

// scan is one pass of a query over one table, shared by DuckDB's threads.
type scan struct {
	table   *boundTable
	rows    storage.Scan // nil when the query is dry
	columns []int        // projected fields, -1 for a row marker
	read    []int        // columns without row markers: what batches hold
}

// guard turns a panic of the Go side, which must not unwind into C++, into the
// query's error.
func guard(q func() *query, err *error) {
	if r := recover(); r != nil {
		*err = lake.Errorf(lake.Unknown, "panic while reading a table: %v\n%s", r, debug.Stack())
	}
	if *err == nil || errors.Is(*err, io.EOF) {
		return
	}
	if q := q(); q != nil {
		q.fail(*err)
	}
}

// lakeScanBind declares the table's columns and exact row count.
//
//export lakeScanBind
func lakeScanBind(slotID, tableID C.uint64_t, info C.duckdb_bind_info) (failed C.int) {
	var err error
	var t *boundTable
	defer func() {
		if err != nil {
			setError(err, func(msg *C.char) { C.duckdb_bind_set_error(info, msg) })
			failed = 1
		}
	}()
	defer guard(func() *query { return queryOf(t) }, &err)
	if t, err = lookup(uint64(slotID), uint64(tableID)); err != nil {
		return 1
	}
	addColumn(info, rowMarker(t.columns), logical{id: tBoolean})
	for _, c := range t.columns {
		addColumn(info, c.field.Name, c.typ)
	}
	C.duckdb_bind_set_cardinality(info, C.idx_t(t.table.Rows()), true)
	return 0
}

func queryOf(t *boundTable) *query {
	if t == nil {
		return nil
	}
	return t.query
}

func lookup(slotID, tableID uint64) (*boundTable, error) {
	s, ok := slots.get(slotID)
	if !ok {
		return nil, lake.Errorf(lake.Unknown, "lake_scan: no such slot")
	}
	if t := s.table(tableID); t != nil {
		return t, nil
	}
	return nil, lake.Errorf(lake.Invalid, "lake_scan: no such table")
}

func addColumn(info C.duckdb_bind_info, name string, l logical) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	typ := l.create()
	defer C.duckdb_destroy_logical_type(&typ)
	C.duckdb_bind_add_result_column(info, text, typ)
}

func setError(err error, set func(*C.char)) {
	msg := C.CString(err.Error())
	defer C.free(unsafe.Pointer(msg))
	set(msg)
}

// lakeScanOpen starts a pass over the projected columns and returns its number,
// or 0 after reporting an error.
//
//export lakeScanOpen
func lakeScanOpen(slotID, tableID C.uint64_t, info C.duckdb_init_info) (id C.uint64_t) {
	var err error
	var t *boundTable
	defer func() {
		if err != nil {
			setError(err, func(msg *C.char) { C.duckdb_init_set_error(info, msg) })
			id = 0
		}
	}()
	defer guard(func() *query { return queryOf(t) }, &err)
	if t, err = lookup(uint64(slotID), uint64(tableID)); err != nil {
		return 0
	}
	s := &scan{table: t, read: []int{}} // not nil, which would read every column
	for i := range C.duckdb_init_get_column_count(info) {
		s.project(int64(C.duckdb_init_get_column_index(info, i)))
	}
	sl, _ := slots.get(uint64(slotID))
	C.duckdb_init_set_max_threads(info, C.idx_t(sl.scanThreads(t.table.Rows())))
	if !t.query.dry {
		opts := storage.ScanOptions{Columns: s.read, Parallel: sl.opts.ReadAhead}
		if s.rows, err = t.table.Scan(t.query.ctx, opts); err != nil {
			return 0
		}
	}
	return C.uint64_t(scans.add(s))
}

// project adds one output column. Index 0 is the row marker, and an index past
// the last field is a row id; neither is read from the table.
func (s *scan) project(index int64) {
	if index < markers || index >= int64(len(s.table.columns)+markers) {
		s.columns = append(s.columns, -1)
		return
	}
	s.columns = append(s.columns, int(index)-markers)
	s.read = append(s.read, int(index)-markers)
}

// lakeScanClose ends a pass. No thread is in lakeScanNext any more.
//
//export lakeScanClose
func lakeScanClose(id C.uint64_t) {
	var err error
	s, ok := scans.drop(uint64(id))
	if !ok || s.rows == nil {
		return
	}
	defer guard(func() *query { return s.table.query }, &err)
	// The pass is over: an error of closing it changes no row already read.
	_ = s.rows.Close()
}

// lakeScanNext gives the thread its next batch. It returns 1, 0 at the end, or
// -1 with local.error set.
//
//export lakeScanNext
func lakeScanNext(id C.uint64_t, local *C.lake_local) (state C.int) {
	var err error
	s, ok := scans.get(uint64(id))
	defer func() {
		switch {
		case errors.Is(err, io.EOF):
			state = 0
		case err != nil:
			writeError(local, err)
			state = -1
		}
	}()
	defer guard(func() *query { return s.query() }, &err)
	if !ok {
		err = lake.Errorf(lake.Unknown, "lake_scan: no such scan")
		return -1
	}
	if s.rows == nil {
		return 0
	}
	if err = s.next(local); err != nil {
		return -1
	}
	return 1
}

func (s *scan) query() *query {
	if s == nil {
		return nil
	}
	return s.table.query
}

func writeError(local *C.lake_local, err error) {
	room := unsafe.Slice((*byte)(unsafe.Pointer(&local.error[0])), len(local.error))
	n := copy(room[:len(room)-1], err.Error())
	room[n] = 0
}

// next pulls a batch that has rows. The local keeps the one before until here,
// because vectors of it may have been in use.
func (s *scan) next(local *C.lake_local) error {
	l, ok := locals.get(uint64(local.handle))
	if !ok {
		l = newLocalScan(s, local)
		local.handle = C.uint64_t(locals.add(l))
	}
	for {
		batch, err := s.rows.Next(s.table.query.ctx)
		if err != nil {
			// At the end the last batch stays: operators may still hold its rows.
			return err
		}
		if batch.NumRows() == 0 {
			batch.Release()
			continue
		}
		return l.hold(batch, local)
	}
}

// lakeLocalClose releases the thread's last batch.
//
//export lakeLocalClose
func lakeLocalClose(id C.uint64_t) {
	var err error
	defer guard(func() *query { return nil }, &err)
	if l, ok := locals.drop(uint64(id)); ok {
		l.release()
	}
}
