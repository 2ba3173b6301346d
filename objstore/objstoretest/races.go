// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstoretest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/objstore"
)

var keyCases = []namedCase{
	{"keys/bad keys are refused everywhere", func(t *testing.T, s *fixture) {
		for name, key := range map[string]string{
			"empty": "", "leading slash": "/a", "trailing slash": "a/", "double slash": "a//b", "dot": "a/./b", "dots": "../x", "nul": "a\x00b",
			"control character": "a\x01b", "no character": "a\uffffb",
			"not utf8": "a\xff", "long segment": strings.Repeat("s", objstore.MaxSegmentBytes+1), "long": strings.Repeat("x/", 512) + "x",
		} {
			_, openErr := s.Open(t.Context(), key)
			_, createErr := s.Create(t.Context(), key)
			for call, err := range map[string]error{
				"open": openErr, "create": createErr, "put": s.Put(t.Context(), key, nil), "delete": s.Delete(t.Context(), key),
			} {
				require.ErrorIs(t, err, objstore.ErrInvalid, "%s: %s", name, call)
			}
		}
		require.Empty(t, s.list("", 10))
	}},
	{"keys/longest and odd ones", func(t *testing.T, s *fixture) {
		longest := strings.Repeat("abcdefg/", objstore.MaxKeyBytes/8-1) + "abcdefgh"
		keys := []string{
			longest, strings.Repeat("s", objstore.MaxSegmentBytes), "...", ".hidden", "a b", " a", "a ", "%41", "a+b", "a?b=c&d", "#x", "a:b", "a\\b", "~", "é", "🙂/日本", "'\"", "*", "new\nline", "lost+found/x", "CON", "-rf",
		}
		s.put(keys...)
		for _, key := range keys {
			s.holds(key, []byte(key))
		}
		require.Equal(t, sorted(keys...), s.list("", 5))
		for _, key := range keys {
			require.NoError(t, s.Delete(t.Context(), key))
		}
		require.Empty(t, s.list("", 5))
	}},
}

var raceCases = []namedCase{
	{"race/16 puts of one key have one winner", func(t *testing.T, s *fixture) {
		for round := range 10 {
			s.onePut(fmt.Sprintf("r/%d/object", round), 16)
		}
	}},
	{"race/puts and deletes in one folder", putsAndDeletes},
	{"race/identical puts all succeed", func(t *testing.T, s *fixture) {
		data := noise(9, 200_000)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := objstore.PutIdentical(t.Context(), s, "same/object", data); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		s.holds("same/object", data)
	}},
	{"race/a listing never shows half an object", neverHalf},
}

// onePut races puts and writers with different contents for one key.
func (f *fixture) onePut(key string, n int) {
	f.t.Helper()
	start := make(chan struct{})
	var winner, wins atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			switch err := f.putEither(key, noise(uint64(i), 50_000+i), i%2 == 0); {
			case err == nil:
				wins.Add(1)
				winner.Store(int64(i))
			case !errors.Is(err, objstore.ErrExists):
				f.t.Errorf("put %d: %v", i, err)
			}
		})
	}
	close(start)
	all.Wait()
	require.EqualValues(f.t, 1, wins.Load())
	f.holds(key, noise(uint64(winner.Load()), 50_000+int(winner.Load())))
}

func (f *fixture) putEither(key string, data []byte, stream bool) error {
	if !stream {
		return f.Put(f.t.Context(), key, data)
	}
	w, err := f.Create(f.t.Context(), key)
	if err != nil {
		return err
	}
	defer func() { _ = w.Abort() }() // does nothing after Commit
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Commit()
}

// putsAndDeletes empties and refills folders, which a file system makes and
// removes underneath.
func putsAndDeletes(t *testing.T, s *fixture) {
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 25 {
				key := fmt.Sprintf("x/y/%d/%d", i%2, w)
				if err := s.Put(t.Context(), key, []byte(key)); err != nil {
					t.Errorf("put: %v", err)
				}
				if got, err := objstore.ReadAll(t.Context(), s, key, 100); err != nil || string(got) != key {
					t.Errorf("read back %q: %v", got, err)
				}
				if err := s.Delete(t.Context(), key); err != nil {
					t.Errorf("delete: %v", err)
				}
			}
		})
	}
	all.Wait()
	require.Empty(t, s.list("", 10))
}

// neverHalf lists and reads while objects appear.
func neverHalf(t *testing.T, s *fixture) {
	const size = 300_000
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 20 {
			if err := s.putEither(fmt.Sprint("w/", i), noise(uint64(i), size), i%2 == 0); err != nil {
				t.Error(err)
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		infos, _, err := s.List(t.Context(), "w/", "", 100)
		if err != nil {
			t.Error(err)
		}
		for _, info := range infos {
			if info.Size != size {
				t.Errorf("%q appeared with %d bytes", info.Key, info.Size)
			}
		}
	}
	require.Len(t, s.list("w/", 100), 20)
}

// putMany stores objects from several goroutines.
func (f *fixture) putMany(keys []string) {
	f.t.Helper()
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := w; i < len(keys); i += 8 {
				if err := f.Put(f.t.Context(), keys[i], nil); err != nil {
					f.t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

var contextCases = []namedCase{
	{"context/an ended one does nothing", func(t *testing.T, s *fixture) {
		s.put("a")
		ctx, cancel := context.WithCancel(t.Context())
		w, err := s.Create(ctx, "w")
		require.NoError(t, err)
		defer func() { _ = w.Abort() }() // its context has ended: it may fail
		cancel()
		require.ErrorIs(t, s.Put(ctx, "b", nil), context.Canceled)
		require.ErrorIs(t, s.Delete(ctx, "a"), context.Canceled)
		_, err = s.Open(ctx, "a")
		require.ErrorIs(t, err, context.Canceled)
		_, err = s.Create(ctx, "b")
		require.ErrorIs(t, err, context.Canceled)
		_, _, err = s.List(ctx, "", "", 1)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, w.Commit(), context.Canceled)
		require.Equal(t, []string{"a"}, s.list("", 10))
	}},
	{"context/of an open object", func(t *testing.T, s *fixture) {
		s.put("a")
		ctx, cancel := context.WithCancel(t.Context())
		obj, err := s.Open(ctx, "a")
		require.NoError(t, err)
		defer obj.Close()
		cancel()
		_, err = readAt(obj, 0, 1)
		require.ErrorIs(t, err, context.Canceled)
	}},
}
