// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lakeplane/lake/sdk"
)

// lakeServer is a `lake dev`. It goes without Temporal where nothing needs a
// procedure: no measured path waits for one.
type lakeServer struct {
	cmd    *exec.Cmd
	client *sdk.Client
}

func startServer(ctx context.Context, bin, work string, temporal bool) (*lakeServer, error) {
	dir := filepath.Join(work, "data")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, "dev", "--data-dir", dir, "--port-base", "0", fmt.Sprintf("--no-temporal=%t", !temporal))
	log, err := os.Create(filepath.Join(work, "dev.log"))
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &lakeServer{cmd: cmd}
	addr, err := awaitAddress(filepath.Join(dir, "dev.json"))
	if err == nil {
		s.client, err = sdk.Connect(ctx, addr)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func awaitAddress(path string) (string, error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var state struct{ Query string }
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &state) == nil && state.Query != "" {
			return state.Query, nil
		}
	}
	return "", fmt.Errorf("lake dev did not come up within a minute")
}

// pids are the server and its engine slots, as they are now. Temporal is not
// among them.
func (s *lakeServer) pids() []int {
	pids := []int{s.cmd.Process.Pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // none elsewhere, where there are no slots
	for _, stat := range stats {
		text, _ := os.ReadFile(stat)
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == strconv.Itoa(pids[0]) && !strings.Contains(string(text), "(lake-temporal") {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func (s *lakeServer) stop() {
	if s.client != nil {
		_ = s.client.Close()
	}
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}

// drain runs a query and reads its whole result.
func (s *lakeServer) drain(ctx context.Context, sql string) error {
	r, err := s.client.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer r.Release()
	for _, err := range r.Batches() {
		if err != nil {
			return err
		}
	}
	return nil
}
