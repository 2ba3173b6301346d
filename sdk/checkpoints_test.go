// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sdk_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/sdk"
	"github.com/lakeplane/lake/sdk/sdktest"
)

// files are the names in a directory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// pendings collects what a client finds.
func pendings(t *testing.T, c *sdk.Client) (found []*sdk.PendingAppend, broken []*sdk.CheckpointError) {
	t.Helper()
	for p, err := range c.PendingAppends(t.Context()) {
		var at *sdk.CheckpointError
		if errors.As(err, &at) {
			require.Nil(t, p)
			broken = append(broken, at)
			continue
		}
		require.NoError(t, err)
		found = append(found, p)
	}
	return found, broken
}

func TestCheckpointIsThereFromBeforeTheFirstCallUntilTheOutcome(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "checkpoints")
	s, c := withTable(t, sdk.WithCheckpoints(dir))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	s.Plan(sdktest.Silence)
	var wg sync.WaitGroup
	wg.Go(func() { _, err = c.Append(t.Context(), episodes, rows(2, "a")) })
	require.Eventually(t, func() bool { return s.Rows(episodes) == 2 }, 10*time.Second, time.Millisecond)
	names := files(t, dir)
	require.Len(t, names, 1)
	require.True(t, strings.HasPrefix(names[0], s.Attempts()[0].Operation.String()), names[0])
	info, err = os.Stat(filepath.Join(dir, names[0]))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	found, broken := pendings(t, c)
	require.Empty(t, found, "it is being sent")
	require.Empty(t, broken)

	// Another process resumes the same operation meanwhile.
	other := another(t, s, sdk.WithCheckpoints(dir))
	found, _ = pendings(t, other)
	require.Len(t, found, 1)
	got, err := found[0].Resume(t.Context())
	require.NoError(t, err)
	require.True(t, got.Replayed)
	require.Empty(t, files(t, dir))

	require.NoError(t, c.Close())
	wg.Wait()
	var pending *sdk.PendingAppend
	require.ErrorAs(t, err, &pending)
	require.Equal(t, int64(2), s.Rows(episodes))
}

func TestAppendLeftBehindIsFoundWholeAndResumed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	s, c := withTable(t, sdk.WithCheckpoints(dir), sdk.WithRetryWindow(0))
	s.Plan(sdktest.Refuse, sdktest.LoseAck)
	var left [2]*sdk.PendingAppend
	for i := range left {
		_, err := c.Append(t.Context(), episodes, rows(i+1, strings.Repeat("long", i*1_000_000)))
		require.ErrorAs(t, err, &left[i])
	}
	require.NoError(t, c.Close())

	later := another(t, s, sdk.WithCheckpoints(dir))
	found, broken := pendings(t, later)
	require.Empty(t, broken)
	require.Len(t, found, 2)
	for i, p := range found { // oldest first
		require.Equal(t, left[i].Operation(), p.Operation())
		require.Equal(t, left[i].Digest(), p.Digest())
		require.Equal(t, left[i].Incarnation(), p.Incarnation())
		require.Equal(t, left[i].Rows(), p.Rows())
		require.Equal(t, left[i].Bytes(), p.Bytes())
		require.Equal(t, episodes, p.Table())
		require.False(t, p.Incarnation().IsZero())
		got, err := p.Resume(t.Context())
		require.NoError(t, err)
		require.Equal(t, i == 1, got.Replayed)
	}
	require.Equal(t, int64(3), s.Rows(episodes))
	require.Empty(t, files(t, dir))
	_, err := found[0].Resume(t.Context())
	require.NoError(t, err, "again is harmless")
	require.Empty(t, files(t, dir))
}

func TestKnownRefusalLeavesNoCheckpointAndALaterOneDoes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	s, c := withTable(t, sdk.WithCheckpoints(dir))
	s.Plan(sdktest.Forget)
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	require.True(t, lake.Is(err, lake.AlreadyExists), "%v", err)
	require.Empty(t, files(t, dir))
	_, err = c.Append(t.Context(), lake.TableName{Namespace: "no", Name: "table"}, rows(1, "a"))
	require.True(t, lake.Is(err, lake.NotFound), "%v", err)
	require.Empty(t, files(t, dir))

	s.Plan(sdktest.LoseAck, sdktest.Forget)
	_, err = c.Append(t.Context(), episodes, rows(1, "a"))
	var pending *sdk.PendingAppend
	require.ErrorAs(t, err, &pending)
	require.Len(t, files(t, dir), 1, "an attempt may have been applied")
	require.NoError(t, pending.Discard())
	require.NoError(t, pending.Discard(), "twice is harmless")
	require.Empty(t, files(t, dir))
}

func TestCheckpointedAppendsArePinned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	s, _ := withTable(t)
	c := another(t, s, sdk.WithCheckpoints(dir), sdk.WithRetryWindow(0))
	s.Plan(sdktest.Refuse)
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	var pending *sdk.PendingAppend
	require.ErrorAs(t, err, &pending)
	require.Equal(t, 1, s.Lookups(), "the client did not know the table")
	recreate(t, another(t, s), schema)
	_, err = pending.Resume(t.Context())
	require.ErrorAs(t, err, &pending)
	require.ErrorContains(t, err, "is not incarnation")
	require.Zero(t, s.Rows(episodes), "nothing in the other table")
	require.Len(t, files(t, dir), 1)
}

func TestOperationIsKeptWithOnePayloadOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	s, c := withTable(t, sdk.WithCheckpoints(dir), sdk.WithRetryWindow(0))
	s.Plan(sdktest.Refuse)
	key := lake.NewID()
	send := func(n int) error {
		p, err := c.PrepareAppend(episodes, rows(n, "a"))
		require.NoError(t, err)
		_, err = p.WithOperation(key).Resume(t.Context())
		return err
	}
	require.True(t, lake.Is(send(1), lake.Undetermined))
	err := send(2)
	require.True(t, lake.Is(err, lake.AlreadyExists), "%v", err)
	require.ErrorContains(t, err, "kept with another payload")
	require.Len(t, s.Attempts(), 1)
	require.NoError(t, send(1))
	require.Empty(t, files(t, dir))
}

func TestOtherFilesAreReportedAndStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	s, c := withTable(t, sdk.WithCheckpoints(dir), sdk.WithRetryWindow(0))
	s.Plan(sdktest.Refuse, sdktest.Refuse)
	for range 2 {
		_, err := c.Append(t.Context(), episodes, rows(1, "a"))
		require.Error(t, err)
	}
	good, suffix := files(t, dir)[0], ".lakeappend"
	whole, err := os.ReadFile(filepath.Join(dir, good))
	require.NoError(t, err)
	name := func(id lake.ID) string { return id.String() + good[36:45] + suffix }
	write := func(name string, data []byte, mode os.FileMode) string {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, mode))
		require.NoError(t, os.Chmod(filepath.Join(dir, name), mode))
		return filepath.Join(dir, name)
	}
	link := func(name, to string) string {
		t.Helper()
		require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
		return filepath.Join(dir, name)
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, whole, 0o600))
	huge := write(name(lake.NewID()), whole, 0o600)
	require.NoError(t, os.Truncate(huge, 1<<30))
	want := map[string]lake.Kind{
		huge:                                                   lake.Corrupt,
		write("notes.txt", nil, 0o600):                         lake.Invalid,
		filepath.Join(dir, "folder"):                           lake.Invalid,
		write(name(lake.NewID()), nil, 0o600):                  lake.Corrupt,
		write(name(lake.NewID()), whole, 0o600):                lake.Corrupt, // not its own name
		write(name(lake.NewID()), whole[:len(whole)-1], 0o600): lake.Corrupt,
		write(name(lake.NewID()), whole, 0o644):                lake.Invalid,
		link(name(lake.NewID()), outside):                      lake.Invalid,
		link(name(lake.NewID()), "nowhere"):                    lake.Invalid,
		write(name(lake.NewID()), []byte(string(whole[:8])+"\x00\x00\x00\x09"), 0o600): lake.Unsupported,
		write(name(lake.NewIDAt(time.Now().Add(-8*24*time.Hour))), whole[:20], 0o600):  lake.Corrupt,
	}
	fresh := write("."+good+".0011223344556677.tmp", whole[:50], 0o600)
	stale := write("."+good+".7766554433221100.tmp", whole[:50], 0o600)
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(stale, old, old))

	found, broken := pendings(t, c)
	require.Len(t, found, 2, "the good ones are found between the others")
	got := map[string]lake.Kind{}
	for _, b := range broken {
		got[b.Path] = lake.KindOf(b)
		require.Contains(t, b.Error(), b.Path)
	}
	require.Equal(t, want, got)
	require.True(t, slices.ContainsFunc(broken, func(b *sdk.CheckpointError) bool {
		return b.Path == huge && strings.Contains(b.Error(), "no checkpoint has more than")
	}), "it is not read to find that out")
	for path := range want {
		_, err := os.Lstat(path)
		require.NoError(t, err, "it stays")
	}
	require.FileExists(t, fresh, "somebody may be writing it")
	require.NoFileExists(t, stale)
}

func TestCheckpointOlderThanTheServersMemoryIsNotResumed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	s, c := withTable(t, sdk.WithCheckpoints(dir), sdk.WithRetryWindow(0))
	s.Plan(sdktest.Refuse)
	p, err := c.PrepareAppend(episodes, rows(1, "a"))
	require.NoError(t, err)
	_, err = p.WithOperation(lake.NewIDAt(time.Now().Add(-lake.OperationRetention - time.Hour))).Resume(t.Context())
	require.Error(t, err)
	found, broken := pendings(t, c)
	require.Empty(t, found)
	require.Len(t, broken, 1)
	require.True(t, lake.Is(broken[0], lake.Precondition), "%v", broken[0])
	require.ErrorContains(t, broken[0], "look for its 1 rows in table robots.episodes")
}

