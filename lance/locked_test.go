// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScanServesCallersThatAreLockedToAThread: each call comes from another
// goroutine, every other of them locked to its thread as a callback from C is.
// A coroutine in between would end the process.
func TestScanServesCallersThatAreLockedToAThread(t *testing.T) {
	f := newFixture(t)
	f.append(100)
	s, err := f.open().Scan(t.Context(), ScanOptions{BatchRows: 9, Ordered: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	var got []string
	for i := 0; ; i++ {
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			if i%2 == 1 {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			b, nextErr := s.Next(t.Context())
			if err = nextErr; err == nil {
				got = append(got, lines(t, b)...)
				b.Release()
			}
		}()
		<-done
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.Equal(t, want(t, idsExcept(100)...), got)
}
