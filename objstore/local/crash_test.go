// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package local

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/objstore"
)

// crashRoot in the environment makes the test binary the process that is
// killed.
const crashRoot = "LAKE_OBJSTORE_CRASH_ROOT"

// TestKilledWriter kills a process that puts and deletes objects, many times,
// and checks that every acknowledged change is there, that no other object is
// damaged, and that nothing else is left.
func TestKilledWriter(t *testing.T) {
	if root := os.Getenv(crashRoot); root != "" {
		crashingWriter(t, root)
		return
	}
	root := t.TempDir()
	loops := 20
	acked := map[string]bool{} // key → exists
	for loop := range loops {
		killWriter(t, root, loop, acked)
		checkAfterCrash(t, root, acked)
	}
	require.NotEmpty(t, acked)
}

// crashingWriter never returns. It reports each acknowledged change on
// standard output, after the fact.
func crashingWriter(t *testing.T, root string) {
	s, err := Open(root)
	require.NoError(t, err)
	run := os.Getenv(crashRoot + "_RUN")
	if strings.HasSuffix(run, "1") { // some leave scratch files behind
		s.scratch.unnamed = false
	}
	var out sync.Mutex
	report := func(what string, keys ...string) {
		out.Lock()
		defer out.Unlock()
		fmt.Printf("%s %s\n", what, strings.Join(keys, " "))
	}
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("t/%s/%d/%d/%d", run, w, i%3, i)
				store := s.Put
				if i%2 == 1 {
					store = s.Stage
				}
				if err := store(t.Context(), key, contentOf(key)); err != nil {
					t.Error(err)
					return
				}
				report("put", key)
				var gone []string
				switch {
				case i%4 == 3:
					gone = []string{key}
				case i%10 == 8: // some are gone already
					for back := range 7 {
						gone = append(gone, fmt.Sprintf("t/%s/%d/%d/%d", run, w, (i-back)%3, i-back))
					}
				default:
					continue
				}
				report("deleting", gone...)
				if n, err := s.DeleteAll(t.Context(), gone); err != nil || n != len(gone) {
					t.Error(n, err)
					return
				}
				report("deleted", gone...)
			}
		})
	}
	all.Wait()
}

func contentOf(key string) []byte { return bytes.Repeat([]byte(key+"\n"), 300) }

func killWriter(t *testing.T, root string, loop int, acked map[string]bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
	cmd.Env = append(os.Environ(), crashRoot+"="+root, fmt.Sprintf("%s_RUN=%d", crashRoot, loop))
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan(), "the writer began")
	timer := time.AfterFunc(time.Duration(rand.IntN(60))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	for ok := true; ok; ok = lines.Scan() {
		what, keys, _ := strings.Cut(lines.Text(), " ")
		for _, key := range strings.Fields(keys) {
			switch what {
			case "put":
				acked[key] = true
			case "deleting":
				delete(acked, key) // either way is right until it is acknowledged
			case "deleted":
				acked[key] = false
			}
		}
	}
	_ = cmd.Wait() // killed
	require.False(t, cmd.ProcessState.Success(), "the writer ended by itself")
	require.Equal(t, unix.SIGKILL.String(), signalOf(cmd).String())
}

func checkAfterCrash(t *testing.T, root string, acked map[string]bool) {
	t.Helper()
	s, err := Open(root)
	require.NoError(t, err)
	defer s.Close()
	require.Empty(t, scratchFiles(t, root), "scratch files of the dead are swept")
	for key, exists := range acked {
		if !exists {
			_, err := s.Open(t.Context(), key)
			require.ErrorIs(t, err, objstore.ErrNotFound, "deleted %s", key)
		}
	}
	found := map[string]bool{}
	for after, more := "", true; more; {
		var infos []objstore.Info
		infos, more, err = s.List(t.Context(), "", after, objstore.MaxPage)
		require.NoError(t, err)
		for _, info := range infos {
			after = info.Key
			found[info.Key] = true
			data, err := objstore.ReadAll(t.Context(), s, info.Key, 1<<20)
			require.NoError(t, err)
			require.Equal(t, contentOf(info.Key), data, info.Key)
		}
	}
	for key, exists := range acked {
		require.True(t, !exists || found[key], "acknowledged %s is lost", key)
	}
}

func signalOf(cmd *exec.Cmd) os.Signal {
	if status, ok := cmd.ProcessState.Sys().(interface{ Signal() unix.Signal }); ok {
		return status.Signal()
	}
	return unix.Signal(0)
}
