// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slotwire

import (
	"bytes"
	"encoding/json"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine"
)

// Hello is the first frame of a slot.
type Hello struct {
	Version int
}

// Ready is the answer to the Setup, once the engine is open.
type Ready struct {
	// Filtered says that the filter of system calls is in place.
	Filtered bool
}

// Setup tells a new slot what it may use.
type Setup struct {
	// Threads, Memory (bytes), SpillDir, SpillBytes and Catalog are options of
	// the engine, for this one slot. An empty SpillDir means no spilling.
	Threads    int
	Memory     int64
	SpillDir   string
	SpillBytes int64
	Catalog    string
}

// JSON writes a message of a slot's start.
func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs
	}
	return b
}

// ReadJSON reads a message of a slot's start.
func ReadJSON(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return lake.Errorf(lake.Corrupt, "a malformed message of a slot's start: %w", err)
	}
	return nil
}

// Table is what a slot knows of a table: the rows come later.
type Table struct {
	Schema *arrow.Schema
	Rows   uint64
}

// Request is a statement to plan or to execute. Names maps each reference to an
// index of Tables; two names of one table have the same.
type Request struct {
	SQL    string
	Tables []Table
	Names  map[engine.Name]int
	Params arrow.RecordBatch // nil for none
	// Steady and Planned are those of engine.Request.
	Steady  bool
	Planned *arrow.Schema
}

// Append writes the request.
func (q Request) Append(schemas *Schemas) ([]byte, error) {
	w := writer{b: make([]byte, 0, 512+len(q.SQL))}
	w.text(q.SQL)
	w.flag(q.Steady)
	w.bytes(schemas.Encode(q.Planned))
	w.uint(uint64(len(q.Tables)))
	for _, t := range q.Tables {
		w.bytes(schemas.Encode(t.Schema))
		w.uint(t.Rows)
	}
	w.uint(uint64(len(q.Names)))
	for n, i := range q.Names {
		w.text(n.Catalog)
		w.text(n.Namespace)
		w.text(n.Table)
		w.uint(uint64(i))
	}
	params, err := encodeParams(q.Params)
	w.bytes(params)
	return w.b, err
}

// ReadRequest is the slot's side of Append. The caller releases Params.
func ReadRequest(b []byte, schemas *Schemas) (q Request, err error) {
	r := reader{b: b}
	q.SQL, q.Steady = r.text(), r.flag()
	if q.Planned, err = schemas.Decode(r.bytes()); err != nil {
		return q, err
	}
	q.Tables = make([]Table, r.count())
	for i := range q.Tables {
		if q.Tables[i].Schema, err = schemas.Decode(r.bytes()); err != nil {
			return q, err
		}
		q.Tables[i].Rows = r.uint()
	}
	n := r.count()
	q.Names = make(map[engine.Name]int, n)
	for range n {
		name := engine.Name{Catalog: r.text(), Namespace: r.text(), Table: r.text()}
		q.Names[name] = r.within(uint64(max(len(q.Tables)-1, 0)))
	}
	params := r.bytes()
	if err := r.err("request"); err != nil {
		return q, err
	}
	q.Params, err = decodeParams(params)
	return q, err
}

func encodeParams(row arrow.RecordBatch) ([]byte, error) {
	if row == nil {
		return nil, nil
	}
	var buf bytes.Buffer
	w := ipc.NewWriter(&buf, ipc.WithSchema(row.Schema()))
	if err := w.Write(row); err != nil {
		return nil, lake.Errorf(lake.Invalid, "parameters: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, lake.Errorf(lake.Invalid, "parameters: %w", err)
	}
	return buf.Bytes(), nil
}

func decodeParams(b []byte) (arrow.RecordBatch, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r, err := ipc.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, lake.Errorf(lake.Corrupt, "parameters: %w", err)
	}
	defer r.Release()
	if !r.Next() {
		return nil, lake.Errorf(lake.Corrupt, "parameters: no row: %w", r.Err())
	}
	row := r.RecordBatch()
	row.Retain()
	return row, nil
}

// ScanOpen asks for the rows of a table. Columns nil means all, as in
// engine.ScanOptions; Readers is how many threads will read.
type ScanOpen struct {
	Scan    uint32
	Table   int
	All     bool
	Columns []int
	Ordered bool
	Readers int
	Ahead   int
}