func TestCheckpointDirectoryIsPrivateOrRefused(t *testing.T) {
	s := sdktest.New(t)
	open := t.TempDir()
	require.NoError(t, os.Chmod(open, 0o755))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	private := t.TempDir()
	require.NoError(t, os.Chmod(private, 0o700))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(private, link))
	for dir, want := range map[string]string{open: "others may use it", file: "not a directory", link: "symbolic links are not followed"} {
		_, err := sdk.Connect(t.Context(), s.Addr(), sdk.WithCheckpoints(dir))
		require.True(t, lake.Is(err, lake.Invalid), "%v", err)
		require.ErrorContains(t, err, want)
	}
	c := another(t, s, sdk.WithCheckpoints(private))
	found, broken := pendings(t, c)
	require.Empty(t, found)
	require.Empty(t, broken)
	for _, err := range another(t, s).PendingAppends(t.Context()) {
		require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	}
}

func TestNothingIsSentWithoutItsCheckpoint(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	s, c := withTable(t, sdk.WithCheckpoints(dir))
	require.NoError(t, os.RemoveAll(dir))
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	require.Error(t, err)
	require.ErrorContains(t, err, "checkpoint "+dir)
	var typed *lake.Error
	require.ErrorAs(t, err, &typed)
	require.Empty(t, s.Attempts())
}

// TestDiscoveryIsBounded: of a directory with too many files so many are looked
// at, and the caller is told.
func TestDiscoveryIsBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	s, c := withTable(t, sdk.WithCheckpoints(dir), sdk.WithRetryWindow(0))
	s.Plan(sdktest.Refuse)
	_, err := c.Append(t.Context(), episodes, rows(1, "a"))
	require.Error(t, err)
	for i := range 9 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "note"+strconv.Itoa(i)), nil, 0o600))
	}
	look := func() (files int, last error) {
		for p, err := range c.PendingAppends(t.Context()) {
			var at *sdk.CheckpointError
			if p != nil || errors.As(err, &at) {
				files++
			} else {
				last = err
			}
		}
		return files, last
	}
	c.SetMaxCheckpoints(10)
	files, err := look()
	require.NoError(t, err)
	require.Equal(t, 10, files)
	c.SetMaxCheckpoints(9)
	files, err = look()
	require.Equal(t, 9, files)
	require.True(t, lake.Is(err, lake.Exhausted), "%v", err)
	require.ErrorContains(t, err, "more than 9 files")
}

// TestACheckpointThatWasThereLeavesTheOutcomeOpen: a process sends an append
// under its own key that an earlier one sent under it. That it is refused now does
// not say that it was not applied then.
func TestACheckpointThatWasThereLeavesTheOutcomeOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	s, c := withTable(t, sdk.WithCheckpoints(dir), sdk.WithRetryWindow(0))
	key := lake.NewID()
	send := func(c *sdk.Client) error {
		p, err := c.PrepareAppend(episodes, rows(1, "a"))
		require.NoError(t, err)
		_, err = p.WithOperation(key).Resume(t.Context())
		return err
	}
	s.Plan(sdktest.LoseAck)
	require.Error(t, send(c))
	require.NoError(t, c.Close())
	later := another(t, s, sdk.WithCheckpoints(dir), sdk.WithRetryWindow(0))
	s.Plan(sdktest.Forget)
	var pending *sdk.PendingAppend
	require.ErrorAs(t, send(later), &pending)
	require.Len(t, files(t, dir), 1, "it stays")
	require.NoError(t, send(later))
	require.Equal(t, int64(1), s.Rows(episodes))
	require.Empty(t, files(t, dir))
}

// held lets an append wait after its first attempt.
type held struct {
	recorder
	tried, goOn chan struct{}
}

func (h *held) Attempt(e sdk.AttemptEvent) {
	h.recorder.Attempt(e)
	if lake.Is(e.Err, lake.Exhausted) {
		close(h.tried)
		<-h.goOn
	}
}

// TestARefusalKeepsTheCheckpointOfOthers: two calls send one operation. What one
// of them is refused with says nothing of what the other has sent.
func TestARefusalKeepsTheCheckpointOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkpoints")
	o := &held{tried: make(chan struct{}), goOn: make(chan struct{})}
	s, c := withTable(t, sdk.WithCheckpoints(dir), sdk.WithObserver(o))
	p, err := c.PrepareAppend(episodes, rows(1, "a"))
	require.NoError(t, err)
	s.Plan(sdktest.Busy, sdktest.Silence, sdktest.Forget)
	first, second := make(chan error, 1), make(chan error, 1)
	resume := func(ctx context.Context, to chan error) { _, err := p.Resume(ctx); to <- err }
	go resume(t.Context(), first)
	<-o.tried
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	go resume(ctx, second)
	require.Eventually(t, func() bool { return s.Rows(episodes) == 1 }, 10*time.Second, time.Millisecond, "the second was applied, and nobody says so")
	close(o.goOn)
	err = <-first
	require.True(t, lake.Is(err, lake.AlreadyExists), "%v", err)
	require.Len(t, files(t, dir), 1)
	giveUp()
	var pending *sdk.PendingAppend
	require.ErrorAs(t, <-second, &pending)
	require.Len(t, files(t, dir), 1)
}
