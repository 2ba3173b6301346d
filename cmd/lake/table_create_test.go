// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompactTablesAreSmaller makes two tables of the same rows.
func TestCompactTablesAreSmaller(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("id\n")
	for i := range 5_000 {
		fmt.Fprintln(&rows, i%7)
	}
	file := put(t, "rows.csv", rows.String())
	sizes := map[bool]uint64{}
	for table, compact := range map[string]bool{"robots.plain": false, "robots.small": true} {
		args := []string{"table", "create", table, "--column", "id:i64"}
		if compact {
			args = append(args, "--compact")
		}
		must(t, args...)
		must(t, "ingest", table, file)
		var described struct{ Compact bool }
		require.NoError(t, json.Unmarshal([]byte(must(t, "table", "describe", table, "--format", "json")), &described))
		require.Equal(t, compact, described.Compact)
		require.Contains(t, must(t, "table", "describe", table), fmt.Sprintf("compact      %t\n", compact))
		var newest struct{ Bytes uint64 }
		require.NoError(t, json.Unmarshal([]byte(must(t, "table", "versions", table, "--limit", "1", "--format", "json")), &newest))
		sizes[compact] = newest.Bytes
	}
	require.Less(t, 4*sizes[true], sizes[false])
}
