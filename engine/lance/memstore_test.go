// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/lakeplane/lake/objstore"
)

// memStore keeps objects in memory; what Open hands out is mapped, and
// overwritten on Close.
type memStore struct {
	mu      sync.Mutex
	objects map[string][]byte
	open    int
	gets    int
}

func newMemStore() *memStore { return &memStore{objects: map[string][]byte{}} }

type memObject struct {
	*bytes.Reader
	st   *memStore
	data []byte
}

func (o *memObject) Bytes() []byte { return o.data }
func (o *memObject) Close() error {
	for i := range o.data {
		o.data[i] = 0xdd
	}
	o.st.mu.Lock()
	defer o.st.mu.Unlock()
	o.st.open--
	return nil
}

func (s *memStore) Open(_ context.Context, key string) (objstore.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets++
	b, ok := s.objects[key]
	if !ok {
		return nil, objstore.ErrNotFound
	}
	s.open++
	data := bytes.Clone(b)
	return &memObject{bytes.NewReader(data), s, data}, nil
}

func (s *memStore) Put(_ context.Context, key string, data []byte) error {
	if err := objstore.CheckKey(key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[key]; ok {
		return objstore.ErrExists
	}
	s.objects[key] = bytes.Clone(data)
	return nil
}

type memWriter struct {
	bytes.Buffer
	st  *memStore
	key string
}

func (w *memWriter) Commit() error { return w.st.Put(context.Background(), w.key, w.Bytes()) }
func (w *memWriter) Abort() error  { return nil }

func (s *memStore) Create(_ context.Context, key string) (objstore.Writer, error) {
	return &memWriter{st: s, key: key}, nil
}

func (s *memStore) List(_ context.Context, prefix, after string, limit int) ([]objstore.Info, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []objstore.Info
	for key, b := range s.objects {
		if strings.HasPrefix(key, prefix) && key > after {
			out = append(out, objstore.Info{Key: key, Size: int64(len(b))})
		}
	}
	slices.SortFunc(out, func(a, b objstore.Info) int { return strings.Compare(a.Key, b.Key) })
	if len(out) > limit {
		return out[:limit], true, nil
	}
	return out, false, nil
}

func (s *memStore) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
	return nil
}
