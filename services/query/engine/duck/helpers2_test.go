// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package duck

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"
)

func stringsReader(s string) io.Reader { return strings.NewReader(s) }

// schemaBytes is the schema as an IPC message: what a client compares.
func schemaBytes(t testing.TB, s *arrow.Schema) []byte {
	t.Helper()
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(s))
	require.NoError(t, w.Close())
	return b.Bytes()
}
