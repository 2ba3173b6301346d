// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build linux

package robustness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lakeplane/lake/lake"
)

// TestFullDisk appends while a volume is full, the one of the objects or the one
// of the embedded metastore. Appends are refused with the reason, none that was
// acknowledged is lost, and once there is room again appends go on: in the same
// process, unless the disk was full before the metastore had looked and its
// log broke off, after which the process says that it must be started again.
func TestFullDisk(t *testing.T) {
	for volume, reason := range map[string]string{"objects": "no space left on device", "meta": "bytes free under|no space left on device"} {
		t.Run("of "+volume, func(t *testing.T) {
			t.Parallel()
			var full string
			c := newCluster(t, onPebble, func(cfg *memberConfig) {
				full = filepath.Join(cfg.Dir, volume)
				mountSmall(t, full)
			})
			c.startAll()
			table := c.create("t")
			write := func() error {
				o := newOperation(t, table, 2)
				c.ledger.open(o)
				ctx, cancel := context.WithTimeout(t.Context(), attemptTimeout)
				defer cancel()
				result, err := c.leader().put(ctx, o)
				if err == nil {
					c.ledger.ack(o, result)
				}
				return err
			}
			for range 10 {
				require.NoError(t, write())
			}
			ballast := filepath.Join(full, "ballast")
			fill(t, ballast)
			var said []string
			for end := time.Now().Add(2 * time.Second); time.Now().Before(end) || len(said) == 0; {
				if err := write(); err != nil {
					said = append(said, err.Error())
					require.Contains(t, []lake.Kind{lake.Exhausted, lake.Unavailable, lake.Undetermined}, lake.KindOf(err), "%v", err)
					fill(t, ballast) // what a failed append gave back
				}
			}
			t.Logf("%d refusals", len(said))
			require.Regexp(t, reason, strings.Join(said, "\n"))
			require.NotEmpty(t, c.running(), "the process lives on")
			require.NoError(t, os.Remove(ballast))
			if strings.Contains(said[len(said)-1], "restart the process") {
				require.Equal(t, "meta", volume)
				for _, p := range c.running() {
					p.kill()
				}
				c.revive()
			}
			require.Eventually(t, func() bool { return write() == nil }, patience, 50*time.Millisecond)
			c.audit([]lake.TableName{table})
		})
	}
}

// mountSmall makes a directory a volume of its own, with room for little.
func mountSmall(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	if err := unix.Mount("lake-test", dir, "tmpfs", 0, "size=200m"); err != nil {
		t.Skipf("no volume of its own can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

// fill takes what room there is.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer f.Close()
	for size := 1 << 20; size > 0; {
		_, err := f.Write(make([]byte, size))
		if errors.Is(err, unix.ENOSPC) {
			size /= 8
		} else {
			require.NoError(t, err)
		}
	}
}
