// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/cmd/lake/config"
)

var update = flag.Bool("update", false, "write the tables of docs/configuration.md")

const documentation = "../../../docs/configuration.md"

// TestDocumentation holds the tables of the documentation to the settings.
// `go test ./cmd/lake/config -run TestDocumentation -update` writes them.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile(documentation)
	require.NoError(t, err)
	text := string(data)
	for _, p := range config.All() {
		begin, end := fmt.Sprintf("<!-- settings of %s -->\n", p.Set().Process), "<!-- end -->\n"
		before, rest, ok := strings.Cut(text, begin)
		require.True(t, ok, "no place for the settings of %s", p.Set().Process)
		_, after, ok := strings.Cut(rest, end)
		require.True(t, ok)
		text = before + begin + table(p) + end + after
	}
	if *update {
		require.NoError(t, os.WriteFile(documentation, []byte(text), 0o644))
	}
	require.Equal(t, text, string(data), "run go test ./cmd/lake/config -run TestDocumentation -update")
}

func table(p config.Process) string {
	var out strings.Builder
	out.WriteString("| key | flag | variable | default | meaning |\n|---|---|---|---|---|\n")
	for _, x := range p.Set().Settings() {
		fmt.Fprintf(&out, "| `%s` | `--%s` | `%s` | %s | %s |\n", x.Key, x.Flag, x.Env, code(x.Default), x.Help)
	}
	return out.String()
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
