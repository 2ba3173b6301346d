// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lake/predicate"
	format "github.com/lakeplane/lake/lance"
)

// Open implements [engine.Engine]. Data files are opened by the first scan
// that needs them and shared by all versions that name them.
func (e *Engine) Open(ctx context.Context, snap lake.Snapshot) (engine.Dataset, error) {
	d, err := e.open(ctx, snap)
	if err != nil {
		return nil, lake.Wrap(fmt.Sprintf("open version %d of %s", snap.Version, snap.Location), unavailable(err))
	}
	return dataset{d}, nil
}

func (e *Engine) open(ctx context.Context, snap lake.Snapshot) (*format.Dataset, error) {
	if err := checkSnapshot(snap); err != nil {
		return nil, err
	}
	m, err := e.readManifest(ctx, snap)
	if err != nil {
		return nil, err
	}
	return format.Open(ctx, e.folder(snap.Location), m, format.Options{
		Files: e.files, Root: string(snap.Location), Stats: e.stats, Write: e.writing(compactOf(m)),
	})
}

// unavailable says in the port's words that an object of a version is gone.
func unavailable(err error) error {
	if errors.Is(err, format.ErrMissing) {
		return fmt.Errorf("%w: %w", engine.ErrUnavailable, err)
	}
	return err
}

var (
	_ engine.Pruner  = dataset{}
	_ engine.Divider = dataset{}
	_ engine.Pruner  = slice{}
)

// dataset adapts a dataset of the format to the port.
type dataset struct{ d *format.Dataset }

func (d dataset) Schema() *arrow.Schema { return d.d.Schema() }
func (d dataset) Rows() uint64          { return d.d.Rows() }
func (d dataset) Bytes() uint64         { return d.d.Bytes() }
func (d dataset) Close() error          { return d.d.Close() }

func (d dataset) Scan(ctx context.Context, o engine.ScanOptions) (engine.Scan, error) {
	o, err := o.Check(d.d.Schema())
	if err != nil {
		return nil, err
	}
	s, err := d.d.Scan(ctx, scanOptions(o))
	if err != nil {
		return nil, err
	}
	return scan{s}, nil
}

// Prune implements [engine.Pruner]. Its pieces are fragments.
func (d dataset) Prune(ctx context.Context, where predicate.Predicate) (engine.Part, error) {
	sel, err := d.d.Prune(ctx, where)
	if err != nil {
		return nil, err
	}
	return part{d, sel}, nil
}

// PieceRows implements [engine.Divider]. Its pieces are fragments.
func (d dataset) PieceRows(ctx context.Context, where predicate.Predicate) ([]uint64, error) {
	return d.d.FragmentRows(ctx, where)
}

// Slice implements [engine.Divider].
func (d dataset) Slice(from, to int) (engine.Dataset, error) {
	sel, err := d.d.Slice(from, to)
	if err != nil {
		return nil, err
	}
	return slice{part{d, sel}}, nil
}

// slice is a part that is a dataset of its own.
type slice struct{ part }

func (slice) Close() error { return nil }

// Prune implements [engine.Pruner].
func (s slice) Prune(ctx context.Context, where predicate.Predicate) (engine.Part, error) {
	sel, err := s.sel.Prune(ctx, where)
	if err != nil {
		return nil, err
	}
	return part{s.dataset, sel}, nil
}

// part adapts a selection of the format to the port.
type part struct {
	dataset
	sel *format.Selection
}

func (p part) Rows() uint64          { return p.sel.Rows() }
func (p part) Pieces() (in, out int) { return p.sel.Fragments() }

func (p part) Scan(ctx context.Context, o engine.ScanOptions) (engine.Scan, error) {
	o, err := o.Check(p.Schema())
	if err != nil {
		return nil, err
	}
	s, err := p.sel.Scan(ctx, scanOptions(o))
	if err != nil {
		return nil, err
	}
	return scan{s}, nil
}

func scanOptions(o engine.ScanOptions) format.ScanOptions {
	out := format.ScanOptions{Columns: o.Columns, BatchRows: o.BatchRows, BatchBytes: o.BatchBytes, Parallel: o.Parallel, Ordered: o.Ordered}
	if g := o.Glance; g != nil {
		out.Glance = &format.Glance{Columns: g.Columns, Wanted: g.Wanted}
	}
	return out
}

type scan struct{ s *format.Scan }

func (s scan) Close() error { return s.s.Close() }

func (s scan) Next(ctx context.Context) (arrow.RecordBatch, error) {
	batch, err := s.s.Next(ctx)
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return batch, err
	case errors.Is(err, format.ErrScanClosed):
		return nil, engine.ErrScanClosed
	}
	return nil, unavailable(err)
}
