// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"fmt"
	"strings"
)

// tableNames makes usable, distinct column names of a file's, and says what it
// changed. See the package comment for the rules.
func tableNames(names []string) (out, notes []string) {
	taken := make(map[string]bool, len(names))
	out = make([]string, len(names))
	for i, name := range names {
		out[i] = distinct(cleanName(name, i), taken)
		taken[strings.ToLower(out[i])] = true
		if out[i] != name {
			notes = append(notes, fmt.Sprintf("column %d, %q, is named %q", i+1, name, out[i]))
		}
	}
	return out, notes
}

func cleanName(name string, position int) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	name = strings.ReplaceAll(strings.TrimSpace(name), ".", "_")
	if name == "" {
		return fmt.Sprintf("column%d", position)
	}
	return name
}

func distinct(name string, taken map[string]bool) string {
	candidate := name
	for n := 1; taken[strings.ToLower(candidate)]; n++ {
		candidate = fmt.Sprintf("%s_%d", name, n)
	}
	return candidate
}
