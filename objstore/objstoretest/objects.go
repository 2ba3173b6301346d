// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstoretest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/objstore"
)

// noise returns n bytes that depend on seed.
func noise(seed uint64, n int) []byte {
	data := make([]byte, n)
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)})
	_, _ = source.Read(data)
	return data
}

var putCases = []namedCase{
	{"put/content is exact", func(_ *testing.T, s *fixture) {
		for name, data := range map[string][]byte{
			"empty": {}, "one": {0}, "text": []byte("hello\r\n"), "page": noise(1, 4096), "page+1": noise(2, 4097), "megabytes": noise(3, 5<<20+17),
		} {
			require.NoError(s.t, s.Put(s.t.Context(), "d/"+name, data))
			s.holds("d/"+name, data)
		}
	}},
	{"put/overwrite is refused", func(t *testing.T, s *fixture) {
		s.put("a/b")
		for _, data := range []string{"other", "", "a/b"} {
			err := s.Put(t.Context(), "a/b", []byte(data))
			require.ErrorIs(t, err, objstore.ErrExists)
			require.True(t, lake.Is(err, lake.AlreadyExists))
		}
		s.holds("a/b", []byte("a/b"))
	}},
	{"put/identical bytes are settled", func(t *testing.T, s *fixture) {
		require.NoError(t, objstore.PutIdentical(t.Context(), s, "a", []byte("1")))
		require.NoError(t, objstore.PutIdentical(t.Context(), s, "a", []byte("1")))
		require.ErrorIs(t, objstore.PutIdentical(t.Context(), s, "a", []byte("2")), objstore.ErrExists)
		require.Error(t, objstore.PutIdentical(t.Context(), s, "a", []byte("")))
		s.holds("a", []byte("1"))
	}},
	{"put/does not keep the caller's bytes", func(t *testing.T, s *fixture) {
		data := []byte("abc")
		require.NoError(t, s.Put(t.Context(), "a", data))
		data[0] = 'X'
		s.holds("a", []byte("abc"))
	}},
	{"put/after delete", func(t *testing.T, s *fixture) {
		s.put("a/b")
		require.NoError(t, s.Delete(t.Context(), "a/b"))
		require.NoError(t, s.Put(t.Context(), "a/b", []byte("new")))
		s.holds("a/b", []byte("new"))
	}},
}

var writerCases = []namedCase{
	{"writer/streams", func(t *testing.T, s *fixture) {
		want := noise(4, 3<<20+5)
		w := s.create("a/stream")
		_, err := io.CopyBuffer(struct{ io.Writer }{w}, bytes.NewReader(want), make([]byte, 7001))
		require.NoError(t, err)
		s.absent("a/stream")
		require.Empty(t, s.list("", 10), "not visible before commit")
		require.NoError(t, w.Commit())
		require.NoError(t, w.Abort(), "abort after commit does nothing")
		s.holds("a/stream", want)
	}},
	{"writer/empty object", func(t *testing.T, s *fixture) {
		require.NoError(t, s.create("e").Commit())
		s.holds("e", []byte{})
	}},
	{"writer/abort leaves nothing", func(t *testing.T, s *fixture) {
		w := s.create("a/b")
		_, err := w.Write(noise(5, 1<<20))
		require.NoError(t, err)
		require.NoError(t, w.Abort())
		require.NoError(t, w.Abort(), "a second abort does nothing")
		require.Error(t, w.Commit(), "an aborted writer cannot commit")
		s.absent("a/b")
		require.Empty(t, s.list("", 10))
		s.put("a/b")
	}},
	{"writer/commit decides put-if-absent", func(t *testing.T, s *fixture) {
		first, second := s.create("a"), s.create("a")
		_, err := first.Write([]byte("first"))
		require.NoError(t, err)
		_, err = second.Write([]byte("second"))
		require.NoError(t, err)
		require.NoError(t, second.Commit())
		require.ErrorIs(t, first.Commit(), objstore.ErrExists)
		require.NoError(t, first.Abort())
		s.holds("a", []byte("second"))
	}},
	{"writer/ends once", func(t *testing.T, s *fixture) {
		w := s.create("a")
		require.NoError(t, w.Commit())
		require.Error(t, w.Commit())
		_, err := w.Write([]byte("late"))
		require.Error(t, err)
		s.holds("a", []byte{})
	}},
}

