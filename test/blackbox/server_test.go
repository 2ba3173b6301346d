// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package blackbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server is a running `lake dev` without Temporal: reads and appends never
// need it.
type server struct {
	bin     string
	query   string
	metrics string // URL of the page
}

var shared *server

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	bin := os.Getenv("LAKE_BIN")
	if bin == "" {
		fmt.Println("SKIP blackbox: LAKE_BIN does not name a lake binary (use make test-clients)")
		return 0
	}
	dir, err := os.MkdirTemp("", "lake-blackbox-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(bin, "dev", "--data-dir", dir, "--port-base", "0", "--no-temporal", "--undrop-window", "0")
	cmd.Env = withoutLake()
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}()
	if shared, err = await(bin, filepath.Join(dir, "dev.json")); err != nil {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

func await(bin, path string) (*server, error) {
	var state struct {
		Query   string `json:"query"`
		Metrics string `json:"metrics"`
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		data, err := os.ReadFile(path)
		if err == nil && json.Unmarshal(data, &state) == nil && state.Query != "" {
			return &server{bin: bin, query: state.Query, metrics: state.Metrics}, nil
		}
	}
	return nil, errors.New("lake dev did not come up within a minute")
}

// withoutLake is the environment without settings of whoever runs the tests.
func withoutLake(more ...string) []string {
	var out []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "LAKE_") {
			out = append(out, e)
		}
	}
	return append(out, more...)
}

// lake runs the command line against the server and returns its output.
func (s *server) lake(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(s.bin, append(args, "--addr", s.query)...)
	cmd.Env = withoutLake("XDG_STATE_HOME=" + t.TempDir())
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "lake %s: %s", strings.Join(args, " "), stderr.String())
	return string(out)
}
