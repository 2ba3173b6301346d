// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var metricName = regexp.MustCompile(`\blake_[a-z0-9_]+`)

// TestDocumentationAsksForMetricsThatExist: an alarm on a series that nobody
// exports never rings.
func TestDocumentationAsksForMetricsThatExist(t *testing.T) {
	known, seen := exported(t), 0
	for _, pages := range []string{"docs/operations.md", "docs/runbooks", "deploy"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, pages), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, name := range metricName.FindAllString(string(text), -1) {
				seen++
				_, plain := known.series[name]
				_, histogram := known.series[name+"_count"] // which texts call by its name
				require.True(t, plain || histogram, "%s: there is no metric %s", path, name)
			}
			return err
		}))
	}
	require.Greater(t, seen, 20)
}
