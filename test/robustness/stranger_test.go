// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build robustness && unix

package robustness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	enginelance "github.com/lakeplane/lake/engine/lance"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/lance/lancepb"
)

// stranger is another Lance client: it stages versions of its own beside the
// servers and has them committed by the namespace of whoever leads. It writes
// rows with markers of its own, each in one version, and deletes some again.
type stranger struct {
	c      *cluster
	engine *enginelance.Engine
	table  lake.TableName
	client http.Client

	next int64
	// sure are rows that are there, gone ones that are not; of those in neither
	// it is not known.
	sure, gone map[int64]bool
	// last is the last thing that went wrong.
	last error
}

func newStranger(c *cluster, table lake.TableName) *stranger {
	return &stranger{c: c, engine: c.engine, table: table, client: http.Client{Timeout: attemptTimeout}, sure: map[int64]bool{}, gone: map[int64]bool{}}
}

// errRefused says that a version certainly was not committed.
var errRefused = errors.New("refused")

// call asks the namespace of a member that runs.
func (s *stranger) call(ctx context.Context, path string, in, out any) error {
	err := errRefused // nobody runs
	for _, p := range s.c.running() {
		address := ask(p, func(r *reported) string { return r.namespace })
		if address == "" {
			continue
		}
		var again bool
		if again, err = s.post(ctx, "http://"+address+"/v1/table/"+s.table.Namespace+"$"+s.table.Name+"/"+path, in, out); !again {
			return err
		}
	}
	return err
}

// post reports whether another member may be asked.
func (s *stranger) post(ctx context.Context, url string, in, out any) (again bool, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return false, err // whether it was done is not known
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return false, err
	}
	switch {
	case resp.StatusCode == http.StatusOK:
		return false, json.Unmarshal(raw, out)
	case strings.Contains(string(raw), "does not lead"):
		return true, fmt.Errorf("%w: %s", errRefused, raw)
	case resp.StatusCode < http.StatusInternalServerError:
		return false, fmt.Errorf("%w: %s", errRefused, raw)
	}
	return false, fmt.Errorf("%d: %s", resp.StatusCode, raw)
}

// head opens the newest version.
func (s *stranger) head(ctx context.Context) (*format.Dataset, *format.Manifest, lake.Location, error) {
	var described struct {
		Version    uint64
		Properties map[string]string
	}
	if err := s.call(ctx, "describe", struct{}{}, &described); err != nil {
		return nil, nil, "", err
	}
	inc, err := lake.ParseID(described.Properties["lake.incarnation"])
	if err != nil {
		return nil, nil, "", err
	}
	loc := lake.Place(s.table, inc)
	m, err := format.ReadManifest(ctx, s.engine.Folder(loc), described.Version)
	if err != nil {
		return nil, nil, "", err
	}
	d, err := format.Open(ctx, s.engine.Folder(loc), m, format.Options{})
	return d, m, loc, err
}

// propose has a version committed; [errRefused] when it certainly was not.
func (s *stranger) propose(ctx context.Context, loc lake.Location, m *format.Manifest) error {
	raw, err := m.Encode()
	if err != nil {
		return err
	}
	key := loc.Prefix() + format.ManifestName(m.Version()) + "-" + lake.NewID().String()
	if err := s.c.objects.Put(ctx, key, raw); err != nil {
		return err
	}
	path := strings.TrimPrefix(s.c.config.Dir, "/") + "/objects/" + key
	return s.call(ctx, "version/create", map[string]any{"version": m.Version(), "manifest_path": path, "manifest_size": len(raw), "naming_scheme": "V2"}, &struct{}{})
}

// step appends a row, or deletes one. What a kill or a faster writer got in the
// way of is no error.
func (s *stranger) step(ctx context.Context, drop bool) error {
	d, m, loc, err := s.head(ctx)
	if err != nil {
		s.last = err
		return nil //nolint:nilerr // a member was killed, or cleaned up between the two reads
	}
	commit := format.Commit{UUID: lake.NewID().String(), Time: time.Now()}
	if !drop {
		s.next++
		n := s.next
		rows := rowBatch(n, 1)
		reader, err := array.NewRecordReader(rowSchema, []arrow.RecordBatch{rows})
		if err != nil {
			return err
		}
		f, err := format.WriteFragment(ctx, s.engine.Folder(loc), m.Fields(), reader)
		if err != nil {
			return err
		}
		next, err := m.Append([]*lancepb.DataFragment{f}, commit)
		if err != nil {
			return err
		}
		switch s.last = s.propose(ctx, loc, next); {
		case s.last == nil:
			s.sure[n] = true
		case errors.Is(s.last, errRefused):
			s.gone[n] = true
		}
		return nil
	}
	found, err := markersOf(ctx, d)
	if err != nil || len(found) == 0 {
		return nil //nolint:nilerr // its objects went between the reads, or there is nothing to delete
	}
	victim := found[len(found)/2]
	next, err := d.Delete(ctx, s.engine.Folder(loc), []uint64{uint64(len(found) / 2)}, fmt.Sprintf("marker = %d", victim), commit)
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	switch err := s.propose(ctx, loc, next); {
	case err == nil:
		delete(s.sure, victim)
		s.gone[victim] = true
	case !errors.Is(err, errRefused):
		delete(s.sure, victim)
	}
	return nil
}

// markersOf reads the markers of all rows in their order.
func markersOf(ctx context.Context, d *format.Dataset) (out []int64, err error) {
	scan, err := d.Scan(ctx, format.ScanOptions{Columns: []int{0}, Ordered: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, scan.Close()) }()
	for {
		batch, err := scan.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, batch.Column(0).(*array.Int64).Int64Values()...)
		batch.Release()
	}
}

// check holds the rows of the current version against what is known.
func (s *stranger) check(ctx context.Context, d *format.Dataset) error {
	found, err := markersOf(ctx, d)
	if err != nil {
		return err
	}
	there := map[int64]bool{}
	for _, n := range found {
		if there[n] {
			return fmt.Errorf("row %d is there twice", n)
		}
		if s.gone[n] {
			return fmt.Errorf("row %d was refused or deleted and is there", n)
		}
		there[n] = true
	}
	for n := range s.sure {
		if !there[n] {
			return fmt.Errorf("row %d was committed and is not there", n)
		}
	}
	return nil
}
