// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/ingest"
	"github.com/lakeplane/lake/lake"
)

func TestIdentityNoticesChanges(t *testing.T) {
	for name, size := range map[string]int{"small": 5000, "large": 9<<20 + 77} {
		t.Run(name, func(t *testing.T) {
			data := bytes.Repeat([]byte("a,b\n"), size/4+1)[:size]
			path := put(t, "x.csv", data)
			before, err := ingest.Identify(path)
			require.NoError(t, err)
			require.True(t, filepath.IsAbs(before.Path))
			look := func() string {
				t.Helper()
				now, err := ingest.Identify(path)
				require.NoError(t, err)
				return before.Changed(now)
			}
			require.Empty(t, look())
			for _, at := range []int{0, size / 2, size - 1} { // at the ends and, for a large one, where a block is
				if size > 8<<20 && at == size/2 {
					at = (size - 64<<10) / 127 * 64
				}
				hurt := bytes.Clone(data)
				hurt[at] ^= 1
				require.NoError(t, os.WriteFile(path, hurt, 0o600))
				require.NoError(t, os.Chtimes(path, before.ModTime, before.ModTime))
				require.Contains(t, look(), "its content is another", "byte %d", at)
			}
			require.NoError(t, os.WriteFile(path, data, 0o600))
			require.NoError(t, os.Chtimes(path, time.Now(), before.ModTime.Add(time.Second)))
			require.Contains(t, look(), "it was modified at")
			require.NoError(t, os.WriteFile(path, append(data, '\n'), 0o600))
			require.Contains(t, look(), "bytes and has")
		})
	}
	empty, err := ingest.Identify(put(t, "empty", nil))
	require.NoError(t, err)
	require.Zero(t, empty.Size)
	_, err = ingest.Identify(filepath.Join(t.TempDir(), "none"))
	require.True(t, lake.Is(err, lake.NotFound), "%v", err)
	_, err = ingest.Identify(t.TempDir())
	require.True(t, lake.Is(err, lake.Invalid), "%v", err)
}

func TestFileThatGrowsWhileItIsReadIsNoticed(t *testing.T) {
	path := put(t, "x.csv", []byte("a\n1\n"))
	id, err := ingest.Identify(path)
	require.NoError(t, err)
	s, err := ingest.Open(t.Context(), path, ingest.Options{})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Check(id))
	require.NoError(t, os.WriteFile(path, []byte("a\n1\n2\n"), 0o600))
	err = s.Check(id)
	require.True(t, lake.Is(err, lake.Precondition), "%v", err)
	require.ErrorContains(t, err, "file x.csv: it changed while it was read: it had 4 bytes and has 6")
}
