// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lance/lancepb"
)

var update = flag.Bool("update", false, "write the golden manifests anew")

// TestGoldenManifests holds the bytes of manifests still. A change here changes
// what is stored: think of the readers before running with -update.
func TestGoldenManifests(t *testing.T) {
	one := mustManifest(t)
	two, err := one.Append([]*lancepb.DataFragment{testFragment(10, "a.lance"), testFragment(20, "b.lance")}, testCommit("k", "v"))
	require.NoError(t, err)
	for name, m := range map[string]*Manifest{"create.manifest": one, "append.manifest": two} {
		path := filepath.Join("testdata", name)
		raw := mustEncode(t, m)
		if *update {
			require.NoError(t, os.WriteFile(path, raw, 0o666))
		}
		golden, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, golden, raw, "%s", name)
		require.Equal(t, golden, mustEncode(t, mustParse(t, golden)), "%s, read and written again", name)
	}
}
