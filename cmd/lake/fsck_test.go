// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What names nothing is refused, not read as everything.
func TestFsckWantsNames(t *testing.T) {
	for _, name := range []string{"", "a b", "robots/episodes", "robots."} {
		r := alone(t, "fsck", name, "--metastore", "lake://127.0.0.1:1", "--objects", "file://"+t.TempDir())
		require.Equal(t, exitUsage, r.code, r.stderr)
	}
}

// A mistyped directory is told, and not made.
func TestFsckWantsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	full, none := filepath.Join(dir, "full"), filepath.Join(dir, "none")
	require.NoError(t, os.MkdirAll(filepath.Join(full, "robots"), 0o700))
	for _, c := range []struct{ metastore, objects, says string }{
		{"pebble://" + none, "file://" + full, "metastore: there is nothing in the directory " + none},
		{"pebble://" + full, "file://" + none, "objects: there is nothing in the directory " + none},
	} {
		for _, command := range [][]string{{"fsck"}, {"table", "check", "robots.t"}} {
			r := alone(t, append(command, "--metastore", c.metastore, "--objects", c.objects)...)
			require.NotZero(t, r.code)
			require.Contains(t, r.stderr, c.says)
			require.NoDirExists(t, none)
			r = alone(t, append(command, "--addr", "127.0.0.1:1")...)
			require.Equal(t, exitUsage, r.code)
			require.Contains(t, r.stderr, "give --metastore")
		}
	}
}
