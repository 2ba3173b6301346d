// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package watchfile_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/watchfile"
	"github.com/lakeplane/lake/lake"
)

func TestAChangedFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	write("one")
	reads := 0
	v, err := watchfile.Watch(slog.New(slog.DiscardHandler), func() (string, error) {
		reads++
		raw, err := watchfile.Read(path, true, 10)
		if string(raw) == "bad" {
			err = errors.New("bad")
		}
		return string(raw), err
	}, path)
	require.NoError(t, err)
	now := time.Now()
	v.SetClock(func() time.Time { return now })
	write("second")
	require.Equal(t, "one", v.Get(), "it is not looked at all the time")
	for _, step := range []struct {
		change func()
		want   string
	}{
		{func() {}, "second"},
		{func() { write("bad") }, "second"},
		{func() { require.NoError(t, os.Remove(path)) }, "second"},
		{func() { write("back") }, "back"},
		{func() { // another file of the same time and size
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path+".new", []byte("four"), 0o600))
			require.NoError(t, os.Chtimes(path+".new", info.ModTime(), info.ModTime()))
			require.NoError(t, os.Rename(path+".new", path))
		}, "four"},
	} {
		step.change()
		now = now.Add(2 * watchfile.LookEvery)
		require.Equal(t, step.want, v.Get())
	}
	before := reads
	now = now.Add(2 * watchfile.LookEvery)
	v.Get()
	require.Equal(t, before, reads, "a file that did not change is not read")
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(path, []byte("secret text"), 0o640))
	for name, c := range map[string]struct {
		path   string
		secret bool
		most   int64
		says   string
	}{
		"open":    {path, true, 100, "lets others read it"},
		"large":   {path, false, 5, "more than 5 bytes"},
		"missing": {path + ".none", false, 5, "no such file"},
		"folder":  {dir, true, 5, "not a regular file"},
	} {
		_, err := watchfile.Read(c.path, c.secret, c.most)
		require.ErrorContains(t, err, c.says, name)
		require.Equal(t, lake.Invalid, lake.KindOf(err), name)
		require.NotContains(t, err.Error(), "secret text")
	}
}
