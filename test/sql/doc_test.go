// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

// Package sqltest asks real servers a lot of SQL: generated statements and
// TPC-H, whose rows must be those of a plain DuckDB over the same data, and a
// corpus of hostile statements, none of which may harm other clients.
//
// The servers are processes of the binary under test, which TestMain builds,
// or that LAKE_BIN names; everything goes through Flight SQL.
package sqltest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// lakeBin is the binary under test.
var lakeBin string

func TestMain(m *testing.M) { os.Exit(withBinary(m)) }

func withBinary(m *testing.M) int {
	if lakeBin = os.Getenv("LAKE_BIN"); lakeBin != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "lake-sql-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	lakeBin = filepath.Join(dir, "lake")
	if out, err := exec.Command("go", "build", "-o", lakeBin, "github.com/lakeplane/lake/cmd/lake").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build lake: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
