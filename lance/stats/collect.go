// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package stats

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/lake/predicate"
)

// Collector finds the statistics of rows as they pass by. It is not safe for
// concurrent use.
type Collector struct {
	fields  []int32
	columns []bounder
	nulls   []uint64
	rows    uint64
}

// bounder takes the values of a column.
type bounder interface {
	add(arrow.Array)
	// bounds are those of all values so far, nil where there is none.
	bounds() (low, high any)
}

// NewCollector returns a collector for batches of the given schema. fields are
// the field ids of its columns.
func NewCollector(schema *arrow.Schema, fields []int32) *Collector {
	n := min(schema.NumFields(), len(fields), MaxColumns)
	c := &Collector{fields: fields[:n], columns: make([]bounder, n), nulls: make([]uint64, n)}
	for i := range n {
		c.columns[i] = newBounder(schema.Field(i).Type)
	}
	return c
}

// Add looks at the values of a batch.
func (c *Collector) Add(batch arrow.RecordBatch) {
	c.rows += uint64(batch.NumRows())
	for i, b := range c.columns {
		column := batch.Column(i)
		c.nulls[i] += uint64(column.NullN())
		if b != nil && column.NullN() < column.Len() {
			b.add(column)
		}
	}
}

// File returns what was found, for a file of the given length in bytes.
func (c *Collector) File(size uint64) File {
	f := File{Rows: c.rows, Size: size, Columns: make([]Column, len(c.columns))}
	for i, b := range c.columns {
		s := predicate.Stats{Rows: c.rows, Nulls: c.nulls[i]}
		if b != nil {
			s.Min, s.Max = b.bounds()
		}
		f.Columns[i] = Column{c.fields[i], s}
	}
	return f
}