// create begins an object; the test's end aborts it.
func (f *fixture) create(key string) objstore.Writer {
	f.t.Helper()
	w, err := f.Create(f.t.Context(), key)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = w.Abort() })
	return w
}

var readCases = []namedCase{
	{"read/ranges", func(t *testing.T, s *fixture) {
		require.NoError(t, s.Put(t.Context(), "a", []byte("0123456789")))
		obj := s.open("a")
		require.EqualValues(t, 10, obj.Size())
		for _, c := range []struct {
			off  int64
			n    int
			want string
			err  error
		}{
			{0, 10, "0123456789", nil},
			{0, 3, "012", nil},
			{4, 2, "45", nil},
			{9, 1, "9", nil},
			{8, 5, "89", io.EOF},
			{0, 11, "0123456789", io.EOF},
			{10, 1, "", io.EOF},
			{11, 1, "", io.EOF},
			{1 << 40, 4, "", io.EOF},
		} {
			got, err := readAt(obj, c.off, c.n)
			require.Equal(t, c.want, got, "offset %d length %d", c.off, c.n)
			// EOF may come with the last bytes.
			if err != io.EOF || c.off+int64(c.n) < 10 { //nolint:errorlint // io.ReaderAt promises EOF itself
				require.Equal(t, c.err, err, "offset %d length %d", c.off, c.n)
			}
		}
		_, err := readAt(obj, -1, 1)
		require.Error(t, err)
		require.NotErrorIs(t, err, io.EOF)
		got, _ := readAt(obj, 3, 0)
		require.Empty(t, got)
	}},
	{"read/empty object", func(t *testing.T, s *fixture) {
		require.NoError(t, s.Put(t.Context(), "a", nil))
		obj := s.open("a")
		require.Zero(t, obj.Size())
		_, err := readAt(obj, 0, 1)
		require.ErrorIs(t, err, io.EOF)
		if m, ok := obj.(objstore.Mapped); ok {
			require.Empty(t, m.Bytes())
		}
	}},
	{"read/mapped bytes", func(t *testing.T, s *fixture) {
		want := noise(6, 100_001)
		require.NoError(t, s.Put(t.Context(), "a", want))
		m, ok := s.open("a").(objstore.Mapped)
		if !ok {
			t.Skip("objects of this store are not Mapped, which is optional")
		}
		require.Equal(t, want, m.Bytes())
	}},
	{"read/missing object", func(t *testing.T, s *fixture) {
		s.put("a/b/c")
		for _, key := range []string{"x", "a", "a/b", "a/b/d", "a/b/c/d", "A/b/c"} {
			s.absent(key)
		}
	}},
	{"read/an open object outlives its deletion or says so", func(t *testing.T, s *fixture) {
		s.put("a")
		obj := s.open("a")
		require.NoError(t, s.Delete(t.Context(), "a"))
		got, err := readAt(obj, 0, 1)
		if err == nil {
			require.Equal(t, "a", got)
		} else {
			require.ErrorIs(t, err, objstore.ErrNotFound)
		}
	}},
	{"read/after close fails", func(t *testing.T, s *fixture) {
		s.put("a")
		obj := s.open("a")
		require.NoError(t, obj.Close())
		_, err := readAt(obj, 0, 1)
		require.Error(t, err)
	}},
	{"read/limit of ReadAll", func(t *testing.T, s *fixture) {
		s.put("abc")
		_, err := objstore.ReadAll(t.Context(), s, "abc", 2)
		require.True(t, lake.Is(err, lake.Corrupt))
	}},
}
