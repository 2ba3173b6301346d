// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package pool

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Shared memory stays mapped while a statement reads what its dead slot left:
// to read it unmapped would take the whole replica along.
func TestSegmentsOutliveTheirProcess(t *testing.T) {
	s, err := newSegments()
	require.NoError(t, err)
	require.True(t, s.enter())
	require.True(t, s.enter())
	s.close()
	require.False(t, s.enter(), "given back")
	s.leave()
	s.rows[len(s.rows)-1] = 7
	require.Zero(t, s.results[len(s.results)-1])
	s.leave()
	s.close() // again, which does nothing
	_, err = s.rowsFile.Stat()
	require.Error(t, err, "closed with the last user")
}
