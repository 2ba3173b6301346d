// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"encoding/binary"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/lakeplane/lake/lake"
)

// int96Type is what INT96 timestamps are read as. Their range is far wider than
// that of nanoseconds since 1970, in which the library reads them, and files
// with years like 9999 are common.
var int96Type = &arrow.TimestampType{Unit: arrow.Microsecond}

// julianEpoch is the Julian day of 1970-01-01.
const julianEpoch = 2_440_588

// int96Column reads a top-level INT96 column: eight bytes of nanoseconds in the
// day and four bytes of Julian day, both little-endian.
type int96Column struct {
	file  *file.Reader
	leaf  int
	group int
	chunk *file.Int96ColumnChunkReader
}

// NextBatch reads up to rows rows.
func (c *int96Column) NextBatch(rows int64) (*arrow.Chunked, error) {
	b := array.NewTimestampBuilder(allocator, int96Type)
	defer b.Release()
	for int64(b.Len()) < rows {
		more, err := c.open()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if err := c.fill(b, rows-int64(b.Len())); err != nil {
			return nil, err
		}
	}
	arr := b.NewArray()
	defer arr.Release()
	return arrow.NewChunked(int96Type, []arrow.Array{arr}), nil
}

// open makes sure that a chunk with values is open; false means the end.
func (c *int96Column) open() (bool, error) {
	for c.chunk == nil || !c.chunk.HasNext() {
		if c.chunk != nil && c.chunk.Err() != nil {
			return false, c.chunk.Err()
		}
		if c.group >= c.file.NumRowGroups() {
			return false, nil
		}
		chunk, err := c.file.RowGroup(c.group).Column(c.leaf)
		if err != nil {
			return false, err
		}
		typed, ok := chunk.(*file.Int96ColumnChunkReader)
		if !ok {
			return false, lake.Errorf(lake.Invalid, "row group %d holds another type", c.group)
		}
		c.chunk, c.group = typed, c.group+1
	}
	return true, nil
}

func (c *int96Column) fill(b *array.TimestampBuilder, rows int64) error {
	values := make([]parquet.Int96, rows)
	levels := make([]int16, rows)
	total, _, err := c.chunk.ReadBatch(rows, values, levels, nil)
	if err != nil {
		return err
	}
	if total == 0 {
		return lake.Errorf(lake.Invalid, "a page ends early")
	}
	nullable := c.chunk.Descriptor().MaxDefinitionLevel() > 0
	next := 0
	for _, level := range levels[:total] {
		if nullable && level == 0 {
			b.AppendNull()
			continue
		}
		micros, ok := int96Micros(values[next])
		if !ok {
			return lake.Errorf(lake.Invalid, "an INT96 timestamp is outside the range of microseconds in 64 bits")
		}
		b.Append(arrow.Timestamp(micros))
		next++
	}
	return nil
}

// int96Micros is the timestamp in microseconds since 1970, rounded down.
func int96Micros(v parquet.Int96) (int64, bool) {
	nanos := big.NewInt(int64(binary.LittleEndian.Uint64(v[:8])))
	day := int64(int32(binary.LittleEndian.Uint32(v[8:]))) - julianEpoch
	micros := nanos.Div(nanos, big.NewInt(1000)) // Euclidean: rounds down
	micros.Add(micros, new(big.Int).Mul(big.NewInt(day), big.NewInt(86_400_000_000)))
	return micros.Int64(), micros.IsInt64()
}

// Release does nothing: chunks belong to the file.
func (c *int96Column) Release() {}
