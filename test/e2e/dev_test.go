// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package e2e drives the real binary: `lake dev` with its Temporal server, and
// the command line and SDK against it.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/devtemporal"
	"github.com/lakeplane/lake/sdk"
)

// lakeBin is the binary under test, built by TestMain.
var lakeBin string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "lake-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	lakeBin = filepath.Join(dir, "lake")
	if out, err := exec.Command("go", "build", "-o", lakeBin, "github.com/lakeplane/lake/cmd/lake").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build lake: %v\n%s", err, out)
		return 1
	}
	temporal, err := devtemporal.Binary(context.Background(), devtemporal.BuildOptions{}, func(n int, d time.Duration) {
		fmt.Fprintf(os.Stderr, "building the Temporal development server: %d packages, %s\n", n, d.Round(time.Second))
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv(devtemporal.EnvBinary, temporal)
	return m.Run()
}

// dev is a running `lake dev`.
type dev struct {
	cmd *exec.Cmd
	dir string
	log *logBuffer

	state devState
	done  chan struct{} // closed when the process has ended
}

// devState is what `lake dev` writes into dev.json when it is ready.
type devState struct {
	PID        int    `json:"pid"`
	Query      string `json:"query"`
	Meta       string `json:"meta"`
	Metrics    string `json:"metrics"`
	Temporal   string `json:"temporal"`
	TemporalUI string `json:"temporal_ui"`
}

// startDev starts `lake dev` on free ports and waits until it is ready.
func startDev(t *testing.T, dir string, args ...string) *dev {
	t.Helper()
	d := spawnDev(t, dir, append([]string{"--port-base", "0"}, args...)...)
	deadline := time.After(2 * time.Minute)
	for {
		if data, err := os.ReadFile(filepath.Join(dir, "dev.json")); err == nil {
			var s devState
			if json.Unmarshal(data, &s) == nil && s.PID == d.cmd.Process.Pid {
				d.state = s
				return d
			}
		}
		select {
		case <-d.done:
			t.Fatalf("lake dev ended:\n%s", d.log)
		case <-deadline:
			t.Fatalf("lake dev not ready after two minutes:\n%s", d.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// spawnDev starts `lake dev` and waits for nothing.
func spawnDev(t *testing.T, dir string, args ...string) *dev {
	t.Helper()
	d := &dev{dir: dir, log: new(logBuffer), done: make(chan struct{})}
	d.cmd = exec.Command(lakeBin, append([]string{"dev", "--data-dir", dir}, args...)...)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	require.NoError(t, d.cmd.Start())
	go func() {
		_ = d.cmd.Wait()
		close(d.done)
	}()
	t.Cleanup(func() {
		d.kill()
		if t.Failed() {
			t.Logf("lake dev said:\n%s", d.log)
		}
	})
	return d
}

// stop interrupts the process and returns its exit status.
func (d *dev) stop(t *testing.T) int {
	t.Helper()
	require.NoError(t, d.cmd.Process.Signal(os.Interrupt))
	return d.wait(t, time.Minute)
}

// wait returns the exit status once the process has ended.
func (d *dev) wait(t *testing.T, atMost time.Duration) int {
	t.Helper()
	select {
	case <-d.done:
		return d.cmd.ProcessState.ExitCode()
	case <-time.After(atMost):
		t.Fatalf("lake dev still runs after %s:\n%s", atMost, d.log)
		return -1
	}
}

// kill ends the process as a power cut would.
func (d *dev) kill() {
	_ = d.cmd.Process.Kill()
	<-d.done
}

func (d *dev) client(t *testing.T) *sdk.Client {
	t.Helper()
	c, err := sdk.Connect(t.Context(), d.state.Query)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// result of one command.
type result struct {
	stdout, stderr string
	code           int
}

// lake runs a command against the server.
func (d *dev) lake(t *testing.T, args ...string) result {
	t.Helper()
	return runLake(t, append(args, "--addr", d.state.Query)...)
}

// must runs a command that has to succeed, and returns its standard output.
func (d *dev) must(t *testing.T, args ...string) string {
	t.Helper()
	r := d.lake(t, args...)
	require.Zero(t, r.code, "lake %s\n%s%s", strings.Join(args, " "), r.stdout, r.stderr)
	return r.stdout
}

func runLake(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, lakeBin, args...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run()
	return result{out.String(), err.String(), cmd.ProcessState.ExitCode()}
}

// objects lists the files under the object store's root whose path holds part.
func (d *dev) objects(t *testing.T, part string) []string {
	t.Helper()
	var found []string
	root := filepath.Join(d.dir, "objects")
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.Contains(path, part) {
			found = append(found, strings.TrimPrefix(path, root+"/"))
		}
		return nil // files vanish while a drop runs
	})
	require.NoError(t, err)
	return found
}

// children are the ids of the process's live child processes.
func (d *dev) children(t *testing.T) []int {
	t.Helper()
	var pids []int
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var pid, parent int
		var state string
		_, rest, _ := strings.Cut(string(data), ") ")
		if _, err := fmt.Sscanf(string(data), "%d", &pid); err != nil {
			continue
		}
		if _, err := fmt.Sscanf(rest, "%s %d", &state, &parent); err == nil && parent == d.cmd.Process.Pid && state != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}

func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z") && syscall.Kill(pid, 0) == nil
}
