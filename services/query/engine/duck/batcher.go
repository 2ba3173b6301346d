// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lake"
)

// batcher gathers DuckDB's small chunks into batches worth a message each,
// bounded by rows, bytes and waiting time.
type batcher struct {
	opts    Options
	schema  *arrow.Schema
	reader  *chunkReader
	columns []appender
	at      []int // where each column's vectors start
	emit    func(arrow.RecordBatch) error

	rows, bytes int
	most        int // rows of the current batch
	since       time.Time
}

func newBatcher(opts Options, out output, emit func(arrow.RecordBatch) error) (*batcher, error) {
	b := &batcher{opts: opts, schema: out.schema, emit: emit, most: opts.FirstBatchRows, since: time.Now()}
	at := 0
	for i, t := range out.types {
		a, err := newAppender(t, out.schema.Field(i).Type)
		if err != nil {
			return nil, lake.Wrap("column "+out.schema.Field(i).Name, err)
		}
		b.columns = append(b.columns, a)
		b.at = append(b.at, at)
		at += vectorCount(t)
	}
	b.reader = newChunkReader(out.types)
	return b, nil
}

// add appends a chunk, emitting batches as they fill.
func (b *batcher) add(c chunk) error {
	v, rows := b.reader.read(c), c.rows()
	for from := 0; from < rows; {
		n, size := b.fit(v, from, rows-from)
		if n == 0 {
			if b.rows == 0 {
				return lake.Errorf(lake.Exhausted, "a result row of %d bytes is larger than the limit of %d: select fewer columns or parts of them", size, b.opts.MaxRowBytes)
			}
			if err := b.flush(); err != nil {
				return err
			}
			continue
		}
		if err := b.take(v, from, n, size); err != nil {
			return err
		}
		from += n
	}
	if b.rows > 0 && time.Since(b.since) > b.opts.BatchDelay {
		return b.flush()
	}
	return nil
}

// fit is how many of the n rows still go into the batch, and their size. With
// 0 rows the size is that of the row that does not fit.
func (b *batcher) fit(v []vector, from, n int) (rows, size int) {
	n = min(n, b.most-b.rows)
	for ; n > 1; n /= 2 {
		if size = b.measure(v, from, n); b.bytes+size <= b.opts.BatchBytes {
			return n, size
		}
	}
	size = b.measure(v, from, 1)
	room := b.opts.BatchBytes - b.bytes
	if b.rows == 0 {
		room = b.opts.MaxRowBytes
	}
	if size > room {
		return 0, size
	}
	return 1, size
}

func (b *batcher) measure(v []vector, from, n int) int {
	size := 0
	for i, c := range b.columns {
		size += c.measure(v[b.at[i]:], from, n) + (n+7)/8
	}
	return size
}

func (b *batcher) take(v []vector, from, n, size int) error {
	for i, c := range b.columns {
		if err := c.add(v[b.at[i]:], from, n); err != nil {
			return lake.Wrap("column "+b.schema.Field(i).Name, err)
		}
	}
	b.rows += n
	b.bytes += size
	if b.rows >= b.most || b.bytes >= b.opts.BatchBytes {
		return b.flush()
	}
	return nil
}

// flush emits what has gathered, if anything.
func (b *batcher) flush() error {
	if b.rows == 0 {
		return nil
	}
	cols := make([]arrow.Array, len(b.columns))
	for i, c := range b.columns {
		f := b.schema.Field(i)
		if c.nulls() > 0 && !f.Nullable {
			return lake.Errorf(lake.Corrupt, "column %s: a null where the registered schema allows none", f.Name)
		}
		cols[i] = array.MakeFromData(c.finish())
	}
	batch := array.NewRecordBatch(b.schema, cols, int64(b.rows))
	for _, c := range cols {
		c.Release()
	}
	defer batch.Release()
	b.rows, b.bytes, b.most = 0, 0, b.opts.BatchRows
	err := b.emit(batch)
	// The clock starts when the consumer is ready again: its slowness is no
	// reason for small batches.
	b.since = time.Now()
	return err
}

// retyped is data under another type of the same layout.
func retyped(data arrow.ArrayData, dt arrow.DataType) arrow.ArrayData {
	return array.NewData(dt, data.Len(), data.Buffers(), data.Children(), data.NullN(), data.Offset())
}
