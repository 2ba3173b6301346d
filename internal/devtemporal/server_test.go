// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

//go:build unix

package devtemporal

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lakeplane/lake/lake"
)

// script makes an executable that stands in for the server where only the
// supervision is looked at.
func script(t *testing.T, body string) string {
	t.Helper()
	return filepath.Join(writeTree(t, map[string]string{"server": "#!/bin/sh\n" + body + "\n"}), "server")
}

const (
	sayReady   = `echo '{"address":"127.0.0.1:4711","ui":"http://127.0.0.1:4712","namespace":"lake"}'`
	untilInput = `exec cat >/dev/null`
)

func eventually(t *testing.T, what string, within time.Duration, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, within)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestStartRefusesATakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for _, tc := range []struct {
		what string
		opts Options
	}{
		{"frontend", Options{Port: port}},
		{"UI", Options{UIPort: port}},
	} {
		tc.opts.Binary = script(t, sayReady)
		_, err := Start(t.Context(), tc.opts)
		var taken *PortTakenError
		if !errors.As(err, &taken) || !lake.Is(err, lake.Precondition) {
			t.Fatalf("%s: got %v", tc.what, err)
		}
		if taken.What != tc.what || taken.Address != l.Addr().String() {
			t.Errorf("%s: error names %s %s", tc.what, taken.What, taken.Address)
		}
	}
}

func TestStartFailures(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, tc := range []struct {
		name, body, want string
		timeout          time.Duration
	}{
		{"dies early", "echo the disk is full >&2; exit 3", "the disk is full", 0},
		{"never ready", untilInput, context.DeadlineExceeded.Error(), 50 * time.Millisecond},
		{"says something else", "echo hello", "stopped", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Start(t.Context(), Options{
				Binary: script(t, tc.body), LogFile: filepath.Join(t.TempDir(), "log"), StartTimeout: tc.timeout,
			})
			if !lake.Is(err, lake.Unavailable) || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q in it", err, tc.want)
			}
		})
	}
	t.Run("no binary", func(t *testing.T) {
		if _, err := Start(t.Context(), Options{Binary: "/does/not/exist"}); !lake.Is(err, lake.Invalid) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestServerIsReplacedOnTheSamePorts(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	s, err := Start(t.Context(), Options{
		Binary:  script(t, `echo "$@" >>`+dir+`/args; `+sayReady+`; `+untilInput),
		LogFile: filepath.Join(dir, "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	first := s.PID()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a second child", 10*time.Second, func() bool { return s.Restarts() == 1 })
	if second := s.PID(); second == first || !alive(second) {
		t.Fatalf("pid %d after %d", second, first)
	}
	if err := s.Stop(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "args"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(args)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "--port 0") || !strings.Contains(lines[1], "--port 4711") || !strings.Contains(lines[1], "--ui-port 4712") {
		t.Fatalf("command lines:\n%s", args)
	}
}

func TestStopWhileTheChildKeepsDying(t *testing.T) {
	defer goleak.VerifyNone(t)
	marker := filepath.Join(t.TempDir(), "once")
	s, err := Start(t.Context(), Options{
		Binary: script(t, `test -e `+marker+` && exit 1; touch `+marker+`; `+sayReady),
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the child's death", 5*time.Second, func() bool { return s.PID() == 0 })
	if err := s.Stop(time.Second); err != nil {
		t.Fatal(err)
	}
}

func TestStopInsists(t *testing.T) {
	defer goleak.VerifyNone(t)
	s, err := Start(t.Context(), Options{
		Binary: script(t, `trap '' TERM; `+sayReady+`; while :; do sleep 0.05; done`),
	})
	if err != nil {
		t.Fatal(err)
	}
	pid := s.PID()
	if err := s.Stop(50 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Fatalf("got %v", err)
	}
	if alive(pid) {
		t.Fatal("the child is still there")
	}
}
