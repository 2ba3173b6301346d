// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slotwire

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/lakeplane/lake/lake"
)

// Unpack makes the batch of a region out of its bytes, which it refers to and
// does not copy. wrap makes Arrow buffers of parts of them.
//
// With check, everything is held against everything else, so that no use of
// the batch can panic or read outside of its buffers. The bytes must not
// change any more. Only whether text is UTF-8 is left to who sent it.
func Unpack(schema *arrow.Schema, g Region, mem []byte, wrap func([]byte) *memory.Buffer, check bool) (batch arrow.RecordBatch, err error) {
	u := unpacker{shape: reader{b: g.Shape}, mem: mem, wrap: wrap, check: check}
	columns := make([]arrow.Array, 0, schema.NumFields())
	data := make([]arrow.ArrayData, 0, schema.NumFields())
	defer func() {
		for _, c := range columns {
			c.Release()
		}
		for _, d := range data {
			d.Release()
		}
		u.drop()
		// The Arrow library has rules of its own, such as that a map's keys are
		// never null, and panics where they do not hold.
		if p := recover(); p != nil {
			batch, err = nil, lake.Errorf(lake.Corrupt, "a batch that Arrow refuses: %v", p)
		}
	}()
	for _, f := range schema.Fields() {
		d, err := u.array(f.Type, 0)
		if err == nil && d.Len() != g.Rows {
			err = lake.Errorf(lake.Corrupt, "%d values in a batch of %d rows", d.Len(), g.Rows)
		}
		if err != nil {
			return nil, lake.Wrap("column "+f.Name, err)
		}
		data = append(data, d)
	}
	if err := u.shape.err("batch"); err != nil {
		return nil, err
	}
	for _, d := range data {
		columns = append(columns, array.MakeFromData(d))
	}
	return array.NewRecordBatch(schema, columns, int64(g.Rows)), nil
}

type unpacker struct {
	shape reader
	mem   []byte
	wrap  func([]byte) *memory.Buffer
	check bool
	made  []*memory.Buffer
}

// drop releases the buffers, which the arrays hold by now.
func (u *unpacker) drop() {
	for _, b := range u.made {
		b.Release()
	}
}

const maxDepth = 64

// array reads one array and what is below it.
func (u *unpacker) array(dt arrow.DataType, depth int) (arrow.ArrayData, error) {
	length, offset, nulls := u.shape.within(maxNumber), u.shape.within(7), int(u.shape.int())
	plan := planOf(dt)
	if plan.kind == unsupported || depth > maxDepth {
		return nil, lake.Errorf(lake.Corrupt, "an array of type %s", dt)
	}
	n := node{kind: plan.kind, width: plan.width, length: length, offset: offset, nulls: nulls}
	buffers := u.buffers(&n)
	if u.shape.bad {
		return nil, u.shape.err("batch")
	}
	var kids []arrow.ArrayData
	defer func() {
		for _, k := range kids {
			k.Release()
		}
	}()
	for _, k := range plan.children {
		kid, err := u.array(k, depth+1)
		if err != nil {
			return nil, err
		}
		kids = append(kids, kid)
		n.kids = append(n.kids, kid.Len())
	}
	if u.check {
		if err := n.verify(); err != nil {
			return nil, err
		}
	}
	if plan.kind == dictionary {
		return array.NewDataWithDictionary(dt, length, buffers, n.nulls, offset, kids[0].(*array.Data)), nil
	}
	return array.NewData(dt, length, buffers, kids, n.nulls, offset), nil
}

// buffers reads the buffers of a node, of which bytes of length 0 are none.
func (u *unpacker) buffers(n *node) []*memory.Buffer {
	switch n.kind {
	case nothing:
		return []*memory.Buffer{nil}
	case fixedList, fields:
		n.validity = u.bytes()
		return []*memory.Buffer{u.buffer(n.validity)}
	case text:
		n.validity, n.first, n.second = u.bytes(), u.bytes(), u.bytes()
		return []*memory.Buffer{u.buffer(n.validity), u.buffer(n.first), u.buffer(n.second)}
	}
	n.validity, n.first = u.bytes(), u.bytes()
	return []*memory.Buffer{u.buffer(n.validity), u.buffer(n.first)}
}

func (u *unpacker) bytes() []byte {
	at := u.shape.within(maxNumber)
	size := u.shape.within(maxNumber)
	if size == 0 {
		return nil
	}
	if at > len(u.mem) || size > len(u.mem)-at {
		u.shape.fail()
		return nil
	}
	return u.mem[at : at+size : at+size]
}

func (u *unpacker) buffer(b []byte) *memory.Buffer {
	if b == nil {
		return nil
	}
	buf := u.wrap(b)
	u.made = append(u.made, buf)
	return buf
}

// node is one array while it is checked.
type node struct {
	kind                    layout
	width                   int
	length, offset, nulls   int
	validity, first, second []byte
	kids                    []int
}

// verify holds the parts of an array against each other and counts its nulls.
func (n *node) verify() error {
	end := int64(n.offset) + int64(n.length)
	if err := n.countNulls(end); err != nil {
		return err
	}
	switch n.kind {
	case nothing:
		n.nulls = n.length
		return nil
	case bitmap:
		return need(n.first, (end+7)/8)
	case fixed:
		return need(n.first, end*int64(n.width))
	case fields:
		return n.needKids(end)
	case fixedList:
		return n.needKids(end * int64(n.width))
	case text:
		return n.verifyOffsets(end, int64(len(n.second)))
	case list:
		return n.verifyOffsets(end, int64(n.kids[0]))
	}
	return lake.Errorf(lake.Corrupt, "a result never has a dictionary")
}

func (n *node) countNulls(end int64) error {
	if n.validity == nil {
		if n.nulls > 0 && n.kind != nothing {
			return lake.Errorf(lake.Corrupt, "%d nulls without a bitmap", n.nulls)
		}
		n.nulls = 0
		return nil
	}
	if err := need(n.validity, (end+7)/8); err != nil {
		return err
	}
	n.nulls = n.length - ones(n.validity, n.offset, n.length)
	return nil
}

// ones counts the bits from offset on.
func ones(b []byte, offset, n int) (count int) {
	for i := offset; i < offset+n; {
		if i%8 == 0 && i+8 <= offset+n {
			count += bits.OnesCount8(b[i/8])
			i += 8
			continue
		}
		count += int(b[i/8] >> (i % 8) & 1)
		i++
	}
	return count
}

func need(b []byte, n int64) error {
	if int64(len(b)) < n {
		return lake.Errorf(lake.Corrupt, "a buffer has %d bytes where %d are needed", len(b), n)
	}
	return nil
}

func (n *node) needKids(count int64) error {
	for _, k := range n.kids {
		if int64(k) < count {
			return lake.Errorf(lake.Corrupt, "a child of %d elements where %d are needed", k, count)
		}
	}
	return nil
}

// verifyOffsets checks that offsets never decrease and end within most.
func (n *node) verifyOffsets(end, most int64) error {
	if end == 0 {
		return nil
	}
	if err := need(n.first, (end+1)*int64(n.width)); err != nil {
		return err
	}
	last := int64(0)
	for i := range int(end) + 1 {
		at := offsetAt(n.first, n.width, i)
		if at < last || at > most {
			return lake.Errorf(lake.Corrupt, "offset %d is %d, after %d and of %d", i, at, last, most)
		}
		last = at
	}
	return nil
}
