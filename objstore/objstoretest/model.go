// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstoretest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lakeplane/lake/objstore"
)

// RunModel drives a store with random calls and compares every answer with a
// plain map. Failures are shrunk to a short sequence of calls.
func RunModel(t *testing.T, open Factory) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{fixture: &fixture{Store: open(t), t: t}, objects: map[string]string{}}
		rt.Repeat(map[string]func(*rapid.T){"put": m.putOne, "delete": m.deleteOne, "delete many": m.deleteMany, "read": m.readOne, "list": m.listOne, "pages": m.pages})
		for key := range m.objects { // the next run needs the space
			_ = m.Delete(t.Context(), key)
		}
	})
}

type model struct {
	*fixture
	objects map[string]string
}

// key draws from few segments, so that folders sort between objects in every
// way. Its last segment is never a folder's name: backends may refuse that.
func (m *model) key(t *rapid.T) string {
	folders := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a-", "a0", "b"}), 0, 2).Draw(t, "folders")
	return strings.Join(append(folders, rapid.SampledFrom([]string{"x", "a.", "a!", "aa", "~"}).Draw(t, "name")), "/")
}

func (m *model) putOne(t *rapid.T) {
	key, data := m.key(t), rapid.StringN(0, 5, 10).Draw(t, "data")
	_, there := m.objects[key]
	err := m.putEither(key, []byte(data), rapid.Bool().Draw(t, "stream"))
	switch {
	case there && !errors.Is(err, objstore.ErrExists):
		t.Fatalf("put over %q: %v", key, err)
	case !there && err != nil:
		t.Fatalf("put %q: %v", key, err)
	case !there:
		m.objects[key] = data
	}
}

func (m *model) deleteOne(t *rapid.T) {
	key := m.key(t)
	if err := m.Delete(m.t.Context(), key); err != nil {
		t.Fatalf("delete %q: %v", key, err)
	}
	delete(m.objects, key)
}

func (m *model) deleteMany(t *rapid.T) {
	keys := rapid.SliceOfN(rapid.Custom(m.key), 0, 6).Draw(t, "keys")
	if n, err := objstore.DeleteAll(m.t.Context(), m.Store, keys); err != nil || n != len(keys) {
		t.Fatalf("delete %q: %d, %v", keys, n, err)
	}
	for _, key := range keys {
		delete(m.objects, key)
	}
}

func (m *model) readOne(t *rapid.T) {
	key := m.key(t)
	want, there := m.objects[key]
	got, err := objstore.ReadAll(m.t.Context(), m, key, 100)
	if there && (err != nil || string(got) != want) || !there && !errors.Is(err, objstore.ErrNotFound) {
		t.Fatalf("read %q: %q, %v: want %q, there %v", key, got, err, want, there)
	}
}

func (m *model) listOne(t *rapid.T) {
	prefix, after, limit, want := m.listing(t)
	infos, more, err := m.List(m.t.Context(), prefix, after, limit)
	if err != nil || more != (len(want) > limit) {
		t.Fatalf("list %q after %q by %d: more %v, %v: want %q", prefix, after, limit, more, err, want)
	}
	var got []string
	for _, info := range infos {
		got = append(got, info.Key)
		if info.Size != int64(len(m.objects[info.Key])) {
			t.Fatalf("%q is listed with %d bytes", info.Key, info.Size)
		}
	}
	if !slices.Equal(got, want[:min(limit, len(want))]) {
		t.Fatalf("list %q after %q by %d: %q, want %q", prefix, after, limit, got, want)
	}
}

// listing draws the arguments of a listing and says what is in it.
func (m *model) listing(t *rapid.T) (prefix, after string, limit int, want []string) {
	prefix = rapid.SampledFrom([]string{"", "a/", "a-/", "a/a/", "b/", "c/"}).Draw(t, "prefix")
	if rapid.Bool().Draw(t, "continued") {
		after = m.key(t)
	}
	limit = rapid.IntRange(1, 5).Draw(t, "limit")
	for key := range m.objects {
		if strings.HasPrefix(key, prefix) && key > after {
			want = append(want, key)
		}
	}
	slices.Sort(want)
	return prefix, after, limit, want
}

func (m *model) pages(t *rapid.T) {
	prefix, after, limit, want := m.listing(t)
	var got []string
	for infos, err := range objstore.Pages(m.t.Context(), m.Store, prefix, after, limit) {
		if err != nil || len(infos) == 0 || len(infos) > limit {
			t.Fatalf("pages of %q after %q by %d: %d objects, %v", prefix, after, limit, len(infos), err)
		}
		for _, info := range infos {
			got = append(got, info.Key)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("pages of %q after %q by %d: %q, want %q", prefix, after, limit, got, want)
	}
}
