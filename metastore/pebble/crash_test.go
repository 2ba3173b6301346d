// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pebble

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/metastore"
)

// crashDir in the environment makes the test binary the process that is
// killed.
const crashDir = "LAKE_METASTORE_CRASH_DIR"

// TestKilledProcess kills a process in the middle of commits, many times, and
// checks that every acknowledged commit is there, whole.
func TestKilledProcess(t *testing.T) {
	if dir := os.Getenv(crashDir); dir != "" {
		crashingProcess(t, dir)
		return
	}
	dir := t.TempDir()
	acked := 0
	for loop := range 20 {
		acked += killAndCheck(t, dir, loop)
	}
	require.Positive(t, acked)
}

const crashWriters = 8

// crashingProcess never returns. Each writer counts up in three records that
// always change together, and reports each count on standard output after it
// was acknowledged.
func crashingProcess(t *testing.T, dir string) {
	s, err := Open(dir, Options{})
	require.NoError(t, err)
	var all sync.WaitGroup
	for w := range crashWriters {
		all.Go(func() {
			n, err := countIn(t, s, w)
			for ; err == nil; n++ {
				err = s.Commit(t.Context(), metastore.Txn{Ops: countUp(w, n), Token: fmt.Sprint(w, "-", n)})
				fmt.Printf("%d %d\n", w, n+1)
			}
			t.Error(err)
		})
	}
	all.Wait()
}

// countUp moves a writer's records from n to n+1.
func countUp(w, n int) []metastore.Op {
	next := []byte(strconv.Itoa(n + 1))
	old := []byte(strconv.Itoa(n))
	a, b, log := fmt.Sprintf("w/%d/a", w), fmt.Sprintf("w/%d/b", w), fmt.Sprintf("log/%d/%06d", w, n+1)
	if n == 0 {
		return []metastore.Op{metastore.Create(a, next), metastore.Create(b, next), metastore.Create(log, next)}
	}
	return []metastore.Op{metastore.Update(a, old, next), metastore.Update(b, old, next), metastore.Create(log, next)}
}

// countIn returns a writer's count after checking that its records agree.
func countIn(t *testing.T, s metastore.Store, w int) (int, error) {
	n := 0
	rec, err := s.Get(t.Context(), fmt.Sprintf("w/%d/a", w))
	if err == nil {
		n, err = strconv.Atoi(string(rec.Value))
	} else if errors.Is(err, metastore.ErrNotFound) {
		err = nil
	}
	if err != nil || n == 0 {
		return n, err
	}
	if rec, err = s.Get(t.Context(), fmt.Sprintf("w/%d/b", w)); err != nil {
		return n, fmt.Errorf("writer %d: a is %d, b: %w", w, n, err)
	}
	if string(rec.Value) != strconv.Itoa(n) {
		return n, fmt.Errorf("writer %d: a is %d, b is %q", w, n, rec.Value)
	}
	page, err := s.Scan(t.Context(), fmt.Sprintf("log/%d/", w), "", metastore.MaxPage)
	if err != nil {
		return n, fmt.Errorf("writer %d: a is %d, log: %w", w, n, err)
	}
	if page.Next != "" || len(page.Records) != n {
		return n, fmt.Errorf("writer %d: a is %d, log has %d, next %q", w, n, len(page.Records), page.Next)
	}
	return n, nil
}

func killAndCheck(t *testing.T, dir string, loop int) (acked int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan(), "the process began")
	timer := time.AfterFunc(time.Duration(rand.IntN(50))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()

	counts := map[int]int{}
	for ok := true; ok; ok = lines.Scan() {
		w, n, whole := strings.Cut(lines.Text(), " ")
		writer, err1 := strconv.Atoi(w)
		count, err2 := strconv.Atoi(n)
		if whole && err1 == nil && err2 == nil { // the kill may cut the last line
			counts[writer] = max(counts[writer], count)
			acked++
		}
	}
	require.EqualError(t, cmd.Wait(), "signal: killed")

	s, err := Open(dir, Options{})
	require.NoError(t, err)
	defer s.Close()
	for w := range crashWriters {
		n, err := countIn(t, s, w)
		require.NoError(t, err, "loop %d", loop)
		require.GreaterOrEqual(t, n, counts[w], "loop %d: writer %d lost an acknowledged commit", loop, w)
		require.NoError(t, retryLast(t, s, w, n), "the token survived")
	}
	return acked
}

