// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"context"
	"strings"

	"github.com/lakeplane/lake/lake"
	format "github.com/lakeplane/lake/lance"
	"github.com/lakeplane/lake/objstore"
)

// folder is the part of an object store below one location.
type folder struct {
	store  objstore.Store
	prefix string // ends in '/'
}

var _ format.Storage = folder{}

// Folder is the part of the engine's object store below one location, as
// package lance knows a dataset.
func (e *Engine) Folder(loc lake.Location) format.Storage { return e.folder(loc) }

func (e *Engine) folder(loc lake.Location) folder { return folder{e.store, loc.Prefix()} }

func (f folder) Open(ctx context.Context, name string) (format.Object, error) {
	return f.store.Open(ctx, f.prefix+name)
}

func (f folder) Create(ctx context.Context, name string) (format.ObjectWriter, error) {
	return f.store.Create(ctx, f.prefix+name)
}

func (f folder) Put(ctx context.Context, name string, data []byte) error {
	return f.store.Put(ctx, f.prefix+name, data)
}

func (f folder) Delete(ctx context.Context, name string) error {
	return f.store.Delete(ctx, f.prefix+name)
}

func (f folder) List(ctx context.Context, prefix, after string, limit int) ([]format.Info, bool, error) {
	if after != "" {
		after = f.prefix + after
	}
	infos, more, err := f.store.List(ctx, f.prefix+prefix, after, limit)
	out := make([]format.Info, len(infos))
	for i, info := range infos {
		out[i] = format.Info{Name: strings.TrimPrefix(info.Key, f.prefix), Size: info.Size, Modified: info.Modified}
	}
	return out, more, err
}
