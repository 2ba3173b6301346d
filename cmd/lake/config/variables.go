// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lakeplane/lake/lake"
)

const envPrefix = "LAKE_"

// otherVariables are those that are not settings of a server process.
var otherVariables = []string{
	FileEnv,
	// Of the client commands and of lake dev.
	"LAKE_ADDR", "LAKE_AUTH_TOKEN_FILE", "LAKE_CA_FILE", "LAKE_DATA_DIR", "LAKE_TEMPORAL_DEV_BIN",
}

// injected are the variables that Kubernetes makes for a service whose name
// begins with "lake-".
var injected = regexp.MustCompile(`^LAKE_[A-Z0-9_]*?_?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// notBuiltIn are variables of parts that this version does not have. Somebody
// who sets one expects what they would do.
var notBuiltIn = regexp.MustCompile(`^LAKE_(DYNAMODB|MANIFEST_DYNAMODB|ASYNC|MAINTENANCE)_|^LAKE_(MANAGED_OBJECT_PREFIX|QUERY_DISCOVERY_BATCH_ROWS|APPEND_OPERATION_RETENTION_SECS|APPEND_OPERATION_GC_PAGE_SIZE)$`)

// elsewhere are variables of other deployments of Lake whose meaning another
// setting has here.
var elsewhere = map[string]string{
	"LAKE_S3_BUCKET":    "LAKE_OBJECTS=s3://bucket/folder",
	"LAKE_TABLE_PREFIX": "LAKE_OBJECTS=s3://bucket/folder",
}

// checkVariables reports the LAKE_ variables that nothing reads.
func checkVariables(m *Mistakes, env map[string]string) {
	known := slices.Clone(otherVariables)
	for _, p := range All() {
		for _, x := range p.Set().all {
			known = append(known, x.Env)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case slices.Contains(known, name) || injected.MatchString(name):
		case elsewhere[name] != "":
			*m = append(*m, lake.Errorf(lake.Invalid, "environment %s: is said by %s", name, elsewhere[name]))
		case notBuiltIn.MatchString(name):
			*m = append(*m, lake.Errorf(lake.Invalid, "environment %s: belongs to a part that is not built in yet", name))
		default:
			*m = append(*m, lake.Errorf(lake.Invalid, "environment %s: unknown variable%s", name, nearest(name, known)))
		}
	}
}

// nearest suggests the name that somebody may have meant.
func nearest(name string, known []string) string {
	best, distance := "", 1+len(name)/3
	for _, k := range known {
		if d := editDistance(name, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return ": did you mean " + best + "?"
}

// editDistance counts insertions, deletions and replacements (Levenshtein).
func editDistance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