// retryLast repeats a writer's last commit, whose acknowledgement may be lost.
func retryLast(t *testing.T, s metastore.Store, w, n int) error {
	if n == 0 {
		return nil
	}
	return s.Commit(t.Context(), metastore.Txn{Ops: countUp(w, n-1), Token: fmt.Sprint(w, "-", n-1)})
}

// TestPowerLoss crashes the machine: everything that was not synced may be
// lost. Whatever anybody was told before must still be true: commits that were
// acknowledged, values and conflicts that were observed.
func TestPowerLoss(t *testing.T) {
	for seed := range uint64(40) {
		powerLoss(t, seed)
	}
}

func powerLoss(t *testing.T, seed uint64) {
	disk := vfs.NewCrashableMem()
	opts := Options{fs: slowSync{disk}, MinFreeBytes: -1}
	s, err := Open("store", opts)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(seed, 1))

	var told sync.Map // writer → the highest count that anybody was told
	stop := make(chan struct{})
	var all sync.WaitGroup
	for w := range 4 {
		told.Store(w, 0)
		all.Go(func() { writeUntil(t, s, w, stop, &told) })
		all.Go(func() { observeUntil(t, s, w, stop, &told) })
	}
	time.Sleep(time.Duration(rng.IntN(8000)) * time.Microsecond)

	promised := map[any]int{}
	told.Range(func(w, n any) bool { promised[w] = n.(int); return true })
	crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(seed%3) * 50, RNG: rng})
	close(stop)
	all.Wait()
	require.NoError(t, s.Close())

	opts.fs = crashed
	s, err = Open("store", opts)
	require.NoError(t, err, "seed %d", seed)
	defer s.Close()
	for w, atLeast := range promised {
		n, err := countIn(t, s, w.(int))
		require.NoError(t, err, "seed %d", seed)
		require.GreaterOrEqual(t, n, atLeast, "seed %d: writer %d: somebody was told more than survived", seed, w)
	}
}

func writeUntil(t *testing.T, s *Store, w int, stop <-chan struct{}, told *sync.Map) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		if err := s.Commit(t.Context(), metastore.Txn{Ops: countUp(w, n)}); err != nil {
			t.Error(err)
			return
		}
		raise(told, w, n+1)
	}
}

// observeUntil learns the count in every way there is.
func observeUntil(t *testing.T, s *Store, w int, stop <-chan struct{}, told *sync.Map) {
	key := fmt.Sprintf("w/%d/a", w)
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		var seen []byte
		switch i % 4 {
		case 0:
			rec, _ := s.Get(t.Context(), key)
			seen = rec.Value
		case 1:
			page, _ := s.Scan(t.Context(), key, "", 1)
			if len(page.Records) == 1 {
				seen = page.Records[0].Value
			}
		case 2:
			found, _ := s.GetAll(t.Context(), []string{key})
			seen = found[key].Value
		case 3:
			var conflict *metastore.ConflictError
			if errors.As(s.Commit(t.Context(), metastore.Txn{Ops: []metastore.Op{metastore.Guard(key, []byte("x"))}}), &conflict) {
				seen = conflict.Current
			}
		}
		if n, err := strconv.Atoi(string(seen)); err == nil {
			raise(told, w, n)
		}
	}
}

func raise(told *sync.Map, w, n int) {
	for {
		old, _ := told.Load(w)
		if old.(int) >= n || told.CompareAndSwap(w, old, n) {
			return
		}
	}
}

// slowSync gives a crash the time to fall between a write and its sync.
type slowSync struct{ vfs.FS }

func (fs slowSync) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := fs.FS.Create(name, category)
	return slowFile{file}, err
}

func (fs slowSync) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := fs.FS.ReuseForWrite(oldname, newname, category)
	return slowFile{file}, err
}

type slowFile struct{ vfs.File }

func (f slowFile) Sync() error {
	time.Sleep(300 * time.Microsecond)
	return f.File.Sync()
}

func (f slowFile) SyncData() error {
	time.Sleep(300 * time.Microsecond)
	return f.File.SyncData()
}
