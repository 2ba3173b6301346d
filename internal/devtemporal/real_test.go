// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package devtemporal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
)

// realBinary is the server itself, compiled once into the cache.
func realBinary(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: the first build of the Temporal server takes minutes")
	}
	path, err := Binary(t.Context(), BuildOptions{}, func(n int, d time.Duration) {
		if n%200 == 1 {
			t.Logf("building the Temporal server: %d packages in %s", n, d.Round(time.Second))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func dial(t *testing.T, s *Server) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: s.Address(), Namespace: s.Namespace(), Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// startOne starts a workflow that nobody runs, with Lake's search attributes.
func startOne(t *testing.T, c client.Client, id string) {
	t.Helper()
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: id, TaskQueue: "nobody",
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword("LakeProcedure").ValueSet("drop-table"),
			temporal.NewSearchAttributeKeyKeyword("LakeTable").ValueSet(id),
		),
	}, "Anything")
	if err != nil {
		t.Fatal(err)
	}
}

func running(ctx context.Context, c client.Client, id string) bool {
	d, err := c.DescribeWorkflow(ctx, id, "")
	return err == nil && d.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
}

func TestRealServerKeepsWorkflowsThroughDeathsAndRestarts(t *testing.T) {
	opts := Options{Binary: realBinary(t), DBFile: filepath.Join(t.TempDir(), "t.db")}
	s, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, s)
	checkNamespace(t, c)
	checkUI(t, s)
	for i := range 2 {
		id := fmt.Sprintf("survivor-%d", i)
		startOne(t, c, id)
		if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a new child", 30*time.Second, func() bool { return s.Restarts() == i+1 })
		eventually(t, id+" after a kill", 10*time.Second, func() bool { return running(t.Context(), c, id) })
	}
	if err := s.Stop(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	again, err := Start(t.Context(), opts) // other ports, same file
	if err != nil {
		t.Fatal(err)
	}
	defer again.Stop(10 * time.Second)
	if !running(t.Context(), dial(t, again), "survivor-1") {
		t.Fatal("a workflow did not survive an orderly restart")
	}
}

func checkNamespace(t *testing.T, c client.Client) {
	t.Helper()
	d, err := c.WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "lake"})
	if err != nil {
		t.Fatal(err)
	}
	if keep := d.Config.WorkflowExecutionRetentionTtl.AsDuration(); keep != 7*24*time.Hour {
		t.Errorf("retention %s", keep)
	}
}

func checkUI(t *testing.T, s *Server) {
	t.Helper()
	eventually(t, "the UI", 10*time.Second, func() bool {
		r, err := http.Get(s.UI() + "/namespaces/lake/workflows")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
}

func TestRealServerRefusesAFileInUse(t *testing.T) {
	opts := Options{Binary: realBinary(t), DBFile: filepath.Join(t.TempDir(), "t.db"), Headless: true}
	s, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(10 * time.Second)
	opts.LogFile = filepath.Join(t.TempDir(), "second.log")
	if _, err := Start(t.Context(), opts); err == nil || !strings.Contains(err.Error(), "another server has the database open") {
		t.Fatalf("got %v", err)
	}
}

func TestTestsuiteDrivesTheServer(t *testing.T) {
	s, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{
		ExistingPath:  realBinary(t),
		ClientOptions: &client.Options{Namespace: "other", Logger: quiet{}},
		Stdout:        io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Client().Close()
	eventually(t, "a start", 10*time.Second, func() bool {
		_, err := s.Client().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "w", TaskQueue: "nobody"}, "Anything")
		return err == nil
	})
	if err := s.Stop(); err != nil {
		t.Fatalf("stop: %v", err)
	}
}

// TestServerDiesWithItsParent kills the process that started a server, from
// outside and without warning.
func TestServerDiesWithItsParent(t *testing.T) {
	if os.Getenv("DEVTEMPORAL_PARENT") != "" {
		beParent(t)
		return
	}
	binary := realBinary(t)
	cmd := exec.Command(os.Args[0], "-test.run", "^TestServerDiesWithItsParent$")
	cmd.Env = append(os.Environ(), "DEVTEMPORAL_PARENT=1", EnvBinary+"="+binary)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := readPID(t, out)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	eventually(t, "the server's end", 15*time.Second, func() bool { return !alive(pid) })
}

func beParent(t *testing.T) {
	s, err := Start(t.Context(), Options{Binary: os.Getenv(EnvBinary), Headless: true})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("pid=%d\n", s.PID())
	select {} // until killed
}

func readPID(t *testing.T, r io.Reader) int {
	t.Helper()
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "pid="); ok {
			pid, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("the parent did not start its server")
	return 0
}

// quiet keeps the SDK's log out of the tests' output.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
