// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/lance/file"
	"github.com/lakeplane/lake/lance/lancepb"
)

// DefaultOpenFiles is how many data files a [FileCache] keeps open.
const DefaultOpenFiles = 4096

// FileCache keeps data files open across the datasets that share it. Versions
// of a table have most files in common, so opening the next version costs only
// the files it added. It is safe for concurrent use.
type FileCache struct {
	most int
	mem  memory.Allocator

	mu      sync.Mutex
	entries map[fileKey]*list.Element // of *fileEntry
	recent  *list.List                // most recently used first
	closed  bool
}

// fileKey tells apart files, and views of one file by schemas that differ.
type fileKey struct{ root, name, view string }

type fileEntry struct {
	key fileKey
	h   *handle
}

// NewFileCache returns a cache of at most most open files (0 means
// [DefaultOpenFiles]). Files in use beyond that stay open until they are not.
// mem makes the memory of batches; nil means the default allocator.
func NewFileCache(most int, mem memory.Allocator) *FileCache {
	if most <= 0 {
		most = DefaultOpenFiles
	}
	if mem == nil {
		mem = memory.DefaultAllocator
	}
	return &FileCache{most: most, mem: mem, entries: map[fileKey]*list.Element{}, recent: list.New()}
}

// Close drops the cache's references; files still in use close later.
func (c *FileCache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for c.recent.Len() > 0 {
		c.drop(c.recent.Back())
	}
	return nil
}

// Forget drops the files of a dataset's root, whose objects are about to be
// deleted.
func (c *FileCache) Forget(root string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.recent.Front(); e != nil; {
		next := e.Next()
		if e.Value.(*fileEntry).key.root == root {
			c.drop(e)
		}
		e = next
	}
}

// drop removes an entry. It is called with the lock held.
func (c *FileCache) drop(e *list.Element) {
	entry := c.recent.Remove(e).(*fileEntry)
	delete(c.entries, entry.key)
	entry.h.release()
}

// acquire returns the open file with a reference for the caller. Two callers
// may open one file at once; one of the two handles is then dropped.
func (c *FileCache) acquire(ctx context.Context, v view, df *lancepb.DataFile) (*handle, error) {
	key := fileKey{v.root, df.GetPath(), v.key(df)}
	if h := c.lookup(key); h != nil {
		return h, nil
	}
	h, err := v.open(ctx, c.mem, df)
	if err != nil {
		return nil, err
	}
	return c.insert(key, h), nil
}

func (c *FileCache) lookup(key fileKey) *handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		return nil
	}
	c.recent.MoveToFront(e)
	h := e.Value.(*fileEntry).h
	h.retain()
	return h
}

// insert takes over the reference to h, unless another caller was first, and
// returns a handle with a reference for the caller.
func (c *FileCache) insert(key fileKey, h *handle) *handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return h
	}
	if e := c.entries[key]; e != nil {
		h.release()
		h = e.Value.(*fileEntry).h
	} else {
		c.entries[key] = c.recent.PushFront(&fileEntry{key, h})
	}
	h.retain()
	for c.recent.Len() > c.most {
		c.drop(c.recent.Back())
	}
	return h
}

// view is how one dataset reads its data files.
type view struct {
	root   string
	st     Opener
	fields []*lancepb.Field
	digest string // of fields
}

func newView(root string, st Opener, fields []*lancepb.Field) (view, error) {
	v := view{root: root, st: st, fields: fields}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(&lancepb.Schema{Fields: fields})
	if err != nil {
		return v, corrupt("schema: %w", err)
	}
	sum := sha256.Sum256(raw)
	v.digest = string(sum[:])
	return v, nil
}

// key says everything besides the file's bytes that its reader depends on.
func (v view) key(df *lancepb.DataFile) string {
	b := []byte(v.digest)
	for i, id := range df.GetFields() {
		b = binary.AppendVarint(b, int64(id))
		b = binary.AppendVarint(b, int64(df.GetColumnIndices()[i]))
	}
	return string(b)
}

// open opens a data file and checks it against its entry in the manifest.
func (v view) open(ctx context.Context, mem memory.Allocator, df *lancepb.DataFile) (*handle, error) {
	name := dataDir + df.GetPath()
	obj, err := v.st.Open(context.WithoutCancel(ctx), name)
	if err != nil {
		return nil, missing(name, err)
	}
	reader, err := v.read(ctx, obj, mem, df)
	if err != nil {
		_ = obj.Close()
		return nil, lake.Wrap("data file "+df.GetPath(), err)
	}
	return newHandle(obj, reader), nil
}

func (v view) read(ctx context.Context, obj Object, mem memory.Allocator, df *lancepb.DataFile) (*file.Reader, error) {
	if want := df.GetFileSizeBytes(); want != 0 && want != uint64(obj.Size()) {
		return nil, corrupt("it has %d bytes, the manifest says %d", obj.Size(), want)
	}
	o := file.Options{Allocator: mem, Schema: v.fields, Fields: df.GetFields(), Columns: df.GetColumnIndices()}
	if o.Fields == nil { // nil would mean the file's own list
		o.Fields, o.Columns = []int32{}, []int32{}
	}
	return file.Open(ctx, obj, o)
}
