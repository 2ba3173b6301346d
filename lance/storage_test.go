// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lakeplane/lake/lake"
)

// poisonStorage keeps objects in memory. Each open hands out a fresh copy that
// is overwritten on Close, so that a use after close shows as wrong data, and
// to the race detector as a race.
type poisonStorage struct {
	mu      sync.Mutex
	objects map[string][]byte
	open    int // objects open now
	opened  int // objects opened ever
}

func newPoisonStorage() *poisonStorage { return &poisonStorage{objects: map[string][]byte{}} }

type poisonObject struct {
	*bytes.Reader
	st   *poisonStorage
	data []byte
}

func (o *poisonObject) Bytes() []byte { return o.data }

func (o *poisonObject) Close() error {
	for i := range o.data {
		o.data[i] = 0xdd
	}
	o.st.mu.Lock()
	defer o.st.mu.Unlock()
	o.st.open--
	return nil
}

func (s *poisonStorage) Open(_ context.Context, name string) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.objects[name]
	if !ok {
		return nil, lake.Errorf(lake.NotFound, "no object %q", name)
	}
	s.open++
	s.opened++
	data := bytes.Clone(b)
	return &poisonObject{bytes.NewReader(data), s, data}, nil
}

func (s *poisonStorage) Put(_ context.Context, name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[name]; ok {
		return lake.Errorf(lake.AlreadyExists, "object %q exists", name)
	}
	s.objects[name] = bytes.Clone(data)
	return nil
}

type poisonWriter struct {
	bytes.Buffer
	st   *poisonStorage
	name string
}

func (w *poisonWriter) Commit() error {
	return w.st.Put(context.Background(), w.name, w.Bytes())
}
func (w *poisonWriter) Abort() error { return nil }

func (s *poisonStorage) Create(_ context.Context, name string) (ObjectWriter, error) {
	return &poisonWriter{st: s, name: name}, nil
}

func (s *poisonStorage) List(_ context.Context, prefix, after string, limit int) ([]Info, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Info
	for name, b := range s.objects {
		if strings.HasPrefix(name, prefix) && name > after {
			out = append(out, Info{Name: name, Size: int64(len(b))})
		}
	}
	slices.SortFunc(out, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	if len(out) > limit {
		return out[:limit], true, nil
	}
	return out, false, nil
}

func (s *poisonStorage) Delete(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, name)
	return nil
}

// requireClosed checks that every object that was opened is closed again.
func (s *poisonStorage) requireClosed(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open != 0 {
		t.Errorf("%d of %d objects are still open", s.open, s.opened)
	}
}
