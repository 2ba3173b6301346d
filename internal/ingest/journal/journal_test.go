// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakeplane/lake/internal/ingest"
	"github.com/lakeplane/lake/internal/ingest/journal"
	"github.com/lakeplane/lake/lake"
)

var table = lake.TableName{Namespace: "robots", Name: "episodes"}

var paths = []string{"/data/a.csv", "/data/b.csv"}

func job() journal.Job {
	j := journal.Job{Table: table, Incarnation: lake.NewID(), Cut: journal.Cut{Columns: []string{"a", "b"}, BatchRows: 10}}
	for _, p := range paths {
		j.Files = append(j.Files, ingest.Identity{Path: p, Size: 5, ModTime: time.Now().UTC(), Sample: lake.Digest{1}})
	}
	return j
}

func open(t testing.TB, dir string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir, table, paths)
	require.NoError(t, err)
	return j
}

func chunk(file int, batch, batchRows, first, rows int64) journal.Chunk {
	return journal.Chunk{File: file, Batch: batch, BatchRows: batchRows, First: first, Rows: rows, Operation: lake.NewID(), Digest: lake.Digest{byte(first)}}
}

func TestJournalIsTakenUpWhereItWasLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	j := open(t, dir)
	require.Nil(t, j.Job())
	require.False(t, j.Started())
	want := job()
	require.NoError(t, j.Begin(want))
	require.False(t, j.Started())
	require.NoError(t, j.Sending(chunk(0, 0, 10, 0, 5))) // half a batch
	require.True(t, j.Started())
	require.NoError(t, j.Acknowledged(7))
	require.NoError(t, j.Close())

	j = open(t, dir)
	require.Equal(t, want, *j.Job())
	require.Empty(t, j.Differs(want))
	require.Equal(t, journal.Progress{Rows: 5, Appends: 1, Version: 7}, j.File(0))
	doubt := chunk(0, 0, 10, 5, 5)
	require.NoError(t, j.Sending(doubt))
	require.NoError(t, j.Close())

	j = open(t, dir)
	require.Equal(t, journal.Progress{Rows: 5, Appends: 1, Version: 7, InDoubt: &doubt}, j.File(0))
	require.NoError(t, j.Sending(doubt), "again")
	require.NoError(t, j.Acknowledged(8))
	require.Equal(t, journal.Progress{Rows: 10, Appends: 2, Version: 8, Batch: 10}, j.File(0))
	require.NoError(t, j.Done(0))
	require.NoError(t, j.Sending(chunk(1, 0, 3, 0, 3)))
	require.NoError(t, j.Refused())
	require.Nil(t, j.File(1).InDoubt)
	require.NoError(t, j.Sending(chunk(1, 0, 3, 0, 3)))
	require.NoError(t, j.Acknowledged(9))
	require.NoError(t, j.Close())

	j = open(t, dir)
	require.True(t, j.File(0).Done)
	require.Equal(t, journal.Progress{Rows: 3, Appends: 1, Version: 9, Batch: 3}, j.File(1))
	require.NoError(t, j.Remove())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestJournalIsLockedWhileItIsOpen(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	_, err := journal.Open(dir, table, paths)
	require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	require.ErrorContains(t, err, "another ingestion of the same files into the same table is running")
	other, err := journal.Open(dir, table, paths[:1])
	require.NoError(t, err, "other files have another journal")
	require.NoError(t, other.Remove())
	require.NoError(t, j.Close())
	require.NoError(t, open(t, dir).Close())
}

func TestWhatDoesNotFollowIsRefused(t *testing.T) {
	j := open(t, t.TempDir())
	defer j.Close()
	require.Error(t, j.Sending(chunk(0, 0, 10, 0, 10)), "before the job is known")
	require.NoError(t, j.Begin(job()))
	require.Error(t, j.Begin(job()))
	require.Error(t, j.Acknowledged(1), "nothing was sent")
	require.Error(t, j.Done(2))
	require.Error(t, j.Sending(chunk(2, 0, 10, 0, 10)))
	require.Error(t, j.Sending(chunk(0, 0, 10, 5, 5)), "rows are left out")
	require.Error(t, j.Sending(chunk(0, 0, 10, 0, 11)))
	require.Error(t, j.Sending(chunk(0, 0, 10, 0, 0)))
	require.NoError(t, j.Sending(chunk(0, 0, 10, 0, 10)))
	require.Error(t, j.Sending(chunk(0, 0, 10, 0, 10)), "one is in doubt")
}

func TestDifferencesAreNamed(t *testing.T) {
	j := open(t, t.TempDir())
	defer j.Close()
	was := job()
	require.NoError(t, j.Begin(was))
	for want, change := range map[string]func(*journal.Job){
		"file /data/b.csv changed: it had 5 bytes and has 6":  func(n *journal.Job) { n.Files[1].Size = 6 },
		"file /data/a.csv changed: it was modified at":        func(n *journal.Job) { n.Files[0].ModTime = time.Unix(1, 0) },
		"file /data/a.csv changed: its content is another":    func(n *journal.Job) { n.Files[0].Sample = lake.Digest{2} },
		"the files are others":                                func(n *journal.Job) { n.Files = n.Files[:1] },
		"table robots.episodes was dropped and created again": func(n *journal.Job) { n.Incarnation = lake.NewID() },
		`--columns was "a,b" and is "a"`:                      func(n *journal.Job) { n.Cut.Columns = []string{"a"} },
		`--no-header was "false" and is "true"`:               func(n *journal.Job) { n.Cut.NoHeader = true },
		`--delimiter was "" and is ";"`:                       func(n *journal.Job) { n.Cut.Delimiter = ";" },
		`the rows of an append was "10" and is "11"`:          func(n *journal.Job) { n.Cut.BatchRows = 11 },
	} {
		now := was
		now.Files = append([]ingest.Identity{}, was.Files...)
		change(&now)
		require.Contains(t, j.Differs(now), want)
	}
}

