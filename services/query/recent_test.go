// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package query

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheLongestUnusedIsForgotten(t *testing.T) {
	r := newRecent[string, int](3 * (recentOverhead + 10))
	for i, k := range []string{"a", "b", "c"} {
		r.put(k, i, 10)
	}
	_, ok := r.get("a") // now b is the longest unused
	require.True(t, ok)
	r.put("d", 3, 10)
	_, ok = r.get("b")
	require.False(t, ok)
	v, ok := r.get("a")
	require.True(t, ok)
	require.Zero(t, v)
	r.put("a", 9, 10)
	v, _ = r.get("a")
	require.Equal(t, 9, v)
	r.put("huge", 1, 1<<20)
	_, ok = r.get("huge")
	require.False(t, ok, "what does not fit is not kept, and pushes nothing out")
	_, ok = r.get("d")
	require.True(t, ok)
	r.forget("d")
	r.forget("d")
	_, ok = r.get("d")
	require.False(t, ok)
	require.Equal(t, len(r.byKey), r.order.Len())
	require.Equal(t, 2*(recentOverhead+10), r.bytes)
}
