// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeProgram compiles the program in the README and runs it against a
// real server.
func TestReadmeProgram(t *testing.T) {
	_, rest, ok := strings.Cut(readFile(t, "../../README.md"), "```go\n")
	require.True(t, ok, "the README shows a Go program")
	program, after, _ := strings.Cut(rest, "```")
	path := filepath.Join(t.TempDir(), "main.go")
	writeFile(t, path, program)

	d := startDev(t, t.TempDir(), "--no-temporal")
	cmd := exec.Command("go", "run", path)
	cmd.Env = append(os.Environ(), "LAKE_ADDR="+d.state.Query)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		require.Contains(t, after, strings.TrimSpace(line), "what the README says it prints")
	}
	require.Equal(t, 2, strings.Count(string(out), "\n"))
}
