// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package sqltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/sdk"
)

// process is a running `lake meta` or `lake query`.
type process struct {
	name    string
	cmd     *exec.Cmd
	log     *logBuffer
	done    chan struct{} // closed when it has ended
	address string
	metrics string
}

// logBuffer collects a process's output. It is safe for concurrent use.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// spawn starts `lake name` on free ports of this machine and waits until it is
// of use.
func spawn(t testing.TB, name string, args ...string) *process {
	t.Helper()
	p := &process{name: name, log: new(logBuffer), done: make(chan struct{})}
	p.cmd = exec.Command(lakeBin, append([]string{name, "--listen", "127.0.0.1:0", "--metrics-addr", "127.0.0.1:0"}, args...)...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "LAKE_") {
			p.cmd.Env = append(p.cmd.Env, e)
		}
	}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	require.NoError(t, p.cmd.Start())
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("lake %s said:\n%s", name, tail(p.log.String(), 40))
		}
	})
	require.Eventually(t, p.ready, time.Minute, 20*time.Millisecond, "lake %s is not ready:\n%s", name, p.log)
	return p
}

func tail(text string, lines int) string {
	all := strings.Split(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func (p *process) ready() bool {
	for line := range strings.Lines(p.log.String()) {
		var said struct{ Msg, Listen, Metrics string }
		if json.Unmarshal([]byte(line), &said) == nil && said.Msg == "lake "+p.name+" started" {
			p.address, p.metrics = said.Listen, said.Metrics
		}
	}
	if p.metrics == "" {
		return false
	}
	resp, err := http.Get("http://" + p.metrics + "/readyz")
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// alive reports whether the process still runs.
func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// stop asks the process to end, and makes it after a while: a lost thread in
// the engine must not keep a test.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// gauge sums the series of a name on the process's metrics page.
func (p *process) gauge(t testing.TB, name string) (sum float64) {
	t.Helper()
	resp, err := http.Get("http://" + p.metrics + "/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	for line := range strings.Lines(string(page)) {
		if rest, ok := strings.CutPrefix(line, name); ok && (rest[0] == ' ' || rest[0] == '{') {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndex(rest, " ")+1:]), 64)
			require.NoError(t, err, line)
			sum += v
		}
	}
	return sum
}

// resident is the memory of the process and of its children, in bytes. What they
// share counts once.
func (p *process) resident() (sum int64) {
	for _, pid := range append(children(p.cmd.Process.Pid), p.cmd.Process.Pid) {
		sum += sizeOf(pid, "smaps_rollup", "Pss:")
	}
	return sum
}

// resetPeak and peak measure the most memory that the process itself had.
func (p *process) resetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0)
}

func (p *process) peak() int64 { return sizeOf(p.cmd.Process.Pid, "status", "VmHWM:") }

// children are the processes that pid started.
func children(pid int) (out []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range tasks {
		data, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(data)) {
			if id, err := strconv.Atoi(word); err == nil {
				out = append(out, id)
			}
		}
	}
	return out
}

// sizeOf reads a size of a process, or 0 when the process has gone.
func sizeOf(pid int, file, key string) int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// lakeServers are a metadata server on local files and query servers over it.
type lakeServers struct {
	meta    *process
	objects string
}

func startLake(t testing.TB) *lakeServers {
	t.Helper()
	dir := t.TempDir()
	l := &lakeServers{objects: "file://" + filepath.Join(dir, "objects")}
	l.meta = spawn(t, "meta", "--metastore", "pebble://"+filepath.Join(dir, "metastore"), "--objects", l.objects)
	return l
}

// query adds a query server.
func (l *lakeServers) query(t testing.TB, args ...string) *process {
	t.Helper()
	return spawn(t, "query", append([]string{"--meta", l.meta.address, "--objects", l.objects, "--query-spill-dir", t.TempDir()}, args...)...)
}

// client connects to a query server.
func client(t testing.TB, p *process) *sdk.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c, err := sdk.Connect(ctx, p.address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
