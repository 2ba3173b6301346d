// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devtemporal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Ready is the line the server prints when a client can rely on it.
type Ready struct {
	// Address is the frontend's host and port.
	Address string `json:"address"`
	// UI is the web UI's URL, or empty without one.
	UI string `json:"ui"`
	// Namespace is the first namespace.
	Namespace string `json:"namespace"`
}

// child is one life of the server process.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer     // closing it is the other way to say stop
	ready  chan Ready    // receives at most one value
	exited chan struct{} // closed when the process is gone; err is set before
	err    error
}

// spawn starts the process; its log goes straight to the file.
func spawn(o Options, log *os.File) (*child, error) {
	cmd := exec.Command(o.Binary, o.arguments()...)
	detach(cmd)
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, stdin: stdin, ready: make(chan Ready, 1), exited: make(chan struct{})}
	go c.watch(stdout)
	return c, nil
}

// watch reads the ready line, then waits for the end of the process.
func (c *child) watch(stdout io.Reader) {
	defer close(c.exited)
	in := bufio.NewReader(stdout)
	if line, err := in.ReadBytes('\n'); err == nil {
		var r Ready
		if err := json.Unmarshal(line, &r); err == nil && r.Address != "" {
			c.ready <- r
		}
	}
	_, _ = io.Copy(io.Discard, in)
	c.err = c.cmd.Wait()
}

// stop asks for an orderly end, and after grace insists. It returns when the
// process is gone.
func (c *child) stop(grace time.Duration) error {
	_ = askToStop(c.cmd.Process) // an error here means it is gone already
	_ = c.stdin.Close()
	select {
	case <-c.exited:
		return nil
	case <-time.After(grace):
	}
	_ = c.cmd.Process.Kill()
	<-c.exited
	return fmt.Errorf("the Temporal server did not stop within %s and was killed", grace)
}

// endOf describes how the process ended, with the end of its log.
func (c *child) endOf(logFile string) error {
	reason := "ended"
	if c.err != nil {
		reason = c.err.Error()
	}
	b, err := readTail(logFile, 4096)
	if err != nil || len(b) == 0 {
		return fmt.Errorf("the Temporal server stopped: %s", reason)
	}
	return fmt.Errorf("the Temporal server stopped: %s; the end of %s:\n%s", reason, logFile, lastLines(b, 8))
}

func readTail(path string, n int64) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-n)
	b := make([]byte, info.Size()-from)
	_, err = f.ReadAt(b, from)
	return b, err
}
