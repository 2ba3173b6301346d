// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package reads_test

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakeplane/lake/internal/reads"
)

// TestOnlyReadsAreRepeated goes by the names of the protocol: what gets or lists
// changes nothing, and all else does.
func TestOnlyReadsAreRepeated(t *testing.T) {
	require.NotEmpty(t, reads.Methods)
	for _, full := range reads.Methods {
		require.Regexp(t, "^(Get|List)[A-Z]", path.Base(full))
	}
}