// Append writes the frame's body.
func (s ScanOpen) Append() []byte {
	var w writer
	w.uint(uint64(s.Scan))
	w.uint(uint64(s.Table))
	w.flag(s.All)
	w.uint(uint64(len(s.Columns)))
	for _, c := range s.Columns {
		w.uint(uint64(c))
	}
	w.flag(s.Ordered)
	w.uint(uint64(s.Readers))
	w.uint(uint64(s.Ahead))
	return w.b
}

const maxNumber = 1<<31 - 1

// ReadScanOpen reads what a slot sent. Numbers are in range for an int32;
// whether they name anything is the caller's to check.
func ReadScanOpen(b []byte) (s ScanOpen, err error) {
	r := reader{b: b}
	s.Scan, s.Table, s.All = uint32(r.within(maxNumber)), r.within(maxNumber), r.flag()
	s.Columns = make([]int, r.count())
	for i := range s.Columns {
		s.Columns[i] = r.within(maxNumber)
	}
	s.Ordered, s.Readers, s.Ahead = r.flag(), r.within(maxNumber), r.within(maxNumber)
	return s, r.err("scan")
}

// Taken says that threads took so many batches of a scan and that the regions
// at Freed are not needed any more.
type Taken struct {
	Scan    uint32
	Batches int
	Freed   []int
}

// Append writes the frame's body.
func (t Taken) Append() []byte {
	var w writer
	w.uint(uint64(t.Scan))
	w.uint(uint64(t.Batches))
	w.uint(uint64(len(t.Freed)))
	for _, pos := range t.Freed {
		w.uint(uint64(pos))
	}
	return w.b
}

// ReadTaken reads what a slot sent.
func ReadTaken(b []byte) (t Taken, err error) {
	r := reader{b: b}
	t.Scan, t.Batches = uint32(r.within(maxNumber)), r.within(maxNumber)
	t.Freed = make([]int, r.count())
	for i := range t.Freed {
		t.Freed[i] = r.within(maxNumber)
	}
	return t, r.err("receipt")
}

// AppendNumber is the body of frames that hold one number.
func AppendNumber(n uint32) []byte { return (&writer{}).number(n) }

func (w *writer) number(n uint32) []byte {
	w.uint(uint64(n))
	return w.b
}

// ReadNumber reads the body of a frame that holds one number.
func ReadNumber(b []byte) (uint32, error) {
	r := reader{b: b}
	n := r.within(1<<32 - 1)
	return uint32(n), r.err("number")
}

// ScanEnd ends the rows of a scan; Fault is nil at their orderly end.
type ScanEnd struct {
	Scan  uint32
	Fault *Fault
}

// Append writes the frame's body.
func (s ScanEnd) Append() []byte {
	var w writer
	w.uint(uint64(s.Scan))
	s.Fault.append(&w)
	return w.b
}

// ReadScanEnd reads what the replica sent.
func ReadScanEnd(b []byte) (s ScanEnd, err error) {
	r := reader{b: b}
	s.Scan = uint32(r.within(maxNumber))
	s.Fault = readFault(&r)
	return s, r.err("end of a scan")
}

// End is the end of a statement.
type End struct {
	// Fault is nil when it worked.
	Fault *Fault
	// Broken says that the engine cannot be trusted with another statement.
	Broken bool
	// Schema and Parameters answer a plan, and Text a parse.
	Schema, Parameters []byte
	Text               []byte
}

// Append writes the frame's body.
func (e End) Append() []byte {
	w := writer{b: make([]byte, 0, 64+len(e.Text))}
	e.Fault.append(&w)
	w.flag(e.Broken)
	w.bytes(e.Schema)
	w.bytes(e.Parameters)
	w.bytes(e.Text)
	return w.b
}

// ReadEnd reads what a slot sent.
func ReadEnd(b []byte) (e End, err error) {
	r := reader{b: b}
	e.Fault = readFault(&r)
	e.Broken = r.flag()
	e.Schema, e.Parameters, e.Text = r.bytes(), r.bytes(), r.bytes()
	return e, r.err("end")
}
