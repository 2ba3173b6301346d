// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

// #include <stdlib.h>
// #include "scan.h"
import "C"

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake"
)

// localScan holds the batch one DuckDB thread is reading. Only that thread
// uses it.
type localScan struct {
	scan  *scan
	batch arrow.RecordBatch
	pins  runtime.Pinner
	nodes []C.lake_node // C memory, freed by close_local
	roots []int         // index into nodes for each read column
}

// newLocalScan allocates the local's nodes, which every batch refills: the
// shape of a column never changes.
func newLocalScan(s *scan, local *C.lake_local) *localScan {
	l := &localScan{scan: s}
	n := 0
	for _, c := range s.read {
		l.roots = append(l.roots, n)
		n += s.table.columns[c].layout.nodes()
	}
	nodes := (*C.lake_node)(C.calloc(C.size_t(n+1), C.sizeof_lake_node))
	roots := (**C.lake_node)(C.calloc(C.size_t(len(s.columns)+1), C.size_t(unsafe.Sizeof(nodes))))
	l.nodes = unsafe.Slice(nodes, n)
	list := unsafe.Slice(roots, len(s.columns))
	read := 0
	for i, c := range s.columns {
		if c < 0 {
			continue
		}
		at := l.roots[read]
		shape(l.nodes[at:], s.table.columns[c].layout)
		list[i] = &l.nodes[at]
		read++
	}
	local.nodes, local.roots, local.columns = nodes, roots, C.int32_t(len(s.columns))
	s.addDictionaries(local)
	if canLend() {
		local.lents = C.lake_new_lents(local.columns)
	}
	return l
}

// canLend is found out once: the linked DuckDB does not change.
var canLend = sync.OnceValue(func() bool { return bool(C.lake_can_lend()) })

// shape writes what does not change from batch to batch.
func shape(nodes []C.lake_node, l layout) {
	n := &nodes[0]
	n.kind, n.width, n.factor = C.int32_t(l.kind), C.int32_t(l.width), C.int64_t(l.factor)
	n.children, n.subtree = C.int32_t(len(l.children)), C.int32_t(l.nodes())
	at := 1
	for _, c := range l.children {
		shape(nodes[at:], c)
		at += c.nodes()
	}
}

// hold makes batch the thread's current one. It takes the caller's reference.
func (l *localScan) hold(batch arrow.RecordBatch, local *C.lake_local) error {
	l.release()
	l.batch = batch
	if int(batch.NumCols()) != len(l.scan.read) {
		return lake.Errorf(lake.Corrupt, "a batch has %d columns where %d were asked for", batch.NumCols(), len(l.scan.read))
	}
	for i, c := range l.scan.read {
		col := l.scan.table.columns[c]
		arr := batch.Column(i)
		if !arrow.TypeEqual(arr.DataType(), col.field.Type) {
			return lake.Errorf(lake.Corrupt, "column %s: a batch has type %s where %s is registered", col.field.Name, arr.DataType(), col.field.Type)
		}
		if err := l.load(l.nodes[l.roots[i]:], col.layout, arr.Data()); err != nil {
			return lake.Wrap("column "+col.field.Name, err)
		}
		if int64(arr.Len()) != batch.NumRows() {
			return lake.Errorf(lake.Corrupt, "column %s: %d values in a batch of %d rows", col.field.Name, arr.Len(), batch.NumRows())
		}
	}
	local.rows, local.position = C.int64_t(batch.NumRows()), 0
	return nil
}

func (l *localScan) release() {
	l.pins.Unpin()
	if l.batch != nil {
		l.batch.Release()
		l.batch = nil
	}
}

// nothing stands in for empty buffers, so that C never sees NULL data.
var nothing [16]byte

