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
	last := make(map[string]int)
	out = make([]string, len(names))
	for i, name := range names {
		out[i] = distinct(cleanName(name, i), taken, last)
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

// distinct returns name, with a number where it is taken. last keeps the last
// number of each name, since trying all of them would take hours for a hundred
// thousand columns of one name.
func distinct(name string, taken map[string]bool, last map[string]int) string {
	candidate, key := name, strings.ToLower(name)
	for taken[strings.ToLower(candidate)] {
		last[key]++
		candidate = fmt.Sprintf("%s_%d", name, last[key])
	}
	return candidate
}
