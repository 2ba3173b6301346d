// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package devserver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/lakeplane/lake/lake"
)

// StateFile is the name, inside the data directory, of the file that says
// where a running server is.
const StateFile = "dev.json"

// State says where a running server is. It is written when the server is
// ready.
type State struct {
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Version string    `json:"version"`
	DataDir string    `json:"data_dir"`
	// Query and Meta are host:port addresses of gRPC servers.
	Query string `json:"query"`
	Meta  string `json:"meta"`
	// LanceNamespace is the URL at which other Lance clients read and write.
	LanceNamespace string `json:"lance_namespace"`
	// Metrics is the URL of the Prometheus page.
	Metrics string `json:"metrics"`
	// Temporal is the host:port of the Temporal server and TemporalUI the URL
	// of its web pages; empty without.
	Temporal   string `json:"temporal"`
	TemporalUI string `json:"temporal_ui"`
}

// write puts the file in place as a whole.
func (s State) write() error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(s.DataDir, StateFile)
	tmp := path + ".new"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		return lake.Errorf(lake.Unknown, "write %s: %w", path, err)
	}
	return os.Rename(tmp, path)
}

// remove takes the file away, if it is this process's.
func (s State) remove() {
	path := filepath.Join(s.DataDir, StateFile)
	var found State
	if data, err := os.ReadFile(path); err != nil || json.Unmarshal(data, &found) != nil || found.PID != s.PID {
		return
	}
	_ = os.Remove(path)
}