// load points a node and its children at the array's buffers, after checking
// that each is as long as the array's length implies. What lies inside the
// buffers (offsets, indices, text) is checked in C, where it is followed.
func (l *localScan) load(nodes []C.lake_node, lay layout, data arrow.ArrayData) error {
	n := &nodes[0]
	end := int64(data.Offset() + data.Len())
	n.offset, n.length = C.int64_t(data.Offset()), C.int64_t(data.Len())
	bits, err := l.validity(data, end)
	if err != nil {
		return err
	}
	n.validity = (*C.uint8_t)(bits)
	values, offsets := bufferPlan(lay, end)
	if offsets.want {
		if n.offsets, _, err = l.pin(data, 1, offsets.bytes); err != nil {
			return err
		}
	}
	if values.want {
		p, size, err := l.pin(data, values.index, values.bytes)
		if err != nil {
			return err
		}
		n.data, n.data_bytes = (*C.uint8_t)(p), C.int64_t(size)
	}
	return l.loadChildren(nodes, lay, data)
}

func (l *localScan) loadChildren(nodes []C.lake_node, lay layout, data arrow.ArrayData) error {
	kids := data.Children()
	if lay.kind == C.LAKE_DICT {
		kids = []arrow.ArrayData{data.Dictionary()}
	}
	if len(kids) < len(lay.children) {
		return lake.Errorf(lake.Corrupt, "an array has %d children where its type has %d", len(kids), len(lay.children))
	}
	at := 1
	for i, c := range lay.children {
		if err := l.load(nodes[at:], c, kids[i]); err != nil {
			return err
		}
		at += c.nodes()
	}
	return nil
}

// bufferNeed is one buffer a layout reads and its least size.
type bufferNeed struct {
	want  bool
	index int
	bytes int64
}

func bufferPlan(lay layout, end int64) (values, offsets bufferNeed) {
	switch lay.kind {
	case C.LAKE_FIXED, C.LAKE_BLOBFIXED:
		values = bufferNeed{true, 1, end * int64(lay.width)}
	case C.LAKE_BOOL:
		values = bufferNeed{true, 1, (end + 7) / 8}
	case C.LAKE_SCALE32:
		values = bufferNeed{true, 1, end * 4}
	case C.LAKE_SCALE64, C.LAKE_DATE64:
		values = bufferNeed{true, 1, end * 8}
	case C.LAKE_DECIMAL:
		values = bufferNeed{true, 1, end * 16}
	case C.LAKE_DICT:
		values = bufferNeed{true, 1, end * int64(max(lay.width, -lay.width))}
	case C.LAKE_TEXT32, C.LAKE_BLOB32:
		values, offsets = bufferNeed{true, 2, 0}, bufferNeed{true, 1, (end + 1) * 4}
	case C.LAKE_TEXT64, C.LAKE_BLOB64:
		values, offsets = bufferNeed{true, 2, 0}, bufferNeed{true, 1, (end + 1) * 8}
	case C.LAKE_LIST32:
		offsets = bufferNeed{true, 1, (end + 1) * 4}
	case C.LAKE_LIST64:
		offsets = bufferNeed{true, 1, (end + 1) * 8}
	}
	return values, offsets
}

func (l *localScan) validity(data arrow.ArrayData, end int64) (unsafe.Pointer, error) {
	bufs := data.Buffers()
	if len(bufs) == 0 || bufs[0] == nil || bufs[0].Len() == 0 || data.NullN() == 0 {
		return nil, nil
	}
	p, _, err := l.pin(data, 0, (end+7)/8)
	return p, err
}

// pin returns the address and size of a buffer that must hold least bytes. The
// pin makes it lawful for C to keep the address until release.
func (l *localScan) pin(data arrow.ArrayData, index int, least int64) (unsafe.Pointer, int64, error) {
	var b []byte
	if bufs := data.Buffers(); index < len(bufs) && bufs[index] != nil {
		b = bufs[index].Bytes()
	}
	if data.Len() == 0 && int64(len(b)) < least {
		// An empty array may come without buffers; one offset is still read.
		return unsafe.Pointer(&nothing[0]), 0, nil
	}
	if int64(len(b)) < least {
		return nil, 0, lake.Errorf(lake.Corrupt, "a buffer has %d bytes where %d are needed", len(b), least)
	}
	if len(b) == 0 {
		return unsafe.Pointer(&nothing[0]), 0, nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	l.pins.Pin(p)
	return p, int64(len(b)), nil
}
