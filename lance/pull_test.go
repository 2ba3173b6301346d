// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package lance

import (
	"errors"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
)

// Each call comes from another goroutine, some of them locked to their thread
// as a callback from C is. With iter.Pull2 this ends the process.
func TestPullServesCallersThatAreLockedToAThread(t *testing.T) {
	last := errors.New("third")
	cleaned := false
	next, stop := pull(func(yield func(arrow.RecordBatch, error) bool) {
		defer func() { cleaned = true }()
		for _, err := range []error{nil, nil, last} {
			if !yield(nil, err) {
				return
			}
		}
	})
	call := func(locked bool) (err error, ok bool) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if locked {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			_, err, ok = next()
		}()
		<-done
		return err, ok
	}
	for i, want := range []error{nil, nil, last} {
		err, ok := call(i%2 == 1)
		require.True(t, ok)
		require.Equal(t, want, err)
	}
	for range 2 {
		_, ok := call(true)
		require.False(t, ok)
	}
	require.True(t, cleaned)
	stop()
	stop()
}

func TestPullEndsEarly(t *testing.T) {
	cleaned := 0
	seq := func(yield func(arrow.RecordBatch, error) bool) {
		defer func() { cleaned++ }()
		for yield(nil, nil) {
		}
	}
	next, stop := pull(seq)
	_, _, ok := next()
	require.True(t, ok)
	stop()
	require.Equal(t, 1, cleaned, "stop waits for the sequence")
	_, _, ok = next()
	require.False(t, ok)

	_, stop = pull(seq)
	stop() // never started
	require.Equal(t, 1, cleaned)
}
