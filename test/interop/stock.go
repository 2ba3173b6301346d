// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Stock is a running node process with LanceDB. It serves one caller.
type Stock struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// ErrUnavailable says that node or the LanceDB package is not installed.
var ErrUnavailable = errors.New("stock LanceDB is not installed")

func here() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

// modules returns the node_modules directory to use.
func modules() string {
	if dir := os.Getenv("LAKE_NODE_MODULES"); dir != "" {
		return dir
	}
	return filepath.Join(here(), "node_modules")
}

// Start starts the process. It fails with [ErrUnavailable] where there is
// nothing to start.
func Start() (*Stock, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	dir := modules()
	if _, err := os.Stat(filepath.Join(dir, "@lancedb", "lancedb")); err != nil {
		return nil, fmt.Errorf("%w: %w (set LAKE_NODE_MODULES or run npm ci in %s)", ErrUnavailable, err, here())
	}
	s := &Stock{cmd: exec.Command(node, filepath.Join(here(), "harness.mjs"))}
	s.cmd.Env = append(os.Environ(), "LAKE_NODE_MODULES="+dir)
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReaderSize(out, 1<<20)
	return s, s.cmd.Start()
}

// Close ends the process.
func (s *Stock) Close() error {
	if err := s.in.Close(); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// Round is the cost of one round of a benchmark.
type Round struct {
	CPU  float64 `json:"cpuMs"`
	Wall float64 `json:"wallMs"`
}

// Answer is what the process says to a command.
type Answer struct {
	OK     bool    `json:"ok"`
	Error  string  `json:"error"`
	Rows   int64   `json:"rows"`
	Rounds []Round `json:"rounds"`
	// Names are those of namespaces and tables.
	Names []string `json:"names"`
}

// Command is a command for the process; see harness.mjs.
type Command struct {
	Op      string   `json:"op"`
	Dir     string   `json:"dir"`
	Table   string   `json:"table,omitempty"`
	IPC     string   `json:"ipc,omitempty"`
	Version string   `json:"version,omitempty"`
	Columns []string `json:"columns,omitempty"`
	Offsets []uint64 `json:"offsets,omitempty"`
	Where   string   `json:"where,omitempty"`
	Rounds  int      `json:"rounds,omitempty"`
	Writers int      `json:"writers,omitempty"`
	Seconds int      `json:"seconds,omitempty"`
	// NS is the URL of a Lance REST namespace to use instead of Dir, Namespace the
	// one of its namespaces the table is in, Token a bearer token, and Storage
	// options for the object store.
	NS        string            `json:"ns,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	Token     string            `json:"token,omitempty"`
	Storage   map[string]string `json:"storage,omitempty"`
	Set       map[string]string `json:"set,omitempty"`
	// Mode is how to create a table: "", "overwrite", "exist_ok", or "empty" with
	// the columns of the rows and none of them; Options are storage options of it.
	Mode    string            `json:"mode,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	From    int               `json:"from,omitempty"`
	Count   int               `json:"count,omitempty"`
	// At is the table version to read; 0 means the newest.
	At uint64 `json:"at,omitempty"`
}

// Do runs a command. An error LanceDB reports becomes the error.
func (s *Stock) Do(c Command) (Answer, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return Answer{}, err
	}
	if _, err := s.in.Write(append(b, '\n')); err != nil {
		return Answer{}, err
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		return Answer{}, fmt.Errorf("the node process ended: %w", err)
	}
	var a Answer
	if err := json.Unmarshal(line, &a); err != nil {
		return Answer{}, err
	}
	if !a.OK {
		return a, fmt.Errorf("stock LanceDB: %s", a.Error)
	}
	return a, nil
}
