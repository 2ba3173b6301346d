// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package objstore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/objstore"
)

func TestCheckKey(t *testing.T) {
	segment := strings.Repeat("s", objstore.MaxSegmentBytes)
	for _, key := range []string{"a", "a/b", "...", "é", segment, strings.Repeat("abcdefg/", 127) + "abcdefgh"} {
		require.NoError(t, objstore.CheckKey(key), "%.40q", key)
	}
	for _, key := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "\xff", "a\x00", segment + "s", strings.Repeat("abcdefg/", 128) + "a"} {
		require.ErrorIs(t, objstore.CheckKey(key), objstore.ErrInvalid, "%.40q", key)
	}
}

func TestCheckPrefix(t *testing.T) {
	for _, prefix := range []string{"", "a/", "a/b/", "t.lance/"} {
		require.NoError(t, objstore.CheckPrefix(prefix), prefix)
	}
	for _, prefix := range []string{"a", "/", "a//", "../", "a/b", "\xff/"} {
		require.ErrorIs(t, objstore.CheckPrefix(prefix), objstore.ErrInvalid, prefix)
	}
}