// written makes a journal with some lines and returns its bytes.
func written(t testing.TB, dir string) (path string, text []byte) {
	t.Helper()
	j := open(t, dir)
	require.NoError(t, j.Begin(job()))
	for i := range int64(3) {
		require.NoError(t, j.Sending(chunk(0, i*10, 10, i*10, 10)))
		require.NoError(t, j.Acknowledged(lake.Version(i+2)))
	}
	require.NoError(t, j.Close())
	text, err := os.ReadFile(j.Path())
	require.NoError(t, err)
	return j.Path(), text
}

func TestEndThatWasNotWrittenWholeIsDropped(t *testing.T) {
	dir := t.TempDir()
	path, text := written(t, dir)
	lines := bytes.SplitAfter(text, []byte("\n"))
	for size := range text {
		require.NoError(t, os.WriteFile(path, text[:size], 0o600))
		j := open(t, dir)
		whole := bytes.Count(text[:size], []byte("\n"))
		if whole > 0 {
			require.Equal(t, int64((whole-1)/2*10), j.File(0).Rows, "%d lines", whole)
			require.Equal(t, whole%2 == 0, j.File(0).InDoubt != nil)
		}
		require.NoError(t, j.Close())
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, bytes.Join(lines[:whole], nil), append([]byte{}, kept...))
	}
}

func TestDamageElsewhereStopsIt(t *testing.T) {
	dir := t.TempDir()
	path, text := written(t, dir)
	last := bytes.LastIndexByte(text[:len(text)-1], '\n')
	for i := 0; i < last; i += 3 {
		hurt := bytes.Clone(text)
		hurt[i] ^= 4
		require.NoError(t, os.WriteFile(path, hurt, 0o600))
		_, err := journal.Open(dir, table, paths)
		require.True(t, lake.Is(err, lake.Corrupt), "byte %d: %v", i, err)
		require.ErrorContains(t, err, path)
	}
	require.NoError(t, os.WriteFile(path, text, 0o666))
	require.NoError(t, os.Chmod(path, 0o666))
	_, err := journal.Open(dir, table, paths)
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), path))
	_, err = journal.Open(dir, table, paths)
	require.Error(t, err)
	require.NoFileExists(t, filepath.Join(dir, "elsewhere"))
}

func TestResetBeginsAnew(t *testing.T) {
	dir := t.TempDir()
	written(t, dir)
	j := open(t, dir)
	require.True(t, j.Started())
	require.NoError(t, j.Reset())
	require.False(t, j.Started())
	require.Nil(t, j.Job())
	require.NoError(t, j.Begin(job()))
	require.NoError(t, j.Close())
	j = open(t, dir)
	require.Zero(t, j.File(0).Rows)
	require.NoError(t, j.Close())
}

// TestAnyCutLeavesAPrefix: whatever was written and wherever it is cut, what
// is read is a state the ingestion was in.
func TestAnyCutLeavesAPrefix(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(rt, err)
		j := open(t, dir)
		require.NoError(rt, j.Begin(job()))
		size := func() int64 {
			info, err := os.Stat(j.Path())
			require.NoError(rt, err)
			return info.Size()
		}
		type moment struct {
			at   int64
			seen journal.Progress
		}
		moments := []moment{{size(), j.File(0)}}
		for range rapid.IntRange(1, 12).Draw(rt, "appends") {
			p := j.File(0)
			rows := rapid.Int64Range(1, 10).Draw(rt, "rows")
			require.NoError(rt, j.Sending(chunk(0, p.Rows, rows, p.Rows, rows)))
			moments = append(moments, moment{size(), j.File(0)})
			if rapid.Bool().Draw(rt, "acknowledged") {
				require.NoError(rt, j.Acknowledged(1))
			} else {
				require.NoError(rt, j.Refused())
			}
			moments = append(moments, moment{size(), j.File(0)})
		}
		require.NoError(rt, j.Close())
		cut := rapid.Int64Range(moments[0].at, moments[len(moments)-1].at).Draw(rt, "cut")
		require.NoError(rt, os.Truncate(j.Path(), cut))
		want := moments[0]
		for _, m := range moments {
			if m.at <= cut {
				want = m
			}
		}
		j = open(t, dir)
		defer j.Close()
		require.Equal(rt, want.seen, j.File(0))
	})
}

func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	path, text := written(f, dir)
	f.Add(string(text))
	f.Add("00000000 {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		j, err := journal.Open(dir, table, paths)
		if err != nil {
			require.Contains(t, []lake.Kind{lake.Corrupt, lake.Unsupported}, lake.KindOf(err), "%v", err)
			return
		}
		require.NoError(t, j.Close())
	})
}

func TestNamesOfJournalsAreReadable(t *testing.T) {
	j := open(t, t.TempDir())
	defer j.Close()
	require.True(t, strings.HasPrefix(filepath.Base(j.Path()), "robots.episodes-"), j.Path())
}
