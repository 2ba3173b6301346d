// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"fmt"

	"github.com/lakeplane/lake/engine"
	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
)

var _ engine.Verifier = (*Engine)(nil)

// verifyFiles is how many data files a verification keeps open.
const verifyFiles = 8

// Verify implements [engine.Verifier]. It opens every object anew, since it is
// about what is in the store and not about what is remembered of it.
func (e *Engine) Verify(ctx context.Context, snap lake.Snapshot, o engine.VerifyOptions) error {
	if err := e.verify(ctx, snap, o); err != nil {
		return lake.Wrap(fmt.Sprintf("verify version %d of %s", snap.Version, snap.Location), err)
	}
	return nil
}

func (e *Engine) verify(ctx context.Context, snap lake.Snapshot, o engine.VerifyOptions) error {
	if err := checkSnapshot(snap); err != nil {
		return err
	}
	m, err := e.readManifest(ctx, snap)
	if err != nil {
		return err
	}
	files := format.NewFileCache(verifyFiles, nil)
	defer func() { _ = files.Close() }()
	d, err := format.Open(ctx, e.folder(snap.Location), m, format.Options{Files: files, Root: string(snap.Location)})
	if err != nil {
		return unavailable(err)
	}
	defer func() { _ = d.Close() }()
	prefix := snap.Location.Prefix()
	return d.Verify(ctx, format.VerifyOptions{
		Data: o.Data,
		Skip: func(path string) bool { return o.Skip(prefix + format.DataName(path)) },
		Found: func(f format.Fault) error {
			return o.Found(engine.Fault{Key: prefix + f.Name, Harmless: f.Sidecar, Err: f.Err})
		},
	})
}
