// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/lake"
	"github.com/lakeplane/lake/services/query/engine/slotwire"
)

// The replica gives results back while a statement runs, and the last of them
// may come when it has just ended. That must not end the slot.
func TestResultsComeBackLate(t *testing.T) {
	s := &session{results: slotwire.NewArena(make([]byte, 1<<20))}
	result := func(st *statement) []byte {
		pos, _, err := s.results.Alloc(t.Context(), 100)
		require.NoError(t, err)
		st.window <- struct{}{}
		return slotwire.AppendNumber(uint32(pos))
	}
	first := &statement{session: s, id: 1, window: make(chan struct{}, slotwire.ResultWindow)}
	s.current = first
	require.NoError(t, first.free(result(first)))
	late := result(first)
	s.forget()
	require.NoError(t, first.free(late))

	second := &statement{session: s, id: 2, window: make(chan struct{}, slotwire.ResultWindow)}
	s.current = second
	held := result(second)
	require.NoError(t, first.free(held), "the first one's, by the same place")
	require.Equal(t, 1, s.results.InUse(), "the second one's stays")
	require.NoError(t, second.free(held))
	err := second.free(held)
	require.True(t, lake.Is(err, lake.Corrupt), "%v", err)
}
