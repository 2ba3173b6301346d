// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package rowfilter

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// maxRuns bounds how many neighbouring groups of rows are put together of
// columns that are picked from in slices.
const maxRuns = 1024

// Pick makes a batch of some rows, by their numbers, in the order of the numbers;
// nil for columns of types that cannot be put together.
func Pick(batch arrow.RecordBatch, rows []int32) arrow.RecordBatch {
	return pick(batch, rows, len(rows))
}

// pick is Pick, and nil as well when one of the
// columns would have to be put together of more than runs slices, or cannot be.
func pick(batch arrow.RecordBatch, rows []int32, runs int) arrow.RecordBatch {
	columns := make([]arrow.Array, 0, batch.NumCols())
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for _, c := range batch.Columns() {
		picked := pickColumn(c, rows, runs)
		if picked == nil {
			return nil
		}
		columns = append(columns, picked)
	}
	return array.NewRecordBatch(batch.Schema(), columns, int64(len(rows)))
}

func pickColumn(c arrow.Array, rows []int32, runs int) arrow.Array {
	data := c.Data()
	switch t := c.DataType().(type) {
	case *arrow.NullType:
		return array.NewNull(len(rows))
	case *arrow.BooleanType:
		return built(c, rows, pickBits(data.Buffers()[1], data.Offset(), rows))
	case *arrow.StringType, *arrow.BinaryType:
		return pickVariable(c, rows, runs)
	case arrow.FixedWidthDataType:
		if width := t.Bytes(); width > 0 && len(data.Children()) == 0 && t.ID() != arrow.DICTIONARY {
			return built(c, rows, pickFixed(data.Buffers()[1].Bytes()[data.Offset()*width:], width, rows))
		}
	}
	return pickSlices(c, rows, runs)
}

// built is an array of the picked rows of c.
func built(c arrow.Array, rows []int32, buffers ...*memory.Buffer) arrow.Array {
	var validity *memory.Buffer
	nulls := 0
	if c.NullN() > 0 {
		validity = pickBits(c.Data().Buffers()[0], c.Data().Offset(), rows)
		nulls = len(rows) - bitutil.CountSetBits(validity.Bytes(), 0, len(rows))
	}
	data := array.NewData(c.DataType(), len(rows), append([]*memory.Buffer{validity}, buffers...), nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

func pickBits(from *memory.Buffer, offset int, rows []int32) *memory.Buffer {
	out := make([]byte, bitutil.BytesForBits(int64(len(rows))))
	bits := from.Bytes()
	for to, i := range rows {
		if bitutil.BitIsSet(bits, offset+int(i)) {
			bitutil.SetBit(out, to)
		}
	}
	return memory.NewBufferBytes(out)
}

func pickFixed(from []byte, width int, rows []int32) *memory.Buffer {
	out := make([]byte, len(rows)*width)
	switch width {
	case 4:
		for to, i := range rows {
			binary.NativeEndian.PutUint32(out[4*to:], binary.NativeEndian.Uint32(from[4*i:]))
		}
	case 8:
		for to, i := range rows {
			binary.NativeEndian.PutUint64(out[8*to:], binary.NativeEndian.Uint64(from[8*i:]))
		}
	default:
		for to, i := range rows {
			copy(out[to*width:(to+1)*width], from[int(i)*width:])
		}
	}
	return memory.NewBufferBytes(out)
}

// pickVariable is for texts and bytes with offsets of 32 bits.
func pickVariable(c arrow.Array, rows []int32, runs int) arrow.Array {
	data := c.Data()
	if len(rows) == 0 || data.Buffers()[1] == nil || data.Buffers()[1].Len() == 0 {
		return pickSlices(c, rows, runs)
	}
	from := arrow.Int32Traits.CastFromBytes(data.Buffers()[1].Bytes())[data.Offset():]
	to := make([]int32, 1, len(rows)+1)
	for _, i := range rows {
		to = append(to, to[len(to)-1]+from[i+1]-from[i]) // no more than there was, so it fits
	}
	var bytes []byte
	if data.Buffers()[2] != nil {
		bytes = data.Buffers()[2].Bytes()
	}
	out := make([]byte, 0, to[len(rows)])
	for _, i := range rows {
		out = append(out, bytes[from[i]:from[i+1]]...)
	}
	return built(c, rows, memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(to)), memory.NewBufferBytes(out))
}

// pickSlices is for every type. It costs something for each run of neighbouring
// rows, and gives up, with nil, when there are more than most.
func pickSlices(c arrow.Array, rows []int32, most int) arrow.Array {
	var runs []arrow.Array
	defer func() {
		for _, r := range runs {
			r.Release()
		}
	}()
	for first := 0; first < len(rows); {
		if len(runs) == most {
			return nil
		}
		end := first + 1
		for end < len(rows) && rows[end] == rows[end-1]+1 {
			end++
		}
		runs = append(runs, array.NewSlice(c, int64(rows[first]), int64(rows[end-1])+1))
		first = end
	}
	joined, err := array.Concatenate(runs, memory.DefaultAllocator)
	if err != nil || joined.Len() > math.MaxInt32 {
		return nil // the rows stay as they are
	}
	return joined
}
