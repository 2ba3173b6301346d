// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package robustness

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/objstore"
)

// folder shows one location of the object store to the Lance library, as a
// client that knows nothing of Lake would see it.
type folder struct {
	store  objstore.Store
	prefix string
}

func (f folder) Open(ctx context.Context, name string) (format.Object, error) {
	return f.store.Open(ctx, f.prefix+name)
}

// piece is a run of rows with one marker, in the order of the table.
type piece struct {
	marker int64
	count  int // rows found
	want   int // rows the append had
}

// nexter is a scan of the engine or of the format.
type nexter interface {
	Next(ctx context.Context) (arrow.RecordBatch, error)
}

// piecesOf reads a scan in order. Every piece must be whole: a marker comes
// once, with all of its rows in their order.
func piecesOf(ctx context.Context, scan nexter) ([]piece, error) {
	var r pieceReader
	for {
		batch, err := scan.Next(ctx)
		if errors.Is(err, io.EOF) {
			return r.pieces, r.check()
		}
		if err != nil {
			return nil, err
		}
		err = r.add(batch)
		batch.Release()
		if err != nil {
			return nil, err
		}
	}
}

type pieceReader struct{ pieces []piece }

func (r *pieceReader) add(batch arrow.RecordBatch) error {
	markers := batch.Column(0).(*array.Int64)
	rows, row := batch.Column(1).(*array.Int32), batch.Column(2).(*array.Int32)
	for i := range int(batch.NumRows()) {
		if n := len(r.pieces); n == 0 || r.pieces[n-1].marker != markers.Value(i) {
			r.pieces = append(r.pieces, piece{marker: markers.Value(i), want: int(rows.Value(i))})
		}
		last := &r.pieces[len(r.pieces)-1]
		if int(row.Value(i)) != last.count {
			return fmt.Errorf("marker %d: row %d follows row %d", last.marker, row.Value(i), last.count-1)
		}
		last.count++
	}
	return nil
}

func (r *pieceReader) check() error {
	seen := map[int64]bool{}
	for _, p := range r.pieces {
		if seen[p.marker] {
			return fmt.Errorf("marker %d is there twice", p.marker)
		}
		seen[p.marker] = true
		if p.count != p.want {
			return fmt.Errorf("marker %d: %d of its %d rows are there", p.marker, p.count, p.want)
		}
	}
	return nil
}

// openNumber opens a version by its number, under its final name.
func openNumber(ctx context.Context, store objstore.Store, loc lake.Location, v lake.Version) (*format.Dataset, error) {
	f := folder{store, loc.Prefix()}
	m, err := format.ReadManifest(ctx, f, uint64(v))
	if err != nil {
		return nil, err
	}
	if m.Version() != uint64(v) {
		return nil, fmt.Errorf("the manifest under the name of version %d is of version %d", v, m.Version())
	}
	return format.Open(ctx, f, m, format.Options{})
}
