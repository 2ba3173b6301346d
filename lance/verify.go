// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"errors"
	"io"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/lancepb"
	"github.com/lakeplane/lake/lance/stats"
)

// VerifyOptions say how deep a verification goes.
type VerifyOptions struct {
	// Data reads every value of every row, and holds statistics against them.
	// Without it, what is read is what a scan reads first: footers, deletions and
	// statistics.
	Data bool
	// Skip is asked for each data file by its path; true leaves it out, with the
	// rows in it. nil leaves out nothing. Versions have most files in common.
	Skip func(path string) bool
	// Found is told of each object that does not hold what the version says, by
	// its name. Its error ends the verification.
	Found func(Fault) error
}

// Fault is an object that does not hold what a version says.
type Fault struct {
	// Name of the object, relative to the dataset.
	Name string
	// Sidecar says that only statistics are affected, and that no reader will use
	// them: nothing is lost.
	Sidecar bool
	Err     error
}

// Verify looks into the objects of the version. Objects that are not there are
// not its business. It fails when something could not be looked at.
func (d *Dataset) Verify(ctx context.Context, o VerifyOptions) error {
	for _, f := range d.fragments {
		if err := d.verifyFragment(ctx, f, o); err != nil {
			return lake.Wrap("verify", err)
		}
	}
	return nil
}

func (d *Dataset) verifyFragment(ctx context.Context, f *fragment, o VerifyOptions) error {
	known := map[int]fileStats{}
	whole, looked := true, false
	for at, df := range f.pb.GetFiles() {
		if o.Skip != nil && o.Skip(df.GetPath()) {
			continue
		}
		looked = true
		good, err := d.verifyFile(ctx, f, df, o)
		if err != nil {
			return err
		}
		whole = whole && good
		if known[at], err = d.verifySidecar(ctx, f, df, o); err != nil {
			return err
		}
	}
	if f.pb.GetDeletionFile() != nil {
		good, err := d.verifyDeletions(ctx, f, o)
		if err != nil {
			return err
		}
		whole = whole && good
	}
	if !o.Data || !looked || !whole {
		return nil
	}
	return d.verifyRows(ctx, f, known, o)
}

// verifyFile opens a data file and reports whether its rows can be read.
func (d *Dataset) verifyFile(ctx context.Context, f *fragment, df *lancepb.DataFile, o VerifyOptions) (good bool, err error) {
	h, err := d.files.acquire(ctx, d.view, df)
	switch {
	case errors.Is(err, ErrMissing):
		return false, nil
	case damage(err):
		return false, o.Found(Fault{Name: dataDir + df.GetPath(), Err: err})
	case err != nil:
		return false, err
	}
	defer h.release()
	if h.reader.Rows() != f.rows {
		return false, o.Found(Fault{Name: dataDir + df.GetPath(), Err: corrupt("it has %d rows, the manifest says %d", h.reader.Rows(), f.rows)})
	}
	return true, nil
}

// damage reports whether an error says what an object holds, and not that it
// could not be read.
func damage(err error) bool { return lake.Is(err, lake.Corrupt) || lake.Is(err, lake.Unsupported) }

func (d *Dataset) verifyDeletions(ctx context.Context, f *fragment, o VerifyOptions) (good bool, err error) {
	_, err = f.deletions(ctx, d.view.st)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrMissing):
		return false, nil
	case !damage(err):
		return false, err
	}
	name, nameErr := deletionName(f.pb.GetId(), f.pb.GetDeletionFile())
	if nameErr != nil {
		return false, nameErr
	}
	return false, o.Found(Fault{Name: name, Err: err})
}

// verifySidecar returns the statistics that a reader of the file would use.
func (d *Dataset) verifySidecar(ctx context.Context, f *fragment, df *lancepb.DataFile, o VerifyOptions) (fileStats, error) {
	name := StatsName(df.GetPath())
	raw, err := readAll(ctx, d.view.st, name, stats.MaxBytes)
	switch {
	case lake.Is(err, lake.NotFound):
		return nil, nil
	case damage(err):
		return nil, o.Found(Fault{name, true, err})
	case err != nil:
		return nil, err
	}
	if _, err := stats.Decode(raw); err != nil {
		return nil, o.Found(Fault{name, true, err})
	}
	s := decodeStats(raw, df, f.rows)
	if s == nil {
		return nil, o.Found(Fault{name, true, corrupt("statistics: they are of another file")})
	}
	return s, nil
}

// verifyRows reads the rows of a fragment.
func (d *Dataset) verifyRows(ctx context.Context, f *fragment, known map[int]fileStats, o VerifyOptions) error {
	seen, err := d.readRows(ctx, f)
	switch {
	case damage(err):
		return o.Found(Fault{Name: dataDir + f.pb.GetFiles()[0].GetPath(), Err: err})
	case errors.Is(err, ErrMissing):
		return nil
	case err != nil:
		return err
	}
	for at, df := range f.pb.GetFiles() {
		for _, c := range seen.Columns {
			s, ok := known[at][c.Field]
			if !ok || !d.holds(df, c.Field) || stats.Covers(s, c.Stats) {
				continue
			}
			fault := Fault{Name: StatsName(df.GetPath()), Err: corrupt("statistics: field %d has values outside of them, so scans lose rows", c.Field)}
			if err := o.Found(fault); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// readRows reads the live rows of a fragment and tells what is in them.
func (d *Dataset) readRows(ctx context.Context, f *fragment) (stats.File, error) {
	s, err := d.scan(ctx, ScanOptions{Ordered: true}, []*fragment{f}, false)
	if err != nil {
		return stats.File{}, err
	}
	defer func() { _ = s.Close() }()
	c := stats.NewCollector(s.schema, d.rootIDs)
	var rows uint64
	for {
		batch, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return stats.File{}, err
		}
		rows += uint64(batch.NumRows())
		c.Add(batch)
		batch.Release()
	}
	if rows != f.live {
		return stats.File{}, corrupt("fragment %d gave %d rows, the manifest says %d", f.pb.GetId(), rows, f.live)
	}
	return c.File(0), nil
}
