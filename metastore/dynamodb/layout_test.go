// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package dynamodb

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBucketsOfKeys holds the layout: records that other releases wrote are found
// by these names. The shards were computed by sha256sum.
func TestBucketsOfKeys(t *testing.T) {
	for key, want := range map[string]string{
		"tbl/robots/episodes":                          "tbl#05",
		"append-operation/v1/default/robots/episodes/": "append-operation#0c",
		"lance-manifest/robots/episodes":               "lance-manifest#0f",
		"election/leader/00":                           "election#03",
		"alone":                                        "root#02",
		"root/x":                                       "root#01",
	} {
		require.Equal(t, want, bucketOf(key), key)
	}
	for family, want := range map[string]int{
		"append-operation": 64, "append-active": 64,
		"lance-manifest": 32, "lance-manifest-latest": 32, "lance-manifest-cleanup": 32,
		"tbl": 8, "drop": 8, "root": 8, "": 8,
	} {
		require.Equal(t, want, shardsOf(family), family)
	}
}

func TestFamilyOfAPrefix(t *testing.T) {
	for prefix, want := range map[string]string{"tbl/": "tbl", "tbl/ro": "tbl", "drop/a/b": "drop"} {
		family, ok := familyOf(prefix)
		require.True(t, ok)
		require.Equal(t, want, family)
	}
	for _, prefix := range []string{"", "t", "tbl"} {
		_, ok := familyOf(prefix)
		require.False(t, ok, "%q may stand for several families", prefix)
	}
}
